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

#[test]
fn the_kernels_algorithms_survive_any_life() {
    let mut bytes = Bytes(0x1234_5678_9abc_def1);
    for round in 0..20 {
        ahead_fuzz::kernel(&bytes.take(40 + round * 6));
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
        "media-bytes-per-s = 100000000\n",
        "seek-us-min = 0\n",
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

/// Lines and pieces of lines of the real formats, in any order.
#[test]
fn the_readers_of_traces_survive_any_trace() {
    const PIECES: [&str; 34] = [
        "fio version 3 iolog\n",
        "fio version 2 iolog\n",
        "12 /a read 0 4096\n",
        "/a wait 18446744073709551615 0\n",
        "/a read 0 4096\n",
        "  8,0    3        1     0.000000000   697  Q   R 223490 + 8 [cat]\n",
        "8,0 3 1 0.5 697 Q FWS 18446744073709551615 + 8 [cat]\n",
        "7 1.0 openat(AT_FDCWD</tmp>, \"f\", O_RDONLY) = 3</tmp/f> <0.000034>\n",
        "7 1.1 read(3</tmp/f>, \"..\", 4096) = 4096 <0.000015>\n",
        "7 1.1 read(3</tmp/f>,  <unfinished ...>\n",
        "7 1.2 <... read resumed>\"\", 1) = 18446744073709551615\n",
        "7 1.2 clone(child_stack=NULL, flags=CLONE_FILES|SIGCHLD) = 8\n",
        "8 1.2 dup2(3, 9) = 9\n",
        "7 1.2 clone( <unfinished ...>\n",
        "7 1.3 +++ exited with 0 +++\n",
        "128166372003061629,usr,0,Read,7014609920,24576,41286\n",
        "at_ns,process,thread,operation,file,offset,length,duration_ns,size,pattern,reason\n",
        "1,2,3,read,\"a\"\",b\",4,5,6,7,8,9\n",
        "1,2,3,prefetch,\\x,18446744073709551615,18446744073709551615,,,255,1\n",
        "lba\ttime\tname\n",
        "36028797018963967\t1.5\tx\n",
        "0|9|0\n",
        "\n",
        "\0",
        "\"",
        "<",
        "(",
        ",",
        "-1",
        "18446744073709551616",
        "\u{fffd}",
        "\\",
        "{st_size=",
        " = ",
    ];
    let mut bytes = Bytes(0x0123_4567_89ab_cdef);
    for _ in 0..1_500 {
        let mut trace = bytes.take(3);
        for _ in 0..bytes.next() % 24 {
            let piece = PIECES[usize::from(bytes.next()) % PIECES.len()];
            trace.extend_from_slice(piece.as_bytes());
        }
        ahead_fuzz::traces(&trace);
    }
    for round in 0..300 {
        ahead_fuzz::traces(&bytes.take(round));
        ahead_fuzz::parquet(&bytes.take(40));
    }
}

/// What any user may send to a daemon that is root.
#[test]
fn the_daemons_socket_survives_any_question() {
    const PIECES: [&str; 24] = [
        "{\"version\":2",
        "{\"version\":1",
        "\"version\":2",
        "\"process\":",
        "\"inode\":",
        "\"history\":",
        "\"refused\":",
        "\"files\":[",
        "\"devices\":[]",
        "\"mode\":\"full\"",
        "true",
        "null",
        "7",
        "-1",
        "1e400",
        "18446744073709551616",
        "\"\\ud800\"",
        ",",
        ":",
        "}",
        "]",
        "\n",
        "\0",
        "[[[[[[[[",
    ];
    let mut bytes = Bytes(0x0f1e_2d3c_4b5a_6978);
    for _ in 0..10_000 {
        let count = bytes.next() % 16;
        let text: String = (0..count)
            .map(|_| PIECES[usize::from(bytes.next()) % PIECES.len()])
            .collect();
        ahead_fuzz::control(text.as_bytes());
    }
    for round in 0..1_000 {
        ahead_fuzz::control(&bytes.take(round % 300));
    }
    // Depth is refused before the stack is used up.
    ahead_fuzz::control("[".repeat(1 << 20).as_bytes());
    let whole = b"{\"version\":2,\"process\":7,\"history\":true}\n";
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut one = whole.to_vec();
            one[at] ^= 1 << bit;
            ahead_fuzz::control(&one);
        }
    }
}
