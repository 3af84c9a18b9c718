//! In which order ext4 lists a folder: by a hash of the names, `half_md4` with the seed of the file system
//! (`fs/ext4/hash.c`, Linux 6.12).

/// Hash of a name in a file system with this seed: listings are sorted by it.
pub(super) fn name_hash(name: &[u8], seed: [u32; 4]) -> (u32, u32) {
    let mut state = seed;
    // A name is hashed in parts of 32 bytes; an empty rest is none.
    let mut rest = name;
    while !rest.is_empty() {
        half_md4(&mut state, &words(rest));
        rest = rest.get(32..).unwrap_or_default();
    }
    (state[1] & !1, state[2])
}

/// Up to 32 bytes as eight words, filled up with the length of what is left.
fn words(part: &[u8]) -> [u32; 8] {
    let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
    let pad = length | length << 8;
    let pad = pad | pad << 16;
    let mut words = [pad; 8];
    for (word, bytes) in words.iter_mut().zip(part.chunks(4)) {
        for byte in bytes {
            // Names here are ASCII, for which signed and unsigned characters are the same.
            *word = u32::from(*byte).wrapping_add(*word << 8);
        }
    }
    words
}

fn half_md4(state: &mut [u32; 4], words: &[u32; 8]) {
    type Mix = fn(u32, u32, u32) -> u32;
    let rounds: [(Mix, u32, [usize; 8], [u32; 4]); 3] = [
        (
            |x, y, z| z ^ (x & (y ^ z)),
            0,
            [0, 1, 2, 3, 4, 5, 6, 7],
            [3, 7, 11, 19],
        ),
        (
            |x, y, z| (x & y).wrapping_add((x ^ y) & z),
            0x5A82_7999,
            [1, 3, 5, 7, 0, 2, 4, 6],
            [3, 5, 9, 13],
        ),
        (
            |x, y, z| x ^ y ^ z,
            0x6ED9_EBA1,
            [3, 7, 2, 6, 1, 5, 0, 4],
            [3, 9, 11, 15],
        ),
    ];
    let [mut a, mut b, mut c, mut d] = *state;
    for (mix, constant, order, shifts) in rounds {
        for (at, shift) in order.into_iter().zip(shifts.into_iter().cycle()) {
            let word = words[at].wrapping_add(constant);
            let mixed = a.wrapping_add(mix(b, c, d)).wrapping_add(word);
            (a, b, c, d) = (d, mixed.rotate_left(shift), b, c);
        }
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d]) {
        *old = old.wrapping_add(new);
    }
}

#[cfg(test)]
mod tests {
    use super::super::ext4::GUEST_SEED;
    use super::*;

    /// What the kernel listed in a guest.
    #[test]
    fn a_folder_is_listed_as_the_kernel_lists_it() {
        let mut names: Vec<String> = (3700..3720)
            .map(|number| format!("{number:05}.dat"))
            .collect();
        names.sort_by_key(|name| name_hash(name.as_bytes(), GUEST_SEED));
        let listed: Vec<&str> = names.iter().map(|name| &name[3..5]).collect();
        let kernel = "04 08 13 14 18 11 09 12 15 07 16 06 19 01 00 17 02 05 03 10";
        assert_eq!(listed.join(" "), kernel);
    }
}
