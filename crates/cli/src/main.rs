//! The one program. Everything it does is in the library next door, so that the parsers can be
//! tested and fuzzed without a process around them.
#![forbid(unsafe_code)]

use std::process::ExitCode;

ahead_sys::note_inherited!();

fn main() -> ExitCode {
    ahead_cli::main(std::env::args_os()).into()
}
