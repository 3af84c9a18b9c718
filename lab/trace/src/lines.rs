//! What all formats of one record per line share: counting lines, and ending after an error.

use crate::access::Access;
use crate::error::{DamagePlace, Problem, TraceError};
use crate::files::FileNames;
use crate::reader::Reader;
use crate::source::Source;
use crate::text::{LINE_BYTES_MAX, LineError, Lines};

/// A format of one record per line.
pub(crate) trait LineFormat {
    /// What a line says; `None` for a line that is no access.
    fn line(&mut self, line: &[u8], files: &mut FileNames) -> Result<Option<Access>, Problem>;

    /// Whether whoever writes this format ends every line, also the last one: what has no end is
    /// then cut short, even if it reads well, as `409` does where `4096` was.
    fn ends_every_line(&self) -> bool {
        true
    }

    /// The trace ends here. An error when it ends in a way that makes it useless.
    fn end(&mut self) -> Result<(), Problem> {
        Ok(())
    }
}

/// The reader of a trace of lines.
pub(crate) struct LineReader<F> {
    name: String,
    lines: Lines<Source>,
    used: crate::source::Meter,
    format: F,
    files: FileNames,
    line: u64,
    skipped: u64,
    has_ended: bool,
}

impl<F: LineFormat> LineReader<F> {
    pub(crate) fn new(name: &str, source: Source, format: F) -> Self {
        Self {
            name: name.to_owned(),
            used: source.meter(),
            lines: Lines::new(source),
            format,
            files: FileNames::default(),
            line: 0,
            skipped: 0,
            has_ended: false,
        }
    }

    fn fail(&mut self, place: DamagePlace, problem: Problem) -> TraceError {
        self.has_ended = true;
        TraceError::new(&self.name, place, problem)
    }

    fn fail_at_line_end(&mut self, error: LineError) -> TraceError {
        match error {
            LineError::Io(error) => {
                let place = DamagePlace::Byte(self.used.bytes());
                let problem = Source::problem(error);
                self.fail(place, problem)
            }
            LineError::TooLong => self.fail(
                DamagePlace::Line(self.line + 1),
                Problem::TooMuch(format!(
                    "a line of more than {LINE_BYTES_MAX} bytes; this is not a text trace, name \
                     its format with --from"
                )),
            ),
        }
    }
}

impl<F: LineFormat> Iterator for LineReader<F> {
    type Item = Result<Access, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        loop {
            let line = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => {
                    self.has_ended = true;
                    let ended = self.format.end();
                    return ended
                        .err()
                        .map(|problem| Err(self.fail(DamagePlace::Whole, problem)));
                }
                Err(error) => return Some(Err(self.fail_at_line_end(error))),
            };
            self.line += 1;
            if !line.is_whole && self.format.ends_every_line() {
                return Some(Err(self.fail(DamagePlace::Line(self.line), cut_short())));
            }
            match self.format.line(line.bytes, &mut self.files) {
                Ok(Some(access)) => return Some(Ok(access)),
                Ok(None) => self.skipped += 1,
                Err(problem) => {
                    let problem = match problem {
                        Problem::Malformed(_) if !line.is_whole => cut_short(),
                        other => other,
                    };
                    return Some(Err(self.fail(DamagePlace::Line(self.line), problem)));
                }
            }
        }
    }
}

fn cut_short() -> Problem {
    Problem::Truncated("the last line is cut short".to_owned())
}

impl<F: LineFormat> Reader for LineReader<F> {
    fn files(&self) -> &FileNames {
        &self.files
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn bytes_read(&self) -> u64 {
        self.used.bytes()
    }
}

/// Everything that a test's trace of lines says, and the error at its end if there is one.
#[cfg(test)]
pub(crate) fn read_all<F: LineFormat>(
    text: &[u8],
    format: F,
) -> (Vec<Access>, FileNames, Option<String>) {
    let source = Source::plain(std::io::Cursor::new(text.to_vec()));
    let mut reader = LineReader::new("t", source, format);
    let mut accesses = Vec::new();
    let mut problem = None;
    for access in &mut reader {
        match access {
            Ok(access) => accesses.push(access),
            Err(error) => problem = Some(error.to_string()),
        }
    }
    assert!(reader.next().is_none(), "a reader stays at its end");
    (accesses, reader.files, problem)
}
