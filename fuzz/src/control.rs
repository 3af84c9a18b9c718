//! The daemon's socket, from both sides: what any user may send to it, and what answers who asks.

use ahead_daemon::protocol::{Question, read_answer, write_answer};

/// A question and an answer of anything: each is refused, or means the same when it is written and read again.
///
/// # Panics
/// When something that was accepted cannot be written and read back.
pub fn control(data: &[u8]) {
    match Question::read(data) {
        Ok(question) => assert_eq!(Question::read(&question.to_line()), Ok(question)),
        // The refusal says so to who asked, in one line that is read as a refusal.
        Err(refusal) => {
            let text = write_answer(&refusal);
            assert!(text.ends_with(b"\n") && !text[..text.len() - 1].contains(&b'\n'));
            assert!(read_answer(&text).is_err());
        }
    }
    if let Ok(status) = read_answer(data) {
        assert_eq!(read_answer(&write_answer(&status)), Ok(status));
    }
}
