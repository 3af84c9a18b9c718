//! The files of a trace: names in the order of first mention, sizes where the trace says them.
//!
//! Names are bytes, as Linux has them. A trace is input from outside, so the table has a limit on
//! names and on their bytes: whoever feeds it a name per record gets an error, not a full machine.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::access::FileRef;

/// Most bytes of one name: `PATH_MAX`, and what a trace writes around it.
pub const NAME_BYTES_MAX: usize = 4352;

/// How much a table takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamesLimit {
    /// Most files.
    pub files: usize,
    /// Most bytes of all names together.
    pub name_bytes: usize,
}

/// For traces that are read. One of a billion reads has some thousand names; one with more than this is
/// damaged, or numbers its objects and belongs into one file with offsets.
impl Default for NamesLimit {
    fn default() -> Self {
        Self {
            files: 1 << 26,
            name_bytes: 1 << 30,
        }
    }
}

/// What is known of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: Name,
    size: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    /// A number, where a format numbers its files: a tenth of the memory of a text.
    Number(u64),
    /// The same bytes as in the look-up.
    Text(Arc<[u8]>),
}

/// There are more files, or longer names, than a table takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FullError {
    /// One name.
    #[error("a file name of {0} bytes; the longest that Linux has is 4096")]
    Name(usize),
    /// All together.
    #[error("more than {} files, or more than {} MiB of file names", .0.files, .0.name_bytes >> 20)]
    Table(NamesLimit),
}

/// The files of a trace.
#[derive(Clone, Debug, Default)]
pub struct FileNames {
    entries: Vec<Entry>,
    // Every record is a look-up, and nothing depends on the order of these.
    numbers: HashMap<u64, FileRef, ahash::RandomState>,
    texts: HashMap<Arc<[u8]>, FileRef, ahash::RandomState>,
    text_bytes: usize,
    limit: NamesLimit,
    newest: Option<FileRef>,
}

impl FileNames {
    /// An empty table that takes so much.
    #[must_use]
    pub fn with_limit(limit: NamesLimit) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no file was mentioned yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All files, in order.
    pub fn iter(&self) -> impl Iterator<Item = FileRef> + use<> {
        let end = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        (0..end).map(FileRef)
    }

    /// The file called `name`; a new one when the name is new.
    ///
    /// # Errors
    /// The name is too long, or the table full.
    pub fn named(&mut self, name: &[u8]) -> Result<FileRef, FullError> {
        // Most records name the file of the record before.
        if let Some(file) = self.newest
            && matches!(&self.entries[file.index()].name, Name::Text(text) if &**text == name)
        {
            return Ok(file);
        }
        let file = match self.texts.get(name) {
            Some(file) => *file,
            None => self.add_text(name)?,
        };
        self.newest = Some(file);
        Ok(file)
    }

    fn add_text(&mut self, name: &[u8]) -> Result<FileRef, FullError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(FullError::Name(name.len()));
        }
        if self.text_bytes + name.len() > self.limit.name_bytes {
            return Err(FullError::Table(self.limit));
        }
        let text: Arc<[u8]> = name.into();
        let file = self.add(Name::Text(Arc::clone(&text)))?;
        self.text_bytes += name.len();
        self.texts.insert(text, file);
        Ok(file)
    }

    /// The file with this number, in formats that number their files.
    ///
    /// # Errors
    /// The table is full.
    pub fn numbered(&mut self, number: u64) -> Result<FileRef, FullError> {
        if let Some(file) = self.numbers.get(&number) {
            return Ok(*file);
        }
        let file = self.add(Name::Number(number))?;
        self.numbers.insert(number, file);
        Ok(file)
    }

    fn add(&mut self, name: Name) -> Result<FileRef, FullError> {
        if self.entries.len() >= self.limit.files {
            return Err(FullError::Table(self.limit));
        }
        let place = u32::try_from(self.entries.len()).map_err(|_| FullError::Table(self.limit))?;
        self.entries.push(Entry { name, size: None });
        Ok(FileRef(place))
    }

    /// The bytes of the name. Empty for a file that is not of this table.
    #[must_use]
    pub fn name(&self, file: FileRef) -> Cow<'_, [u8]> {
        match self.entries.get(file.index()).map(|entry| &entry.name) {
            Some(Name::Text(text)) => Cow::Borrowed(text),
            Some(Name::Number(number)) => Cow::Owned(number.to_string().into_bytes()),
            None => Cow::Borrowed(b""),
        }
    }

    /// The number, where the format numbers its files or the name is one.
    #[must_use]
    pub fn number(&self, file: FileRef) -> Option<u64> {
        match &self.entries.get(file.index())?.name {
            Name::Number(number) => Some(*number),
            Name::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        }
    }

    /// The size in bytes, where the trace says it.
    #[must_use]
    pub fn size(&self, file: FileRef) -> Option<u64> {
        self.entries.get(file.index())?.size
    }

    /// The trace says a size. The largest one counts: a file that grows was that large at its end.
    pub fn set_size(&mut self, file: FileRef, bytes: u64) {
        if let Some(entry) = self.entries.get_mut(file.index()) {
            entry.size = Some(entry.size.map_or(bytes, |known| known.max(bytes)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_file_however_often_it_comes() {
        let mut files = FileNames::default();
        let first = files.named(b"a").expect("it fits");
        let other = files.named(b"b\xff").expect("it fits");
        assert_eq!(files.named(b"a"), Ok(first));
        assert_eq!(files.named(b"b\xff"), Ok(other));
        assert_eq!(&*files.name(other), b"b\xff");
        assert_eq!(files.len(), 2);
    }

    #[test]
    fn a_numbered_file_is_called_by_its_number() {
        let mut files = FileNames::default();
        let file = files.numbered(u64::MAX).expect("it fits");
        assert_eq!(&*files.name(file), b"18446744073709551615");
        assert_eq!(files.number(file), Some(u64::MAX));
    }

    #[test]
    fn a_name_that_no_file_can_have_is_refused() {
        let mut files = FileNames::default();
        assert_eq!(files.named(&vec![b'a'; 5000]), Err(FullError::Name(5000)));
        assert!(files.is_empty());
    }

    #[test]
    fn a_full_table_takes_no_new_file_and_still_knows_the_others() {
        let limit = NamesLimit {
            files: 3,
            name_bytes: 4,
        };
        let mut files = FileNames::with_limit(limit);
        let first = files.named(b"abc").expect("it fits");
        let full = Err(FullError::Table(limit));
        assert_eq!(files.named(b"de"), full, "bytes of names");
        files.numbered(1).expect("it fits");
        files.named(b"f").expect("it fits");
        assert_eq!(files.named(b""), full, "files");
        assert_eq!(files.numbered(2), full, "files");
        assert_eq!((files.named(b"abc"), files.len()), (Ok(first), 3));
        let text = FullError::Table(NamesLimit::default()).to_string();
        assert_eq!(
            text,
            "more than 67108864 files, or more than 1024 MiB of file names"
        );
    }

    #[test]
    fn the_largest_size_that_was_told_counts() {
        let mut files = FileNames::default();
        let file = files.named(b"a").expect("it fits");
        assert_eq!(files.size(file), None);
        files.set_size(file, 10);
        files.set_size(file, 4);
        assert_eq!(files.size(file), Some(10));
    }
}
