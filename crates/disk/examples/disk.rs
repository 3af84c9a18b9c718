//! Makes and destroys emulated disks by hand: `disk create|list|stats|reset|destroy NAME …`.
//!
//! For trying the crate; the program that people use is `ahead disk`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ahead_disk::{CreateOptions, SERVER_ARGUMENT};
use ahead_disks::{DiskModel, TimeScale};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("disk: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [SERVER_ARGUMENT, folder] => ahead_disk::serve(Path::new(folder))?,
        ["create", name, options @ ..] => {
            let info = ahead_disk::create(&create_options(name, options)?)?;
            println!("{}", serde_json::to_string(&info)?);
        }
        ["list"] => println!("{}", serde_json::to_string_pretty(&ahead_disk::list()?)?),
        ["stats", name] => println!("{}", serde_json::to_string(&ahead_disk::stats(name)?)?),
        ["reset", name] => ahead_disk::reset_stats(name)?,
        ["destroy", name] => ahead_disk::destroy(name)?,
        _ => return Err("usage: disk create|stats|reset|destroy NAME | list".into()),
    }
    Ok(())
}

fn create_options(name: &str, words: &[&str]) -> Result<CreateOptions, Failure> {
    let mut options = CreateOptions {
        name: name.to_owned(),
        model: DiskModel::hdd(),
        order: None,
        time_scale: TimeScale::REAL,
        size_bytes: 1 << 30,
        mount_dir: PathBuf::from("/mnt").join(name),
        server_exe: env::current_exe()?,
    };
    for pair in words.chunks(2) {
        match *pair {
            ["--model", model] => options.model = ahead_disk::load_model(model)?,
            ["--scale", scale] => options.time_scale = scale.parse()?,
            ["--size", size] => options.size_bytes = bytes(size)?,
            ["--mount", folder] => options.mount_dir = folder.into(),
            ["--order", order] => options.order = Some(order.parse()?),
            _ => return Err(format!("what is {}?", pair.join(" ")).into()),
        }
    }
    Ok(options)
}

fn bytes(text: &str) -> Result<u64, Failure> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'G') => (&text[..text.len() - 1], 30),
        Some(b'M') => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    Ok(digits.parse::<u64>()? << shift)
}
