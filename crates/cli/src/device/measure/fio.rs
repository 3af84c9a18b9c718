//! The steps as job files of fio, and what fio says of them.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use ahead_device::measurement::fio::job_file;
use ahead_device::measurement::report::Measurement;
use ahead_device::measurement::statistics::permille;
use ahead_study::table;
use serde_json::Value;

use crate::figures::{per_cent_of_permille, seconds};
use crate::studies::{self, StudyError};

/// Writes a job file for each step to `folder`, or to one that goes again, and runs them where that was asked
/// for. Returns what is to be said.
pub(super) fn jobs(
    measurement: &Measurement,
    folder: Option<&Path>,
    runs: bool,
    stop: &AtomicBool,
) -> Result<String, StudyError> {
    let temporary;
    let folder = if let Some(folder) = folder {
        folder
    } else {
        temporary = tempfile::tempdir()?;
        temporary.path()
    };
    let path = std::path::absolute(&measurement.target.path)?;
    let mut text = String::new();
    let mut rows = table::with_titles(
        &[
            "step",
            "ours/s",
            "fio/s",
            "fio/ours",
            "our median",
            "fio's median",
        ],
        1..6,
    );
    let mut failure = None;
    for found in &measurement.steps {
        let step = &found.step;
        let file = folder.join(format!("{}.fio", step.name()));
        studies::write(&file, job_file(&path.to_string_lossy(), step).as_bytes())?;
        if !runs || failure.is_some() || stop.load(Ordering::Relaxed) {
            continue;
        }
        match run(&file) {
            Ok(said) => {
                let ours = found.requests_per_second();
                let ratio = permille(said.per_second, ours);
                rows.add_row([
                    step.name(),
                    ours.to_string(),
                    said.per_second.to_string(),
                    per_cent_of_permille(Some(ratio)),
                    seconds(found.latency.p50_ns),
                    said.p50_ns.map_or_else(|| "-".to_owned(), seconds),
                ]);
            }
            Err(why) => failure = Some(why),
        }
    }
    if runs {
        text += &match &failure {
            None => format!("\n{rows}\n"),
            Some(why) => format!("fio was not used: {why}.\n"),
        };
    }
    Ok(text)
}

/// What fio found.
struct Said {
    per_second: u64,
    p50_ns: Option<u64>,
}

fn run(file: &Path) -> Result<Said, String> {
    let arguments = ["--readonly", "--output-format=json"].map(OsString::from);
    let output = Command::new("fio")
        .args(arguments)
        .arg(file)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "it is not installed (apt install fio)".to_owned(),
            _ => error.to_string(),
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().next().unwrap_or("no reason given").to_owned();
        return Err(format!("it failed on {}: {line}", file.display()));
    }
    understand(&output.stdout).ok_or_else(|| "its answer was not understood".to_owned())
}

/// The first job's requests per second and its median, from fio's JSON. Warnings may stand before it.
fn understand(text: &[u8]) -> Option<Said> {
    let start = text.iter().position(|byte| *byte == b'{')?;
    let value: Value = serde_json::from_slice(&text[start..]).ok()?;
    let read = value.get("jobs")?.get(0)?.get("read")?;
    let requests = read.get("total_ios")?.as_u64()?;
    let runtime_ms = read.get("runtime")?.as_u64()?;
    let per_second = (requests * 1000).checked_div(runtime_ms)?;
    let percentiles = read.get("clat_ns").and_then(|it| it.get("percentile"));
    let p50_ns = percentiles.and_then(|it| it.get("50.000000")?.as_u64());
    Some(Said { per_second, p50_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of fio 3.36's output that are used; the others are left out.
    #[test]
    fn what_fio_says_is_understood() {
        let text = br#"fio: a warning
            {"jobs": [{"read": {"total_ios": 1220, "runtime": 10001,
            "clat_ns": {"percentile": {"50.000000": 8159232, "99.000000": 10420224}}}}]}"#;
        let said = understand(text).unwrap();
        assert_eq!((said.per_second, said.p50_ns), (121, Some(8_159_232)));
        assert!(understand(b"{}").is_none());
        assert!(understand(b"no json").is_none());
    }
}
