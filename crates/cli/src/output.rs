//! Writing to people and to pipes. The only file that writes to standard output and standard error.
//!
//! A reader that goes away (`ahead disk list | head -1`) has what it wanted: that is success, so
//! a broken pipe ends the output and nothing else.

use std::io::{self, Write};

use ahead_sys::inherited;
use serde::Serialize;

/// Writes `text` to standard output. `Ok` also when the reader has gone.
///
/// # Errors
/// Any other failure to write, such as a full disk behind a redirection, and an output that was closed before we began.
pub fn to_stdout(text: &str) -> io::Result<()> {
    if !text.is_empty() && inherited::was_closed(rustix::stdio::raw_stdout()) {
        return Err(rustix::io::Errno::BADF.into());
    }
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    forgive_broken_pipe(written)
}

/// `value` as JSON for people and programs, with a line end.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    // Plain structures of numbers and texts: there is nothing in them that could be refused.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Writes `text` to standard error. There is no place to report a failure to, so nothing is returned.
pub fn to_stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes());
}

/// Writes one line that says what went wrong. Line ends inside `problem` become spaces, so that
/// it stays one line for whoever greps a log; the number behind the system's words goes.
pub fn problem(problem: &dyn std::fmt::Display) {
    to_stderr(&format!("ahead: {}\n", one_line(&problem.to_string())));
}

fn one_line(text: &str) -> String {
    let parts: Vec<&str> = text
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect();
    let mut line = parts.join(" ");
    while let Some(start) = line.find(" (os error ")
        && let Some(length) = line[start..].find(')')
    {
        line.replace_range(start..=start + length, "");
    }
    line
}

/// A failure to write, unless it says that the reader has gone.
///
/// # Errors
/// Any other.
pub(crate) fn forgive_broken_pipe(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_without_error_numbers() {
        let text = "cannot open 'x': No such file (os error 2);\n  try y\n";
        assert_eq!(one_line(text), "cannot open 'x': No such file; try y");
        assert_eq!(one_line("odd (os error "), "odd (os error");
    }
}
