//! Config files: no text makes the parser panic, a refused line is a line of the text, and what was
//! accepted survives the way through the environment.
//!
//! `cargo +nightly fuzz run config`
#![no_main]

use ahead_engine::settings::Settings;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut settings = Settings::default();
    match ahead_cli::run::config::apply(text, &mut settings) {
        Ok(()) => {
            let back = Settings::from_environment(&settings.to_environment());
            assert_eq!(back, settings);
        }
        Err((line, problem)) => {
            assert!(line >= 1 && line <= text.split('\n').count(), "line {line} of {text:?}");
            assert!(!problem.is_empty());
        }
    }
});
