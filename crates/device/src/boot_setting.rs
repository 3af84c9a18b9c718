//! One place that sets a window, and which devices its pattern means.

use serde::Serialize;

use crate::origin::PAGE_KIB;

/// How a device says among its names whether it has an arm; `0` or `1` is behind it.
pub const ROTATIONAL: &str = "ATTR{queue/rotational}=";

/// The unit of a number that sets a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowUnit {
    /// KiB, as `read_ahead_kb`.
    Kib,
    /// Sectors of 512 bytes, as `blockdev --setra`.
    Sectors,
}

/// One place that sets a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BootSetting {
    /// The file, as seen from the root of the machine.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// The device as written: a name, a pattern with `*`, `?`, `[…]` and `|`, a path, a mount point, or what identifies
    /// it: `ATTR{wwid}=naa.5`, `ENV{ID_SERIAL}=X`, `fstype=nfs`. A part with `!` before it is an exception.
    pub pattern: String,
    /// The number as written; nothing where it is not plainly written, as a variable of a script.
    pub written: Option<u64>,
    /// What the number counts.
    pub unit: WindowUnit,
    /// The window of a comment on the line or the one before it, in KiB.
    pub comment_kib: Option<u64>,
    /// Whether it leaves a window that is larger already, as `>4096` of tuned does; it is not sure then.
    pub only_raises: bool,
    /// Of the devices of the pattern, those alone that say so of themselves: with an arm, or without one.
    pub rotational: Option<bool>,
    /// Whether it is known to take effect on the devices of the pattern.
    pub is_sure: bool,
}

impl BootSetting {
    /// The window that the kernel makes of it, in KiB: whole pages; nothing where no number is written.
    #[must_use]
    pub fn kib(&self) -> Option<u64> {
        let written = self.written?;
        let kib = match self.unit {
            WindowUnit::Kib => written,
            WindowUnit::Sectors => written / 2,
        };
        Some(kib / PAGE_KIB * PAGE_KIB)
    }

    /// Whether a window of `kib` of a device with one of these names becomes another one; `None` when that cannot be
    /// known.
    #[must_use]
    pub fn changes(&self, names: &[String], kib: u64) -> Option<bool> {
        if !self.only_raises {
            return self.sets(names).map(|sets| sets && self.kib() != Some(kib));
        }
        let sure = Self {
            is_sure: true,
            ..self.clone()
        };
        sure.sets(names).map(|sets| sets && self.kib() > Some(kib))
    }

    /// Whether a device with one of these names is meant; `None` when that cannot be known.
    #[must_use]
    pub fn sets(&self, names: &[String]) -> Option<bool> {
        match (self.means(names), self.is_of_its_kind(names)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    fn means(&self, names: &[String]) -> Option<bool> {
        if self.pattern.starts_with("ATTR{") || self.pattern.starts_with("ENV{") {
            return self.identifies(names);
        }
        if self.pattern.starts_with("/dev/disk/") {
            let is_link = names.contains(&self.pattern) && self.is_sure;
            return is_link.then_some(true);
        }
        if self.pattern.contains('$') {
            return None;
        }
        let fits = |pattern: &str| {
            let pattern = device_name(pattern.trim());
            names.iter().any(|name| is_like(name, pattern))
        };
        let mut meant = false;
        for part in self.pattern.split('|') {
            match part.trim().strip_prefix('!') {
                Some(exception) if fits(exception) => return Some(false),
                Some(_) => {}
                None => meant |= fits(part),
            }
        }
        match (meant, self.is_sure) {
            (true, false) => None,
            (meant, _) => Some(meant),
        }
    }

    /// Whether a device with these names has an arm, or none, as the setting wants it.
    fn is_of_its_kind(&self, names: &[String]) -> Option<bool> {
        let Some(rotational) = self.rotational else {
            return Some(true);
        };
        let mut said = names
            .iter()
            .filter_map(|name| name.strip_prefix(ROTATIONAL));
        Some(said.next()? == if rotational { "1" } else { "0" })
    }

    /// Of a pattern such as `ATTR{wwid}=naa.5*`: whether one of `names` says so. A device of which that is not known may
    /// be meant.
    fn identifies(&self, names: &[String]) -> Option<bool> {
        let (key, values) = self.pattern.split_once("}=")?;
        let known = names.iter().filter_map(|name| name.split_once("}="));
        let mut known = known.filter(|(one, _)| *one == key).peekable();
        known.peek()?;
        let meant = known.any(|(_, value)| values.split('|').any(|like| is_like(value, like)));
        match (meant, self.is_sure) {
            (true, false) => None,
            (meant, _) => Some(meant),
        }
    }
}

/// The name that `/dev/sda` and `/dev/mapper/vg-home` have among the names of a device.
fn device_name(pattern: &str) -> &str {
    let name = pattern.strip_prefix("/dev/").unwrap_or(pattern);
    name.strip_prefix("mapper/").unwrap_or(name)
}

/// Whether `name` is as `pattern` says: `*`, `?` and `[…]` as in a shell.
#[must_use]
pub fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern): (Vec<_>, Vec<_>) = (name.chars().collect(), pattern.chars().collect());
    // Which beginnings of the name the part of the pattern so far can stand for.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    let mut rest = &pattern[..];
    while let Some((&first, tail)) = rest.split_first() {
        let is_class = first == '[';
        let close = || tail.iter().skip(1).position(|&c| c == ']');
        let close = is_class.then(close).flatten().map(|at| at + 1);
        let mut next = vec![false; name.len() + 1];
        if first == '*' {
            let mut any = false;
            for (to, from) in next.iter_mut().zip(&reached) {
                any |= from;
                *to = any;
            }
            rest = tail;
        } else {
            let class = close.map(|close| &tail[..close]);
            for (at, &one) in name.iter().enumerate() {
                let fits = match class {
                    Some(class) => in_class(class, one),
                    None => first == '?' || first == one,
                };
                next[at + 1] = reached[at] && fits;
            }
            rest = class.map_or(tail, |class| &tail[class.len() + 1..]);
        }
        reached = next;
    }
    reached[name.len()]
}

fn in_class(class: &[char], one: char) -> bool {
    let (is_not, class) = match class {
        ['!' | '^', class @ ..] => (true, class),
        _ => (false, class),
    };
    let mut rest = class;
    let mut is_in = false;
    while let [first, tail @ ..] = rest {
        rest = tail;
        if let ['-', last, after @ ..] = tail {
            is_in |= (*first..=*last).contains(&one);
            rest = after;
        } else {
            is_in |= *first == one;
        }
    }
    is_in != is_not
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (name, pattern) in [
            ("sda", "sd*"),
            ("sda", "sd[a-z]"),
            ("sda", "sd[!b]"),
            ("nvme0n1", "nvme[0-9]*n[0-9]*"),
            ("dm-0", "dm-?"),
            ("0:47", "*"),
            ("a[", "a["),
        ] {
            assert!(is_like(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [
            ("sda1", "sd?"),
            ("vda", "sd*"),
            ("sdb", "sd[!b]"),
            ("a", ""),
            ("", "?"),
        ] {
            assert!(!is_like(name, pattern), "{name} {pattern}");
        }
    }
}
