//! Results for other programs, and as a picture.
//!
//! One row per run, and one list of columns for every form: what a column is called says its unit.
//! Times are nanoseconds, pages 4 KiB, ratios thousandths. The same results make the same bytes.
//!
//! * [`columns`] — what stands in each column
//! * `csv` — text
//! * `json` — the rows with the whole account of each run, and the contests
//! * [`parquet`] — the same columns as in `csv`
//! * [`picture`] — charts

pub mod columns;
mod csv;
mod json;
pub mod parquet;
pub mod picture;

pub use csv::csv;
pub use json::json;
