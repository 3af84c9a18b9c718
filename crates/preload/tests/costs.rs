//! What being there costs: system calls, libraries, instructions. Counts, the same in every run.

mod common;

use ahead_engine::settings::Settings;
use common::{build, folder, library, succeed, with_library};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// System calls that the loader makes for one more library: to open it, read its head, ask for its
/// length, map its three parts and memory behind the last one, close it.
const CALLS_TO_LOAD: u64 = 8;

/// Instructions that a call may cost that the buffer of a stream can serve.
const INSTRUCTIONS_MAX: f64 = 15.0;
/// The same for a line of any length: whether it was served is known only afterwards.
const INSTRUCTIONS_MAX_OF_A_LINE: f64 = 25.0;

/// The number in the last line: what stands before it is the program's.
fn number(text: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(text);
    let last = text.trim().lines().last().unwrap_or_default();
    last.trim().parse().expect("a number")
}

/// `counter`, which may have the library too: the program is counted from its own beginning on.
fn counting(counter: impl AsRef<OsStr>, is_with_library: bool) -> Command {
    let mut command = if is_with_library {
        with_library(counter)
    } else {
        Command::new(counter)
    };
    // Being counted makes a call take longer than a device: none of them is a wait.
    let settings = Settings {
        wait_us: 10_000_000,
        ..Settings::default()
    };
    command.env("AHEAD_SETTINGS", settings.to_environment());
    command
}

fn system_calls(counter: &Path, program: &[&str], is_with_library: bool) -> u64 {
    let mut command = counting(counter, is_with_library);
    // Cargo's folders of libraries would be searched.
    command.args(program).env_remove("LD_LIBRARY_PATH");
    number(&succeed(&mut command).stdout)
}

/// Most programs that are started under `ahead run` are over at once.
#[test]
fn a_program_that_does_not_wait_pays_for_loading_the_library_and_nothing_else() {
    let folder = folder();
    let counter = build(folder.path(), "count");
    for program in [
        &["/bin/true"][..],
        &["/bin/cat", "/proc/version"],
        &["/bin/sh", "-c", ":"],
    ] {
        let without = system_calls(&counter, program, false);
        let with = system_calls(&counter, program, true);
        println!("{program:?}: {without} system calls, {with} with the library");
        assert!(
            with <= without + CALLS_TO_LOAD,
            "{program:?}: {with}, {without} without"
        );
    }
}

/// Each file was looked at before its first read, as if there were an account to write that into.
#[test]
fn without_the_account_that_it_was_told_of_a_process_looks_at_no_file() {
    let folder = folder();
    let counter = build(folder.path(), "count");
    let files: Vec<_> = (0..100)
        .map(|number| {
            let path = folder.path().join(format!("file{number}"));
            std::fs::write(&path, "text\n").expect("a file");
            path
        })
        .collect();
    let count = |account: Option<&str>| {
        let mut command = counting(&counter, true);
        command
            .arg("/bin/cat")
            .args(&files)
            .env_remove("LD_LIBRARY_PATH");
        if let Some(account) = account {
            command.env("AHEAD_SHARED", account);
        }
        number(&succeed(&mut command).stdout)
    };
    let (without, missing) = (count(None), count(Some("/no/account")));
    println!("{without} system calls, {missing} where there should be an account");
    assert!(missing < without + 200, "{missing}, {without} without");
}

fn instructions(folder: &Path, program: &Path, arguments: &[&str], is_with_library: bool) -> u64 {
    let mut command = counting("valgrind", is_with_library);
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .current_dir(folder);
    let output = succeed(&mut command);
    let text = String::from_utf8_lossy(&output.stderr);
    let total = text
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let (_, total) = total.unwrap_or_else(|| panic!("callgrind counts: {text}"));
    number(total.as_bytes())
}

/// Two lengths are compared, with and without, so that everything else cancels out.
#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code: run with --release")]
fn a_call_that_the_buffer_of_a_stream_can_serve_costs_a_few_instructions() {
    let folder = folder();
    let program = build(folder.path(), "served");
    let (few, many) = (10_000, 60_000);
    for kind in ["getc", "fgets", "getline", "fread"] {
        let per_call = |is_with_library| {
            let total = |calls: u64| {
                let arguments = [kind, &calls.to_string()];
                instructions(folder.path(), &program, &arguments, is_with_library)
            };
            (total(many) - total(few)) as f64 / (many - few) as f64
        };
        let cost = per_call(true) - per_call(false);
        println!("{kind}: {cost:.1} instructions");
        let most = match kind {
            "getline" => INSTRUCTIONS_MAX_OF_A_LINE,
            _ => INSTRUCTIONS_MAX,
        };
        assert!(cost <= most, "{kind}: {cost:.1}");
    }
}

