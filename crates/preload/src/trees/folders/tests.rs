//! What the tables of folders promise.
