//! `cargo fuzz run --features libfuzzer control`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ahead_fuzz::control(data));
