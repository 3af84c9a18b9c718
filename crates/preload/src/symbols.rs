//! Where a function lives in the libraries behind this one: `dlsym(RTLD_NEXT, …)` without its lock.
//!
//! Functions are looked up on their first call, so the lookup may run anywhere: in a signal
//! handler, in the child of a `fork` of a program with threads, inside an allocator that is not
//! set up yet, or in a thread that the constructor of a library waits for while the loader's lock
//! is held. `dlsym` takes that lock and would wait for ever in three of these cases. So the tables
//! are read here: the chain of loaded objects from our own on, and in each one the hash table of
//! its symbols. What the loader mapped at the start stays as it is until the process ends, and the
//! walk ends at the C library, before anything that can be unloaded.
//!
//! Where something looks unlike what the GNU loader makes (an object without the GNU hash table, a
//! symbol that stands for a choice between functions, a library that was not preloaded), `dlsym`
//! is asked after all.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::addr_of;

/// The address of the function `name` in the objects after this one; null when none has it.
#[cold]
pub(crate) fn next(name: &CStr) -> *mut c_void {
    match walk(name) {
        Found::Here(address) => address,
        // SAFETY: `name` is a C string, and RTLD_NEXT is valid from any loaded object.
        Found::AskTheLoader => unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) },
    }
}

enum Found {
    Here(*mut c_void),
    AskTheLoader,
}

/// The public head of the loader's `struct link_map`.
#[repr(C)]
struct LoadedObject {
    base: usize,
    name: *const c_char,
    dynamic: *const DynamicEntry,
    next: *const LoadedObject,
}

/// The head of the loader's `struct r_debug`.
#[repr(C)]
struct LoaderFacts {
    version: i32,
    first: *const LoadedObject,
}

