//! Chores and rules of the work tree: what `cargo run -p xtask -- VERB` does, and what the tests
//! beside it hold the tree to. Knows the tree and cargo, nothing of what the product does.
#![forbid(unsafe_code)]

pub mod approved;
pub mod cargo;
pub mod evidence;
pub mod generate;
pub mod sources;
