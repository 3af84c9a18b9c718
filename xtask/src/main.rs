//! A verb in, a chore done, an exit code out. The chores are in the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use std::path::Path;

use xtask::{approved, evidence, generate};

const USAGE: &str =
    "usage: cargo run -p xtask -- generate | approve | evidence [--all | NAME… [--plans DIR]]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [verb] if verb == "generate" => generate::generate(),
        [verb] if verb == "approve" => approved::approve(),
        [verb] if verb == "evidence" => Ok(evidence::list()),
        [verb, all] if verb == "evidence" && all == "--all" => {
            evidence::sweep(&[], Path::new("plans"))
        }
        [verb, names @ .., plans, folder] if verb == "evidence" && plans == "--plans" => {
            evidence::sweep(names, Path::new(folder))
        }
        [verb, names @ ..] if verb == "evidence" => evidence::sweep(names, Path::new("plans")),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("xtask: cannot {}: {error}", words[0]);
            ExitCode::FAILURE
        }
    }
}
