//! `cargo fuzz run --features libfuzzer parsers`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ahead_fuzz::parsers(data));
