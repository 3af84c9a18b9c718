//! Every read-ahead algorithm that Linux shipped from 2.2 to 6.18, and those of papers and programs.
//!
//! * [`kernel`] — Linux, page for page, each file opening with its rules in prose
//! * [`literature`] — papers and well-known programs, in the same shape
//! * [`registry`] — all of them by name; [`replica`] — what each says about itself
//! * [`page_cache`] — the page cache with reclaim that they run over
//! * [`instant`] — the page cache and an algorithm without a clock; the running kernel is held
//!   against it, call for call
#![forbid(unsafe_code)]

pub mod instant;
pub mod kernel;
pub mod literature;
pub mod page_cache;
pub mod registry;
pub mod replica;
