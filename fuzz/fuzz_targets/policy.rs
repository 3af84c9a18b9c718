//! `cargo fuzz run --features libfuzzer policy`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ahead_fuzz::policy(data));
