//! The named patterns of the conformance test: every trigger, size rule and hint of the facts, from
//! more than one side.
//!
//! A generated pattern that shows a difference becomes one of these, with literal numbers.

mod caches;
mod devices;
mod hints;
mod maps;
mod reads;

use super::pattern::Pattern;

/// All of them.
pub fn all() -> Vec<Pattern> {
    let mut patterns = reads::all();
    patterns.extend(caches::all());
    patterns.extend(hints::all());
    patterns.extend(maps::all());
    patterns.extend(devices::all());
    patterns
}
