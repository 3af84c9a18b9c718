//! How lengths and names are written for people, for terminals and for shells.

/// A length in the largest unit, with one decimal at most. Below 1 GiB it is exact, as windows that differ by a page have to be
/// told apart.
#[must_use]
pub fn size(kib: u64) -> String {
    let tenths = |unit: u64| {
        // No more than a u64 has, as a unit has 1024 KiB at least.
        let tenths = u128::from(kib) * 10 / u128::from(unit);
        match tenths % 10 {
            0 => (tenths / 10).to_string(),
            tenth => format!("{}.{tenth}", tenths / 10),
        }
    };
    match kib {
        kib if kib >= 1 << 20 => format!("{} GiB", tenths(1 << 20)),
        kib if kib >= 1024 && kib.is_multiple_of(512) => format!("{} MiB", tenths(1024)),
        kib => format!("{kib} KiB"),
    }
}

/// What any user may call a mount or a disk, without what a terminal obeys.
#[must_use]
pub fn harmless(name: &str) -> String {
    let mut all = String::new();
    for one in name.chars() {
        if one.is_control() {
            all.extend(one.escape_default());
        } else {
            all.push(one);
        }
    }
    all
}

/// `name` as a word for a shell: a mount point can have blanks in it, and a command is made to be copied.
#[must_use]
pub fn quoted(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:".contains(c);
    if name.chars().all(is_plain) && !name.is_empty() {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It said 8000000 KiB of memory, and 2048 MiB.
    #[test]
    fn a_length_is_said_in_the_largest_unit_and_a_window_exactly() {
        let sizes = [
            0,
            4,
            1024,
            1536,
            65_532,
            65_536,
            2 << 20,
            8_000_000,
            16 << 20,
        ]
        .map(size);
        assert_eq!(
            sizes,
            [
                "0 KiB",
                "4 KiB",
                "1 MiB",
                "1.5 MiB",
                "65532 KiB",
                "64 MiB",
                "2 GiB",
                "7.6 GiB",
                "16 GiB"
            ]
        );
        assert!(size(u64::MAX).ends_with(" GiB"));
    }

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_nothing_else() {
        assert_eq!(harmless("it's\u{1b}[2J\né"), "it's\\u{1b}[2J\\né");
    }
}
