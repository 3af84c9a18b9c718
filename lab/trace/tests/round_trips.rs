//! What is written is read back as it was, in every format that is written.

use std::io::Read;
use std::path::Path;

use ahead_trace::{
    Access, Decided, FileAdvice, FileNames, FileRef, Format, InMemory, Objects, OpenOptions,
    Operation, Reader, create, from_stream, open,
};
use proptest::prelude::*;

/// A record as a format without tables would have it: the name instead of the reference.
type Decoded = (Access, Vec<u8>, Option<u64>);

fn decoded(mut reader: impl Reader) -> Vec<Decoded> {
    let accesses: Vec<Access> = reader
        .by_ref()
        .map(|access| access.expect("sound"))
        .collect();
    accesses
        .into_iter()
        .map(|access| {
            let name = reader.files().name(access.file).into_owned();
            let size = reader.files().size(access.file);
            let nowhere = Access {
                file: FileRef(0),
                ..access
            };
            (nowhere, name, size)
        })
        .collect()
}

fn written_and_read(
    path: &Path,
    format: Format,
    objects: Objects,
    files: &FileNames,
    accesses: &[Access],
) -> Vec<Decoded> {
    let mut writer = create(path, format, objects).expect("can be created");
    for access in accesses {
        writer.write(access, files).expect("can be written");
    }
    let written = writer.finish(files).expect("can be finished");
    assert_eq!(written.left_out, 0);
    let options = OpenOptions {
        objects,
        ..OpenOptions::default()
    };
    decoded(open(path, &options).expect("is recognised"))
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => Just(Operation::Read),
        1 => Just(Operation::Write),
        1 => Just(Operation::Open),
        1 => Just(Operation::Close),
        1 => Just(Operation::Fault),
        1 => Just(Operation::Sync),
        1 => Just(Operation::Discard),
        1 => Just(Operation::Advise(FileAdvice::Random)),
        1 => Just(Operation::Advise(FileAdvice::DontNeed)),
        1 => (any::<u8>(), any::<u8>())
            .prop_map(|(pattern, reason)| Operation::Prefetch(Decided { pattern, reason })),
    ]
}

/// Numbers of every size.
fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift)
}

prop_compose! {
    fn access()(
        at_ns in number(), process: u32, thread: u32, file in 0_u32..4, operation in operation(),
        offset in number(), length in number(), duration_ns in prop::option::of(number()),
    ) -> Access {
        Access { at_ns, process, thread, file: FileRef(file), operation, offset, length, duration_ns }
    }
}

