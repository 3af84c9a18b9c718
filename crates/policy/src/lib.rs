//! What to read ahead, and why: pages in, decisions out.
//!
//! This crate depends on `units` alone. It has no clock, no file, no thread, no allocator; time, sizes
//! and device figures are arguments, and a decision is a value that carries its reason. The same
//! code runs inside another program's process, in a simulator and in tests.
//!
//! * [`adaptive`] is the shipped policy; its head comment is the page to read first.
//! * [`file_order`] says which file of a listing comes next.
//! * [`range_list`] is the list of ranges that a file was read by, for when it is read by it again.
//! * [`device`] turns an estimate of a device into window sizes.
//! * [`knobs`] are the limits that settings set.
//! * [`evidence`] lists the numbers that were chosen, so that other ones can be tried.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod adaptive;
pub mod decision;
pub mod device;
pub mod evidence;
pub mod file_order;
pub mod knobs;
pub mod range_list;
pub mod reason;
pub mod steering;
pub mod stock;
