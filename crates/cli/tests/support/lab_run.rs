//! `ahead lab run` and its account.

use std::process::{Output, Stdio};

use serde_json::Value;

use super::{Place, stderr};

/// `ahead lab run` with the library of this build.
pub(crate) fn lab(options: &[&str], command: &[&str]) -> Output {
    let place = Place::new();
    let mut arguments = vec!["lab", "run"];
    arguments.extend(options);
    arguments.push("--");
    arguments.extend(command);
    let mut program = place.ahead(&arguments);
    // What a guest's `ahead run` finds beside itself is the library of this build; a stub is nothing
    // to measure.
    program.env_remove("AHEAD_PRELOAD");
    program.stdin(Stdio::null()).output().expect("ahead starts")
}

/// The account of a run as JSON; the command succeeded.
#[track_caller]
pub(crate) fn figures(options: &[&str], command: &[&str]) -> Value {
    let mut options = options.to_vec();
    options.push("--json");
    let output = lab(&options, command);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stderr(&output);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
pub(crate) fn figure(figures: &Value, name: &str) -> u64 {
    let figure = figures[name].as_u64();
    figure.unwrap_or_else(|| panic!("no {name} in {figures}"))
}
