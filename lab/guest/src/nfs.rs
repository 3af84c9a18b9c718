//! A folder of the guest, served by the guest's own kernel and mounted by it over the loopback.
//!
//! Version 3 over TCP, as the kernel's client and server speak it, without a program of the machine.
//! What `exportfs` and `rpc.mountd` would write to the server's caches is written here, once and for
//! ever. A server of version 3 registers itself, and a client asks for the first file handle; both
//! calls are answered by a thread of the first process ([`answer`]). Locks are the client's own.
//!
//! ```text
//! command ──► NFS client ──127.0.0.1:2049──► knfsd ──► ext4 on the modelled disk
//!             page cache,                              page cache,
//!             read-ahead                               read-ahead
//! ```

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use ahead_sys::loopback;
use rustix::mount::{MountFlags, mount};

/// The port of `rpcbind`, at which the kernel registers a server.
const PORT: u16 = 111;
/// The server's clients, all with this address, as a name.
const CLIENTS: &str = "127.0.0.1";
/// 2038, which is far behind the end of every guest.
const FOR_EVER: &str = "2147483647";
/// `NFSEXP_INSECURE_PORT`, `NFSEXP_NOSUBTREECHECK` and `NFSEXP_FSID`: writable, and a superuser is one.
const EXPORT_FLAGS: u32 = 0x2 | 0x400 | 0x2000;
/// The largest read, as a server with 4 GiB of memory or more offers it; the kernel offers less where it
/// has less.
const READ_BYTES_MAX: u64 = 1 << 20;
/// The kernel's own default.
const THREADS: u32 = 8;

/// Programs of remote calls, their procedures and their answers.
const PROGRAM_RPCBIND: u32 = 100_000;
const PROGRAM_MOUNT: u32 = 100_005;
const PROCEDURE_NULL: u32 = 0;
const PROCEDURE_MOUNT: u32 = 1;
const REPLY: u32 = 1;
const AUTH_UNIX: u32 = 1;
/// A message is one fragment, the last one.
const LAST_FRAGMENT: u32 = 1 << 31;
/// No call that comes here is longer.
const CALL_BYTES_MAX: u32 = 1 << 16;

/// Serves the folder `exported`, on which a disk is mounted, and mounts it at `folder`. The server
/// serves until the guest's end.
pub(crate) fn serve_and_mount(exported: &str, folder: &str) -> Result<(), String> {
    loopback::switch_on().map_err(|error| format!("cannot switch on the loopback: {error}"))?;
    let server = "/proc/fs/nfsd";
    mount(c"nfsd", server, c"nfsd", MountFlags::empty(), c"")
        .map_err(|error| format!("cannot mount {server}: {error}"))?;
    let handle = export(exported)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))
        .map_err(|error| format!("cannot listen at port {PORT}: {error}"))?;
    thread::spawn(move || serve(&listener, &handle));
    for (file, text) in [
        ("max_block_size", READ_BYTES_MAX.to_string()),
        ("portlist", "tcp 2049\n".to_owned()),
        ("threads", THREADS.to_string()),
    ] {
        write(&format!("{server}/{file}"), &text)?;
    }
    let options = format!(
        "vers=3,proto=tcp,addr={CLIENTS},port=2049,mountproto=tcp,mountaddr={CLIENTS},mountport={PORT},\
         nolock"
    );
    let options = std::ffi::CString::new(options).unwrap_or_default();
    let source = format!("{CLIENTS}:{exported}");
    mount(source, folder, c"nfs", MountFlags::NOATIME, &*options)
        .map_err(|error| format!("cannot mount what the guest serves: {error}"))
}

/// Tells the server who may read `folder`; its file handle.
fn export(folder: &str) -> Result<Vec<u8>, String> {
    let caches = "/proc/net/rpc";
    for (cache, line) in [
        (
            "auth.unix.ip",
            format!("nfsd {CLIENTS} {FOR_EVER} {CLIENTS}\n"),
        ),
        (
            "nfsd.export",
            format!("{CLIENTS} {folder} {FOR_EVER} {EXPORT_FLAGS} 65534 65534 1\n"),
        ),
        // File handles begin with the number 1 of the export, which is its kind 1 of a name.
        (
            "nfsd.fh",
            format!("{CLIENTS} 1 \\x01000000 {FOR_EVER} {folder}\n"),
        ),
    ] {
        write(&format!("{caches}/{cache}/channel"), &line)?;
    }
    let path = "/proc/fs/nfsd/filehandle";
    let asked = || -> io::Result<String> {
        // The answer belongs to the descriptor.
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        file.write_all(format!("{CLIENTS} {folder} 64\n").as_bytes())?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(text)
    };
    let text = asked().map_err(|error| format!("{path}: {error}"))?;
    from_hexadecimal(&text).ok_or_else(|| format!("{path}: {text}"))
}

