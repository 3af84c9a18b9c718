//! The recorded form of accesses and decisions, and the formats that people have.
#![forbid(unsafe_code)]
