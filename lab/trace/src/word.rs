//! The words that stand for operations in tables, ours and other people's.

use crate::access::{Advice, Decided, Operation};

/// The word that is written.
pub(crate) const fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Open => "open",
        Operation::Close => "close",
        Operation::Fault => "fault",
        Operation::Advise(Advice::Normal) => "advise-normal",
        Operation::Advise(Advice::Sequential) => "advise-sequential",
        Operation::Advise(Advice::Random) => "advise-random",
        Operation::Advise(Advice::WillNeed) => "advise-willneed",
        Operation::Advise(Advice::DontNeed) => "advise-dontneed",
        Operation::Sync => "sync",
        Operation::Discard => "discard",
        Operation::Prefetch(_) => "prefetch",
    }
}

/// The operation that a word stands for, in the spellings that traces use.
pub(crate) fn operation(word: &[u8]) -> Option<Operation> {
    Some(match word {
        b"read" | b"Read" | b"READ" | b"R" | b"r" | b"RS" | b"get" => Operation::Read,
        b"write" | b"Write" | b"WRITE" | b"W" | b"w" | b"WS" | b"set" => Operation::Write,
        b"open" => Operation::Open,
        b"close" => Operation::Close,
        b"fault" => Operation::Fault,
        b"advise-normal" => Operation::Advise(Advice::Normal),
        b"advise-sequential" => Operation::Advise(Advice::Sequential),
        b"advise-random" => Operation::Advise(Advice::Random),
        b"advise-willneed" => Operation::Advise(Advice::WillNeed),
        b"advise-dontneed" => Operation::Advise(Advice::DontNeed),
        b"sync" | b"flush" => Operation::Sync,
        b"discard" | b"trim" => Operation::Discard,
        b"prefetch" => Operation::Prefetch(Decided::default()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_read_back_from_its_word() {
        let all = [
            Operation::Read,
            Operation::Write,
            Operation::Open,
            Operation::Close,
            Operation::Fault,
            Operation::Advise(Advice::Normal),
            Operation::Advise(Advice::Sequential),
            Operation::Advise(Advice::Random),
            Operation::Advise(Advice::WillNeed),
            Operation::Advise(Advice::DontNeed),
            Operation::Sync,
            Operation::Discard,
            Operation::Prefetch(Decided::default()),
        ];
        for one in all {
            assert_eq!(operation(word(one).as_bytes()), Some(one));
        }
    }
}
