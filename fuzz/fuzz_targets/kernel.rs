//! `cargo fuzz run --features libfuzzer kernel`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ahead_fuzz::kernel(data));
