//! Serves one emulated disk; with `create JSON` or `destroy NAME`, does that and ends.
//!
//! For the tests of this crate, which need servers, creators and destroyers that they can kill. The program that
//! people use is `ahead disk`.
#![forbid(unsafe_code)]

use std::env;
use std::path::Path;
use std::process::ExitCode;

use ahead_disk_emulator::SERVER_ARGUMENT;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result: Result<(), Box<dyn std::error::Error>> = match words.as_slice() {
        [SERVER_ARGUMENT, folder] => {
            ahead_disk_emulator::serve(Path::new(folder)).map_err(Into::into)
        }
        ["create", json] => create(json),
        ["destroy", name] => ahead_disk_emulator::destroy(name).map_err(Into::into),
        _ => Err("usage: ahead-disk-server create JSON | destroy NAME".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ahead-disk-server: {error}");
            ExitCode::FAILURE
        }
    }
}

fn create(json: &str) -> Result<(), Box<dyn std::error::Error>> {
    let info = ahead_disk_emulator::create(&serde_json::from_str(json)?)?;
    println!("{}", serde_json::to_string(&info)?);
    Ok(())
}
