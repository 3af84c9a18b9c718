//! `make kernel-patches`: puts the core as it is into the series.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use ahead_kernel_core_test::series;

fn main() -> ExitCode {
    match series::refresh() {
        Ok(written) if written.is_empty() => println!("the series has the core as it is"),
        Ok(written) => println!("written: {}", written.join(", ")),
        Err(error) => {
            eprintln!("cannot write the series: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
