//! `ahead convert`: a trace in another format.
//!
//! What the other format cannot hold is left out and counted. A damaged trace is converted up to
//! the damage, and the command fails with its place.

use std::io;
use std::path::Path;

use ahead_trace::{
    Format, Reader, Sink, WriteError, WriteProblem, Writer, Written, create, writer,
};

use crate::arguments::Convert;
use crate::figures::count;
use crate::output;
use crate::traces::{self, ReadingProgress, TraceCommandError};

/// Converts, and says what became of it. `Ok` also when who reads the new trace has gone.
///
/// # Errors
/// The trace cannot be read to its end, or not be written.
pub fn convert(arguments: &Convert) -> Result<(), TraceCommandError> {
    match converted(arguments) {
        Err(TraceCommandError::Write(WriteError {
            problem: WriteProblem::Io(error),
            ..
        })) if arguments.output == Path::new("-") => Ok(output::forgive_broken_pipe(Err(error))?),
        other => other,
    }
}

fn converted(arguments: &Convert) -> Result<(), TraceCommandError> {
    let format = format_of(arguments)?;
    let objects = traces::objects(&arguments.trace)?;
    let mut reader = traces::reader(&arguments.input, &arguments.trace)?;
    // An old trace should not go for one whose first record is damaged.
    let first = reader.next().transpose()?;
    let is_stdout = arguments.output == Path::new("-");
    if !is_stdout && is_same_file(&arguments.input, &arguments.output) {
        return Err(TraceCommandError::Usage(format!(
            "'{}' would be overwritten while it is read; write to another file",
            arguments.output.display()
        )));
    }
    let mut to = if is_stdout {
        writer("standard output", format, Sink::new(io::stdout()), objects)?
    } else {
        create(&arguments.output, format, objects)?
    };
    let mut damage = None;
    let mut progress = ReadingProgress::new(&arguments.input);
    if let Some(access) = first {
        to.write(&access, reader.files())?;
        while let Some(access) = reader.next() {
            match access {
                Ok(access) => to.write(&access, reader.files())?,
                Err(error) => damage = Some(error),
            }
            progress.on_record(&*reader);
        }
    }
    let written = to.finish(reader.files())?;
    drop(progress);
    let summary = summary(&written, format, reader.skipped());
    if is_stdout {
        output::to_stderr(&summary);
    } else {
        output::to_stdout(&summary)?;
    }
    damage.map_or(Ok(()), |error| Err(error.into()))
}

fn format_of(arguments: &Convert) -> Result<Format, TraceCommandError> {
    let named = arguments.to.as_deref().and_then(Format::named);
    let format = named
        .or_else(|| Format::of_file_name(&arguments.output))
        .ok_or_else(|| {
            TraceCommandError::Usage(format!(
                "no format is known by the ending of '{}'; name one with --to (fio, \
                 oracle-general, csv, parquet)",
                arguments.output.display()
            ))
        })?;
    Ok(format)
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn summary(written: &Written, format: Format, skipped: u64) -> String {
    let mut text = format!(
        "{} written as {}\n",
        count(written.accesses, "record"),
        format.name()
    );
    if written.left_out > 0 {
        text += &format!(
            "{} left out: {} cannot hold it\n",
            count(written.left_out, "record"),
            format.name()
        );
    }
    if skipped > 0 {
        text += &format!(
            "{} passed over: headers, other calls, other actions\n",
            count(skipped, "line")
        );
    }
    text
}
