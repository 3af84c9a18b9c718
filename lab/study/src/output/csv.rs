//! The table as CSV after RFC 4180, with line ends of this system.

use std::borrow::Cow;

use super::{COLUMNS, Value, rows};
use crate::results::CellGroup;

/// The runs as CSV: a line of names, then a line for each. What is not known is empty.
#[must_use]
pub fn csv(groups: &[CellGroup<'_>]) -> String {
    let names: Vec<_> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut text = names.join(",") + "\n";
    for (run, standing) in rows(groups) {
        for (number, (_, value)) in COLUMNS.iter().enumerate() {
            if number > 0 {
                text.push(',');
            }
            match value(run, &standing) {
                Value::Text(value) => text += &quoted(&value),
                Value::Number(Some(value)) => text += &value.to_string(),
                Value::Number(None) => {}
            }
        }
        text.push('\n');
    }
    text
}

/// Names of policies and workloads hold commas.
fn quoted(value: &str) -> Cow<'_, str> {
    if value.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", value.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_comma_stays_one_cell() {
        assert_eq!(quoted("ara:a=1,b=2"), "\"ara:a=1,b=2\"");
        assert_eq!(quoted("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(quoted("plain"), "plain");
    }
}