prop_compose! {
    /// Four files with any names and any sizes.
    fn table()(
        names in prop::collection::hash_set(prop::collection::vec(any::<u8>(), 1..20), 4),
        sizes in prop::collection::vec(prop::option::of(number()), 4),
    ) -> FileNames {
        let mut files = FileNames::default();
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort();
        for (name, size) in names.iter().zip(sizes) {
            let file = files.named(name).expect("it fits");
            if let Some(bytes) = size {
                files.set_size(file, bytes);
            }
        }
        files
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn our_own_tables_lose_nothing(
        files in table(),
        accesses in prop::collection::vec(access(), 0..40),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let expected = decoded(InMemory::new(files.clone(), accesses.clone()));
        for (name, format) in [
            ("t.csv", Format::Csv),
            ("t.csv.zst", Format::Csv),
            ("t.parquet", Format::Parquet),
        ] {
            let path = folder.path().join(name);
            let found = written_and_read(&path, format, Objects::default(), &files, &accesses);
            prop_assert_eq!(&found, &expected);
        }
    }

    /// A recording that died, a disk that was full, a copy that broke off.
    #[test]
    fn a_trace_that_is_cut_anywhere_gives_its_beginning(
        files in table(),
        accesses in prop::collection::vec(access(), 1..40),
        cut in 0_usize..100_000,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let accesses: Vec<_> = accesses
            .into_iter()
            .map(|access| Access::read(access.file, access.offset >> 16, access.length >> 44 | 1))
            .collect();
        for (format, objects) in [
            (Format::Csv, Objects::default()),
            (Format::OracleGeneral, Objects::Files),
        ] {
            let path = folder.path().join("t.oracleGeneral");
            let whole = written_and_read(&path, format, objects, &files, &accesses);
            let bytes = std::fs::read(&path).expect("readable");
            let cut = cut % (bytes.len() + 1);
            std::fs::write(&path, &bytes[..cut]).expect("writable");
            let options = OpenOptions { format: Some(format), objects, ..OpenOptions::default() };
            let mut reader = open(&path, &options).expect("can be opened");
            let mut kept = 0;
            let mut errors = 0;
            while let Some(access) = reader.next() {
                match access {
                    Ok(access) => {
                        prop_assert_eq!(errors, 0);
                        prop_assert_eq!(&*reader.files().name(access.file), &whole[kept].1[..]);
                        prop_assert_eq!(access.offset, whole[kept].0.offset);
                        prop_assert_eq!(access.length, whole[kept].0.length);
                        kept += 1;
                    }
                    Err(_) => errors += 1,
                }
            }
            let is_boundary = match format {
                Format::Csv => cut > 0 && bytes[cut - 1] == b'\n',
                _ => cut.is_multiple_of(24),
            };
            prop_assert_eq!(errors, u32::from(!is_boundary));
            let records = match format {
                Format::Csv => bytes[..cut].iter().filter(|byte| **byte == b'\n').count(),
                _ => cut / 24 + 1,
            };
            prop_assert_eq!(kept, records.saturating_sub(1));
        }
    }

    #[test]
    fn a_fio_log_keeps_files_ranges_and_microseconds(
        accesses in prop::collection::vec(access(), 1..40),
    ) {
        let mut files = FileNames::default();
        for name in ["/a", "/b", "/c", "/d"] {
            files.named(name.as_bytes()).expect("it fits");
        }
        // What fio's log can hold; each file is opened first, as a program does.
        let mut at_ns = 0;
        let mut kept: Vec<Access> = files
            .iter()
            .map(|file| Access { operation: Operation::Open, ..Access::read(file, 0, 0) })
            .collect();
        for access in accesses {
            at_ns += access.at_ns % 1_000_000 * 1000;
            let operation = match access.operation {
                Operation::Advise(_) | Operation::Prefetch(_) | Operation::Fault => Operation::Read,
                other => other,
            };
            let has_range = !matches!(operation, Operation::Open | Operation::Close);
            kept.push(Access {
                at_ns,
                operation,
                ..Access::read(
                    access.file,
                    if has_range { access.offset } else { 0 },
                    if has_range { access.length.max(1) } else { 0 },
                )
            });
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.log");
        let found = written_and_read(&path, Format::Fio, Objects::default(), &files, &kept);
        prop_assert_eq!(found, decoded(InMemory::new(files, kept)));
    }

    #[test]
    fn oracle_general_keeps_objects_and_seconds(
        objects in prop::collection::vec((number(), 1_u32.., 0_u64..1000), 0..40),
    ) {
        let mut files = FileNames::default();
        let mut accesses = Vec::new();
        let mut at_ns = 0;
        for (number, bytes, seconds) in objects {
            let file = files.numbered(number).expect("it fits");
            accesses.push(Access { at_ns, ..Access::read(file, 0, u64::from(bytes)) });
            files.set_size(file, u64::from(bytes));
            at_ns += seconds * 1_000_000_000;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let expected = decoded(InMemory::new(files.clone(), accesses.clone()));
        for name in ["t.oracleGeneral", "t.oracleGeneral.zst"] {
            let path = folder.path().join(name);
            let found =
                written_and_read(&path, Format::OracleGeneral, Objects::Files, &files, &accesses);
            prop_assert_eq!(&found, &expected);
        }
    }
}

#[test]
fn a_parquet_file_of_many_groups_is_read_to_its_end() {
    let mut files = FileNames::default();
    let file = files.named(b"/a").expect("it fits");
    let accesses: Vec<_> = (0..200_000)
        .map(|place| Access {
            at_ns: place,
            ..Access::read(file, place * 4096, 4096)
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("t.parquet");
    let found = written_and_read(
        &path,
        Format::Parquet,
        Objects::default(),
        &files,
        &accesses,
    );
    assert_eq!(found.len(), accesses.len());
    assert_eq!(found.last().map(|last| last.0), accesses.last().copied());
    let mut bytes = Vec::new();
    std::fs::File::open(&path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .expect("readable");
    assert!(
        bytes.len() < accesses.len() * 8,
        "packed: {} bytes",
        bytes.len()
    );
}

/// The index of Parquet stands at its end: packed, or from a pipe, it is read all the same.
#[test]
fn parquet_is_read_packed_and_from_a_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = folder.path().join("t.parquet");
    let mut files = FileNames::default();
    let file = files.named(b"/a").expect("it fits");
    let accesses: Vec<Access> = (0..100)
        .map(|page| Access::read(file, page << 12, 4096))
        .collect();
    for path in [&plain, &folder.path().join("t.parquet.zst")] {
        let mut writer = create(path, Format::Parquet, Objects::default()).expect("a file");
        for access in &accesses {
            writer.write(access, &files).expect("it fits");
        }
        writer.finish(&files).expect("it fits");
        let read = open(path, &OpenOptions::default()).expect("a trace");
        assert!(
            read.map(|access| access.expect("sound"))
                .eq(accesses.clone())
        );
    }
    let stream = std::fs::File::open(&plain).expect("our file");
    let read = from_stream("a pipe", stream, &OpenOptions::default()).expect("a trace");
    assert!(
        read.map(|access| access.expect("sound"))
            .eq(accesses.clone())
    );
    let packed = std::fs::read(folder.path().join("t.parquet.zst")).expect("our file");
    let cut = std::io::Cursor::new(packed[..packed.len() / 2].to_vec());
    let problem = from_stream("a pipe", cut, &OpenOptions::default())
        .map(|_| ())
        .unwrap_err();
    assert!(problem.to_string().contains("cut short"), "{problem}");
}

#[test]
fn an_empty_trace_is_a_trace() {
    let files = FileNames::default();
    let folder = tempfile::tempdir().expect("a folder");
    for format in [Format::Fio, Format::Csv, Format::Parquet] {
        let path = folder.path().join(format.name());
        let found = written_and_read(&path, format, Objects::default(), &files, &[]);
        assert!(found.is_empty());
    }
}