/// The unwinder of the program and ours need not be of the same version: so a thread that is
/// cancelled inside a real call must find nothing of ours to be cleaned up.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "looks at optimised code: run with --release"
)]
fn no_hook_has_anything_to_clean_up() {
    let symbols = succeed(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(library()),
    );
    let frames = succeed(Command::new("objdump").arg("--dwarf=frames").arg(library()));
    let frames = String::from_utf8_lossy(&frames.stdout);
    // `OFFSET LENGTH ID CIE`, then its augmentation; `OFFSET LENGTH ID FDE cie=OFFSET pc=FROM..TO`.
    let (mut cleaning, mut common) = (Vec::new(), String::new());
    let mut checked = 0;
    let hooks: Vec<(u64, String)> = String::from_utf8_lossy(&symbols.stdout)
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((address, words.nth(1)?.to_owned()))
        })
        .collect();
    for line in frames.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.get(3) == Some(&"CIE") {
            common = words[0].to_owned();
        } else if words.first() == Some(&"Augmentation:") && words[1].contains('P') {
            cleaning.push(std::mem::take(&mut common));
        } else if words.get(3) == Some(&"FDE") {
            let cie = words[4].trim_start_matches("cie=");
            let from = words[5].trim_start_matches("pc=");
            let from = from.split("..").next().unwrap_or_default();
            let from = u64::from_str_radix(from, 16).expect("an address");
            for (_, name) in hooks.iter().filter(|(address, _)| *address == from) {
                checked += 1;
                assert!(!cleaning.iter().any(|of| of == cie), "{name} has clean-up");
            }
        }
    }
    assert!(checked > 60, "only {checked} hooks were found");
}

/// Whatever else the library exported would replace a function of the same name in a program.
#[test]
fn only_functions_of_the_c_library_are_exported() {
    let output = succeed(
        Command::new("nm")
            .args(["-D", "--defined-only"])
            .arg(library()),
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let names: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(2))
        .collect();
    assert!(names.contains(&"read") && names.contains(&"getline"));
    for name in names {
        let name_c = std::ffi::CString::new(name).expect("a name without zeros");
        // The test program does not link the library, so this finds the C library's own.
        assert!(
            c_library_has(&name_c),
            "{name} is exported, but is no function of the C library"
        );
    }
}

#[expect(unsafe_code, reason = "asks the loader for an address")]
fn c_library_has(name: &std::ffi::CStr) -> bool {
    // SAFETY: the name is a C string, and the address is not used.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.is_null()
}

/// The oldest C library that has all that is needed: that of RHEL 9. With an older one the loader ends every program.
const C_LIBRARY_VERSION: (u32, u32) = (2, 34);

/// `_dl_find_object`, which the unwinder asks for, is of 2.35.
#[test]
fn a_c_library_of_2021_has_all_that_is_needed() {
    let output = succeed(Command::new("objdump").arg("-p").arg(library()));
    let text = String::from_utf8_lossy(&output.stdout);
    let needed: Vec<(u32, u32)> = text
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("GLIBC_"))
        .map(|version| {
            let mut numbers = version
                .split('.')
                .map(|number| number.parse().expect("a number"));
            (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
        })
        .collect();
    assert!(!needed.is_empty());
    let newest = needed.into_iter().max();
    assert!(newest <= Some(C_LIBRARY_VERSION), "{newest:?}");
}

#[test]
fn nothing_is_needed_but_the_c_library() {
    let output = succeed(Command::new("objdump").arg("-p").arg(library()));
    let text = String::from_utf8_lossy(&output.stdout);
    for line in text.lines().filter(|line| line.contains("NEEDED")) {
        let is_known = ["libc.so", "ld-linux"]
            .iter()
            .any(|known| line.contains(known));
        assert!(is_known, "unexpected: {line}");
    }
}
