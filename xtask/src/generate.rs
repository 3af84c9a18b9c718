//! Manual pages and completions, made from the command line's definitions. What these files hold
//! is decided in `cli`.

use std::io;
use std::process::Command;

use crate::cargo::{cargo, root, run};

/// Writes docs/man and completions again; says what it wrote.
///
/// # Errors
/// The program cannot be built or run, or a file cannot be written.
pub fn generate() -> io::Result<String> {
    ahead(&["man", "--dir", "docs/man"])?;
    let folder = root().join("completions");
    std::fs::create_dir_all(&folder)?;
    for (shell, file) in [
        ("bash", "ahead.bash"),
        ("zsh", "_ahead"),
        ("fish", "ahead.fish"),
    ] {
        let script = ahead(&["completions", shell])?;
        std::fs::write(folder.join(file), script)?;
    }
    Ok("wrote docs/man and completions".to_owned())
}

/// Runs the program, built if need be, and returns what it printed.
fn ahead(arguments: &[&str]) -> io::Result<Vec<u8>> {
    let mut command = Command::new(cargo());
    command
        .args(["run", "--quiet", "--locked", "--package", "ahead-cli", "--"])
        .args(arguments)
        .current_dir(root());
    Ok(run(&mut command)?.stdout)
}
