//! How a file's name, which may be any bytes, stands in a table of our own.
//!
//! As it is, where it is text. A backslash is written `\\`, a line end `\n` or `\r`, a byte that is
//! no UTF-8 `\xff`: a record stays one line, and a table stays text, whatever a file is called.

/// Appends `name` as it is written.
pub(crate) fn escape(name: &[u8], into: &mut Vec<u8>) {
    let is_plain = |byte: &u8| byte.is_ascii() && !matches!(byte, b'\\' | b'\n' | b'\r');
    if name.iter().all(is_plain) {
        into.extend_from_slice(name);
        return;
    }
    for chunk in name.utf8_chunks() {
        for byte in chunk.valid().bytes() {
            match byte {
                b'\\' => into.extend_from_slice(b"\\\\"),
                b'\n' => into.extend_from_slice(b"\\n"),
                b'\r' => into.extend_from_slice(b"\\r"),
                other => into.push(other),
            }
        }
        for byte in chunk.invalid() {
            into.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
}

/// Appends the name that `text` stands for. What is no escape stays as it is.
pub(crate) fn unescape(text: &[u8], into: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        into.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        match rest {
            [b'n', behind @ ..] => {
                into.push(b'\n');
                rest = behind;
            }
            [b'r', behind @ ..] => {
                into.push(b'\r');
                rest = behind;
            }
            [b'\\', behind @ ..] => {
                into.push(b'\\');
                rest = behind;
            }
            [b'x', high, low, behind @ ..] if digit(*high).is_some() && digit(*low).is_some() => {
                let byte = digit(*high)
                    .zip(digit(*low))
                    .map(|(high, low)| high << 4 | low);
                into.push(byte.unwrap_or_default());
                rest = behind;
            }
            _ => into.push(b'\\'),
        }
    }
    into.extend_from_slice(rest);
}

fn digit(byte: u8) -> Option<u8> {
    let digit = char::from(byte).to_digit(16)?;
    u8::try_from(digit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back() {
        for name in [
            &b"/a"[..],
            b"\\",
            b"\\n\n\r\\\\x41",
            b"\xff\xfe/\xc3\xa9",
            b"",
        ] {
            let mut text = Vec::new();
            escape(name, &mut text);
            assert!(std::str::from_utf8(&text).is_ok());
            assert!(!text.contains(&b'\n'));
            let mut back = Vec::new();
            unescape(&text, &mut back);
            assert_eq!(back, name);
        }
    }
}
