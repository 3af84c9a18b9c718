//! How the library is linked, so that loading it costs little: a process that is over in half a
//! millisecond should not spend a third of it on us.
//!
//! **The unwinder is linked in.**
//! The standard library asks the linker for `libgcc_s`, a shared library that every started
//! program would then search, map, relocate and unmap for the sake of one function that is called
//! when an invariant of ours is broken. The same code exists as a static library. A linker script
//! with the name that the linker looks for, found first, points there. The version script of a
//! `cdylib` keeps its symbols inside.
//!
//! **No part is made read-only after relocation.** That takes a mapping more and a system call, 13
//! of 54 microseconds. It protects addresses of functions from being overwritten; ours lie in
//! slots that are filled on the first call, so they are writable anyway.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let folder = std::env::var("OUT_DIR").expect("cargo names the folder");
    let script = Path::new(&folder).join("libgcc_s.so");
    std::fs::write(&script, "INPUT(-lgcc_eh -lgcc)\n").expect("the folder can be written to");
    // Only the library itself: test programs may load what they like.
    println!("cargo:rustc-cdylib-link-arg=-L{folder}");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,norelro");
}