#[repr(C)]
struct DynamicEntry {
    tag: isize,
    value: usize,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

unsafe extern "C" {
    static _r_debug: LoaderFacts;
    static _DYNAMIC: DynamicEntry;
}

const TAG_HASH: isize = 4;
const TAG_STRINGS: isize = 5;
const TAG_SYMBOLS: isize = 6;
const TAG_GNU_HASH: isize = 0x6fff_fef5;
const TAG_VERSIONS: isize = 0x6fff_fff0;

/// Set in the version of a symbol that only programs linked long ago want.
const VERSION_HIDDEN: u16 = 0x8000;

const KIND_FUNCTION: u8 = 2;
const KIND_NONE: u8 = 0;

/// The tables of one object.
struct Tables {
    base: usize,
    strings: *const c_char,
    symbols: *const Symbol,
    hash: *const u32,
    versions: *const u16,
}

fn walk(name: &CStr) -> Found {
    if cfg!(not(target_pointer_width = "64")) {
        return Found::AskTheLoader;
    }
    let hash = gnu_hash(name);
    // SAFETY: the loader defines this for the life of the process.
    let mut object = unsafe { addr_of!(_r_debug.first).read_volatile() };
    let mut is_behind_us = false;
    // SAFETY: the chain of objects that were loaded at the start never changes, and the walk does
    // not go beyond those: it ends at the C library.
    while let Some(seen) = unsafe { object.as_ref() } {
        if is_behind_us {
            // SAFETY: an object that the loader has mapped, with its dynamic section.
            let Some(tables) = (unsafe { tables(seen) }) else {
                return Found::AskTheLoader;
            };
            // SAFETY: the tables of a loaded object.
            match unsafe { look_up(&tables, name, hash) } {
                Some(Found::AskTheLoader) => return Found::AskTheLoader,
                Some(found) => return found,
                None => {}
            }
            // SAFETY: the loader keeps the name of an object as long as the object.
            if unsafe { is_c_library(seen.name) } {
                return Found::AskTheLoader;
            }
        } else if std::ptr::eq(seen.dynamic, addr_of!(_DYNAMIC)) {
            is_behind_us = true;
        }
        // SAFETY: a field of a loaded object; another thread may append to the chain meanwhile.
        object = unsafe { addr_of!((*object).next).read_volatile() };
    }
    Found::AskTheLoader
}

/// # Safety
/// `name` is null or a C string.
unsafe fn is_c_library(name: *const c_char) -> bool {
    // SAFETY: by this function's own condition.
    !name.is_null()
        && unsafe { CStr::from_ptr(name) }
            .to_bytes()
            .ends_with(b"/libc.so.6")
}

/// The tables of `object`; `None` when it has no symbols to be searched by the GNU hash.
///
/// # Safety
/// `object` must be loaded.
unsafe fn tables(object: &LoadedObject) -> Option<Tables> {
    let mut found = [0_usize; 4];
    let mut has_other_hash = false;
    let mut entry = object.dynamic;
    // SAFETY: the dynamic section ends with an entry of tag 0.
    while let Some(DynamicEntry { tag, value }) = unsafe { entry.as_ref() } {
        // The loader has added the base already, except where the section is read-only.
        let address = if *value < object.base {
            object.base + value
        } else {
            *value
        };
        match *tag {
            0 => break,
            TAG_STRINGS => found[0] = address,
            TAG_SYMBOLS => found[1] = address,
            TAG_GNU_HASH => found[2] = address,
            TAG_VERSIONS => found[3] = address,
            TAG_HASH => has_other_hash = true,
            _ => {}
        }
        // SAFETY: not the last entry.
        entry = unsafe { entry.add(1) };
    }
    let [strings, symbols, hash, versions] = found;
    if strings == 0 || symbols == 0 || (hash == 0 && has_other_hash) {
        return None;
    }
    Some(Tables {
        base: object.base,
        strings: std::ptr::with_exposed_provenance(strings),
        symbols: std::ptr::with_exposed_provenance(symbols),
        hash: std::ptr::with_exposed_provenance(hash),
        versions: std::ptr::with_exposed_provenance(versions),
    })
}

fn gnu_hash(name: &CStr) -> u32 {
    name.to_bytes().iter().fold(5381, |hash: u32, byte| {
        hash.wrapping_mul(33).wrapping_add(u32::from(*byte))
    })
}

/// # Safety
/// `tables` must be those of a loaded object.
unsafe fn look_up(tables: &Tables, name: &CStr, hash: u32) -> Option<Found> {
    if tables.hash.is_null() {
        return None;
    }
    let index = |number: u32| usize::try_from(number).unwrap_or(0);
    // SAFETY: the table begins with four words, then the filter, the buckets and the chains, as
    // long as these words say; the symbol table has an entry for each chain word.
    unsafe {
        let word = |at: usize| tables.hash.add(at).read();
        let (buckets, first) = (index(word(0)), index(word(1)));
        let (filters, shift) = (index(word(2)), word(3));
        if buckets == 0 || filters == 0 {
            return None;
        }
        let filter = tables.hash.add(4).cast::<u64>();
        let bits = filter.add(index(hash / 64) % filters).read_unaligned();
        if bits >> (hash % 64) & bits >> ((hash >> shift) % 64) & 1 == 0 {
            return None;
        }
        let bucket = 4 + filters * 2;
        let chain = bucket + buckets;
        let mut number = index(word(bucket + index(hash) % buckets));
        if number < first {
            return None;
        }
        loop {
            let link = word(chain + number - first);
            let symbol = &*tables.symbols.add(number);
            if link | 1 == hash | 1
                && symbol.section != 0
                && is_default(tables, number)
                && CStr::from_ptr(tables.strings.add(index(symbol.name))) == name
            {
                return Some(address_of(tables, symbol));
            }
            if link & 1 == 1 {
                return None;
            }
            number += 1;
        }
    }
}

/// # Safety
/// `number` must be that of a symbol in `tables`.
unsafe fn is_default(tables: &Tables, number: usize) -> bool {
    // SAFETY: the table of versions has an entry for each symbol.
    tables.versions.is_null() || unsafe { tables.versions.add(number).read() } & VERSION_HIDDEN == 0
}

fn address_of(tables: &Tables, symbol: &Symbol) -> Found {
    match symbol.info & 0xf {
        KIND_FUNCTION | KIND_NONE if symbol.value != 0 => Found::Here(
            std::ptr::with_exposed_provenance_mut(tables.base.wrapping_add(symbol.value)),
        ),
        _ => Found::AskTheLoader,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test program is the first object, so what it finds is what `dlsym` finds behind it.
    #[test]
    fn the_walk_finds_what_the_loader_finds() {
        for name in [
            c"read",
            c"fopen",
            c"__getdelim",
            c"preadv64v2",
            c"close_range",
            c"fgets_unlocked",
            c"posix_fadvise64",
            c"pclose",
            c"fsetpos",
            c"prctl",
        ] {
            // SAFETY: a C string.
            let expected = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
            assert!(!expected.is_null(), "{name:?}");
            match walk(name) {
                Found::Here(address) => assert_eq!(address, expected, "{name:?}"),
                Found::AskTheLoader => panic!("{name:?} was not found in the tables"),
            }
        }
    }

    #[test]
    fn a_name_that_no_library_has_is_null() {
        assert!(next(c"no_library_has_this_name").is_null());
    }

    /// `memchr` has several bodies, and the loader chooses: its symbol is not a function.
    #[test]
    fn a_choice_between_functions_is_left_to_the_loader() {
        assert!(matches!(walk(c"memchr"), Found::AskTheLoader));
        assert!(!next(c"memchr").is_null());
    }
}
