//! Chores of the work tree.
//!
//! `cargo run -p xtask -- generate` writes the files that are made from the command line's
//! definitions; what these files hold is decided in the `cli` crate. `cargo run -p xtask --
//! evidence NAME` sweeps a steering constant of the policy.
#![forbid(unsafe_code)]

mod evidence;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["generate"] => end("generate", generate()),
        ["evidence"] => {
            print!("{}", evidence::list());
            ExitCode::SUCCESS
        }
        ["evidence", names @ .., "--plans", folder] => {
            end("sweep", evidence::sweep(&root(), names, Path::new(folder)))
        }
        ["evidence", names @ ..] => {
            end("sweep", evidence::sweep(&root(), names, Path::new("plans")))
        }
        _ => {
            eprintln!(
                "usage: cargo run -p xtask -- generate\n       \
                 cargo run -p xtask -- evidence [NAME… [--plans DIR]]"
            );
            ExitCode::from(2)
        }
    }
}

fn end(chore: &str, result: io::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: cannot {chore}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn generate() -> io::Result<()> {
    let root = root();
    ahead(&root, &["man", "--dir", "docs/man"])?;
    std::fs::create_dir_all(root.join("completions"))?;
    for (shell, file) in [
        ("bash", "ahead.bash"),
        ("zsh", "_ahead"),
        ("fish", "ahead.fish"),
    ] {
        let script = ahead(&root, &["completions", shell])?;
        std::fs::write(root.join("completions").join(file), script)?;
    }
    println!("wrote docs/man and completions");
    Ok(())
}

/// Runs the program, built if need be, and returns what it printed.
fn ahead(root: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["run", "--quiet", "--locked", "--package", "ahead-cli", "--"])
        .args(arguments)
        .current_dir(root)
        .output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(format!(
        "ahead {}: {said}",
        arguments.join(" ")
    )))
}

/// The work tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
