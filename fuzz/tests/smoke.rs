//! The fuzz bodies on a fixed stream of bytes: fast enough for every test run.

struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u8::try_from(self.0 >> 32 & 0xff).unwrap()
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next()).collect()
    }
}

#[test]
fn the_policy_survives_any_life() {
    let mut bytes = Bytes(0x2545_f491_4f6c_dd1d);
    for round in 0..20_000 {
        ahead_fuzz::policy(&bytes.take(40 + round % 400));
    }
}

/// Pieces of the real formats, shuffled: random bytes alone would never get past the first line.
#[test]
fn the_parsers_survive_any_text() {
    const PIECES: [&str; 24] = [
        "[run]\n",
        "policy",
        "readahead_ratio",
        "readahead_hit_rate",
        "budget_mib",
        " = ",
        "50",
        "\"adaptive\"",
        "-1",
        "1e999",
        "\n",
        ",",
        "=",
        "[",
        "]",
        "{",
        "}",
        "kind = \"arm\"\n",
        "media_bytes_per_s = 100000000\n",
        "seek_us_min = 0\n",
        "\u{fffd}",
        "\0",
        "18446744073709551616",
        "'''",
    ];
    let mut bytes = Bytes(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3_000 {
        let count = bytes.next() % 24;
        let text: String = (0..count)
            .map(|_| PIECES[usize::from(bytes.next()) % PIECES.len()])
            .collect();
        ahead_fuzz::parsers(text.as_bytes());
    }
    for round in 0..500 {
        ahead_fuzz::parsers(&bytes.take(round));
    }
}
