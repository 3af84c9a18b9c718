//! Compiles the programs for the kernel (`bpf/observer.bpf.c`) with clang.
//!
//! Nothing of the machine that builds goes into them: what they read of the kernel's structures is found when they are
//! loaded (CO-RE).

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=bpf");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let architecture = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "arm64",
        _ => "x86",
    };
    let object = Path::new(&out).join("observer.bpf.o");
    let compiled = Command::new("clang")
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf"])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .args(["-c", "bpf/observer.bpf.c", "-o"])
        .arg(&object)
        .status();
    match compiled {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("clang ({status}) could not compile bpf/observer.bpf.c"),
        Err(error) => panic!("cannot start clang: {error}; `make deps` installs it"),
    }
}
