//! Figures as people read them: sizes, times, parts of a whole. All of it is arithmetic on whole
//! numbers, so that the same run prints the same text everywhere.

/// One decimal of a per cent, without floating point.
pub(crate) fn per_cent(part: u64, whole: u64) -> String {
    let per_mille = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{} %", per_mille / 10, per_mille % 10)
}

/// So many of what has an `s` behind it where it is not one.
pub(crate) fn count(number: u64, one: &str) -> String {
    count_of(number, one, &format!("{one}s"))
}

/// The same of what has a plural of its own.
pub(crate) fn count_of(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Bytes in the largest unit that leaves a whole number before the point.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    for (shift, unit) in units {
        if bytes >> shift > 0 {
            let tenths = (u128::from(bytes) * 10) >> shift;
            return match (tenths / 10, tenths % 10) {
                (whole, 0) => format!("{whole} {unit}"),
                (whole, tenth) => format!("{whole}.{tenth} {unit}"),
            };
        }
    }
    format!("{bytes} B")
}

/// Nanoseconds in the unit that people would choose.
pub(crate) fn seconds(ns: u64) -> String {
    match ns {
        0..1_000_000 => format!("{}.{:01} us", ns / 1000, ns / 100 % 10),
        1_000_000..1_000_000_000 => format!("{}.{:03} ms", ns / 1_000_000, ns / 1000 % 1000),
        _ => format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1000),
    }
}

/// Bytes per second in MB/s.
pub(crate) fn megabytes(bytes_per_s: u64) -> String {
    format!("{}.{}", bytes_per_s / 1_000_000, bytes_per_s / 100_000 % 10)
}

/// Thousandths as a number.
pub(crate) fn ratio(permille: Option<u64>) -> String {
    let text = |permille| format!("{}.{:03}", permille / 1000, permille % 1000);
    permille.map_or_else(|| "-".to_owned(), text)
}

/// Thousandths as a per cent.
pub(crate) fn per_cent_of_permille(permille: Option<u64>) -> String {
    let text = |permille| format!("{}.{} %", permille / 10, permille % 10);
    permille.map_or_else(|| "-".to_owned(), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_in_the_unit_that_people_would_choose() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(1_500_000), "1.4 MiB");
        assert_eq!(size(u64::MAX), "16777215.9 TiB");
        assert_eq!(seconds(15_800), "15.8 us");
        assert_eq!(seconds(2_500_000_000), "2.500 s");
        assert_eq!(per_cent(1, 3), "33.3 %");
        assert_eq!(per_cent(0, 0), "0.0 %");
    }

    #[test]
    fn thousandths_are_shown_without_floating_point() {
        assert_eq!(megabytes(149_960_000), "149.9");
        assert_eq!(ratio(Some(1020)), "1.020");
        assert_eq!(per_cent_of_permille(Some(987)), "98.7 %");
        assert_eq!(ratio(None), "-");
    }
}
