//! `cargo fuzz run traces`: readers of traces, fed with anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    ahead_fuzz::traces(data);
    ahead_fuzz::parquet(data);
});