/// `\x0100…`, as the kernel writes bytes.
fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim().strip_prefix("\\x")?;
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}

/// One call, as caches take a line.
fn write(path: &str, text: &str) -> Result<(), String> {
    fs::write(Path::new(path), text).map_err(|error| format!("{path}: {error}"))
}

/// Answers each caller in a thread of its own, until the guest's end.
fn serve(listener: &TcpListener, handle: &[u8]) {
    thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            // A caller that goes away has its answer.
            scope.spawn(move || while answer_one(&stream, handle).is_ok() {});
        }
    });
}

fn answer_one(mut stream: &TcpStream, handle: &[u8]) -> io::Result<()> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let bytes = u32::from_be_bytes(header) & !LAST_FRAGMENT;
    if bytes > CALL_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut call = vec![0; bytes as usize];
    stream.read_exact(&mut call)?;
    let answer = answer(&call, handle).ok_or(io::ErrorKind::InvalidData)?;
    let bytes = u32::try_from(answer.len()).map_err(io::Error::other)?;
    let header = (LAST_FRAGMENT | bytes).to_be_bytes();
    stream.write_all(&[&header[..], &answer].concat())
}

/// The answer to a remote call: yes to everything that is to be registered, `handle` to who mounts.
/// `None`: the call is cut off.
fn answer(call: &[u8], handle: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| -> Option<u32> {
        let bytes = call.get(4 * at..4 * at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    // Number, kind, version of calls, program, its version, procedure.
    let (number, program, procedure) = (word(0)?, word(3)?, word(5)?);
    // Number, kind, accepted, no credentials (two words), done.
    let mut words = vec![number, REPLY, 0, 0, 0, 0];
    let mut answer: Vec<u8> = Vec::new();
    match (program, procedure) {
        (_, PROCEDURE_NULL) => {}
        (PROGRAM_RPCBIND, _) => words.push(1),
        (PROGRAM_MOUNT, PROCEDURE_MOUNT) => {
            words.extend([0, u32::try_from(handle.len()).ok()?]);
            answer.extend(handle);
            answer.resize(handle.len().next_multiple_of(4), 0);
            answer.extend([1, AUTH_UNIX].map(u32::to_be_bytes).as_flattened());
        }
        _ => {}
    }
    let mut all: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
    all.extend(answer);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(program: u32, procedure: u32) -> Vec<u8> {
        let words = [7, 0, 2, program, 3, procedure, 0, 0, 0, 0];
        words.into_iter().flat_map(u32::to_be_bytes).collect()
    }

    #[test]
    fn a_handle_is_read_as_the_kernel_writes_it() {
        assert_eq!(from_hexadecimal("\\x01ff00\n"), Some(vec![1, 255, 0]));
        assert_eq!(from_hexadecimal("\\x01f"), None);
        assert_eq!(from_hexadecimal("no"), None);
    }

    #[test]
    fn who_mounts_gets_the_handle_in_whole_words() {
        let answer = answer(&call(PROGRAM_MOUNT, PROCEDURE_MOUNT), &[9; 5]).unwrap();
        let words: Vec<_> = answer.chunks_exact(4).collect();
        assert_eq!(words.len(), 12);
        assert_eq!(words[0], [0, 0, 0, 7]);
        assert_eq!(words[7], [0, 0, 0, 5]);
        assert_eq!(words[8..10], [[9, 9, 9, 9], [9, 0, 0, 0]]);
        assert_eq!(words[11], [0, 0, 0, 1]);
    }

    #[test]
    fn everything_is_registered_and_what_is_cut_off_has_no_answer() {
        let yes = answer(&call(PROGRAM_RPCBIND, 1), &[]).unwrap();
        assert_eq!(yes.last(), Some(&1));
        assert_eq!(answer(&[0; 12], &[]), None);
    }
}
