//! The words that stand for operations in tables, ours and other people's.

use crate::access::{Decided, FileAdvice, Operation};

/// The word that is written.
pub(crate) const fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Open => "open",
        Operation::Close => "close",
        Operation::Fault => "fault",
        Operation::Advise(FileAdvice::Normal) => "advise-normal",
        Operation::Advise(FileAdvice::Sequential) => "advise-sequential",
        Operation::Advise(FileAdvice::Random) => "advise-random",
        Operation::Advise(FileAdvice::WillNeed) => "advise-willneed",
        Operation::Advise(FileAdvice::DontNeed) => "advise-dontneed",
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
        b"advise-normal" => Operation::Advise(FileAdvice::Normal),
        b"advise-sequential" => Operation::Advise(FileAdvice::Sequential),
        b"advise-random" => Operation::Advise(FileAdvice::Random),
        b"advise-willneed" => Operation::Advise(FileAdvice::WillNeed),
        b"advise-dontneed" => Operation::Advise(FileAdvice::DontNeed),
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
            Operation::Advise(FileAdvice::Normal),
            Operation::Advise(FileAdvice::Sequential),
            Operation::Advise(FileAdvice::Random),
            Operation::Advise(FileAdvice::WillNeed),
            Operation::Advise(FileAdvice::DontNeed),
            Operation::Sync,
            Operation::Discard,
            Operation::Prefetch(Decided::default()),
        ];
        for one in all {
            assert_eq!(operation(word(one).as_bytes()), Some(one));
        }
    }
}
