//! How many system calls a program makes, by `strace -f -c`: the same number in every run, whatever
//! else the machine does.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};

/// System calls by name.
pub type Calls = BTreeMap<String, u64>;

/// Runs `command`, its children too, and counts. Its standard output is thrown away.
///
/// # Errors
/// No `strace` (`NotFound`), one that may not trace, or a command that fails; the words of both are
/// in the error.
pub fn count_calls(command: &Command) -> io::Result<Calls> {
    let table = tempfile::NamedTempFile::new()?;
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-q", "-c", "-o"])
        .arg(table.path())
        .stdin(Stdio::null());
    // By strace's own option, so that a preloaded library is in the command and not in strace.
    for (name, value) in command.get_envs() {
        let mut word = OsString::from("-E");
        word.push(name);
        if let Some(value) = value {
            word.push("=");
            word.push(value);
        }
        strace.arg(word);
    }
    strace
        .arg("--")
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        strace.current_dir(folder);
    }
    let output = strace.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), "strace is not installed"),
        _ => error,
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("no reason given");
        let text = format!(
            "under strace {command:?} ended with {}: {last}",
            output.status
        );
        return Err(io::Error::other(text));
    }
    let text = std::fs::read_to_string(table.path())?;
    let calls = parse(&text);
    if calls.is_empty() {
        return Err(io::Error::other("strace counted nothing"));
    }
    Ok(calls)
}

/// All calls together.
#[must_use]
pub fn total(calls: &Calls) -> u64 {
    calls.values().sum()
}

/// What `more` has beyond `less`, call by call, and the other way round with a minus.
#[must_use]
pub fn difference(less: &Calls, more: &Calls) -> BTreeMap<String, i64> {
    let mut all: BTreeMap<String, i64> = BTreeMap::new();
    for (calls, sign) in [(less, -1), (more, 1)] {
        for (name, &count) in calls {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            *all.entry(name.clone()).or_default() += sign * count;
        }
    }
    all.retain(|_, count| *count != 0);
    all
}

/// `% time  seconds  usecs/call  calls  [errors]  name`, between two rules.
fn parse(text: &str) -> Calls {
    text.lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let calls = fields.get(3)?.parse().ok()?;
            let name = *fields.last()?;
            (name != "total").then(|| (name.to_owned(), calls))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000006           2         3           mmap
 40.00    0.000004           1         4         2 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.000010           1         7         2 total
";

    #[test]
    fn the_table_of_strace_is_read_with_and_without_errors() {
        let calls = parse(TABLE);
        assert_eq!(total(&calls), 7);
        assert_eq!((calls["mmap"], calls["openat"]), (3, 4));
    }

    #[test]
    fn differences_have_a_sign_and_leave_out_what_is_equal() {
        let more = Calls::from([("mmap".into(), 3), ("fstat".into(), 2)]);
        let found = difference(&parse(TABLE), &more);
        let expected = BTreeMap::from([("fstat".into(), 2), ("openat".into(), -4)]);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_program_makes_as_many_calls_every_time() {
        let mut command = Command::new("true");
        command.env("LC_ALL", "C").env_remove("LD_PRELOAD");
        let first = count_calls(&command).unwrap();
        assert_eq!(first, count_calls(&command).unwrap());
        assert!(first["execve"] >= 1);
    }

    #[test]
    fn a_program_that_fails_is_an_error() {
        let error = count_calls(&Command::new("false")).unwrap_err();
        assert!(error.to_string().contains("false"), "{error}");
    }
}
