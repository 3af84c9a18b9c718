//! The socket by which the daemon is asked about itself.
//!
//! A line with the version comes in (`{"version":1}`), one JSON text ([`DaemonStatus`]) goes out, and the connection
//! ends. Root is told all; others hear of files that their own processes read. Who asks is what the kernel says of the
//! other end. One thread answers one asker after another and gives each a second; what an answer is made of comes from
//! the daemon's own loop, which never waits for an asker.

use std::fs::{self, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::status::{DaemonStatus, STATUS_VERSION};

/// Where it is: not in `/run/ahead`, which only root may look into.
pub const SOCKET: &str = "/run/ahead-daemon.sock";

/// How long an asker may take, and an answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Longest question that is read.
const QUESTION_BYTES_MAX: u64 = 256;

/// Longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    version: u32,
}

/// A question, to be answered by the loop.
#[derive(Debug)]
pub struct Asked {
    /// The user who asks.
    pub user: u32,
    answer: SyncSender<DaemonStatus>,
}

impl Asked {
    /// Answers it. An asker that has gone is none.
    pub fn answer(&self, status: DaemonStatus) {
        let _ = self.answer.try_send(status);
    }
}

/// The socket, until it is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    asked: Receiver<Asked>,
}

impl ControlSocket {
    /// Opens the socket at `path`. What a daemon that was killed left there is replaced: whether one runs is known
    /// before.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o666))?;
        let (sender, asked) = channel();
        thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || serve(&listener, &sender))?;
        Ok(Self {
            path: path.to_owned(),
            asked,
        })
    }

    /// The next question, if there is one.
    #[must_use]
    pub fn next(&self) -> Option<Asked> {
        self.asked.try_recv().ok()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn serve(listener: &UnixListener, asked: &Sender<Asked>) {
    for connection in listener.incoming() {
        // An asker that does not ask, or goes away, is none.
        let _ = connection.and_then(|connection| serve_one(connection, asked));
    }
}

fn serve_one(mut connection: UnixStream, asked: &Sender<Asked>) -> io::Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    let user = rustix::net::sockopt::socket_peercred(&connection)?
        .uid
        .as_raw();
    let mut line = String::new();
    BufReader::new(&connection)
        .take(QUESTION_BYTES_MAX)
        .read_line(&mut line)?;
    if !is_question(&line) {
        let refused = format!("{{\"version\":{STATUS_VERSION}}}\n");
        return connection.write_all(refused.as_bytes());
    }
    let (answer, answered) = sync_channel(1);
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    asked.send(Asked { user, answer }).map_err(gone)?;
    let status = answered
        .recv_timeout(PATIENCE)
        .map_err(|_| io::ErrorKind::TimedOut)?;
    connection.write_all(&serde_json::to_vec(&status)?)
}

fn is_question(line: &str) -> bool {
    serde_json::from_str::<Question>(line).is_ok_and(|question| question.version == STATUS_VERSION)
}

/// Asks the daemon at `path`.
///
/// # Errors
/// `NotFound` or `ConnectionRefused` when none runs; `InvalidData` when it speaks another version.
pub fn ask(path: &Path) -> io::Result<DaemonStatus> {
    let mut connection = UnixStream::connect(path)?;
    connection.set_read_timeout(Some(PATIENCE * 4))?;
    let question = Question {
        version: STATUS_VERSION,
    };
    let mut line = serde_json::to_vec(&question)?;
    line.push(b'\n');
    connection.write_all(&line)?;
    let mut text = Vec::new();
    connection.take(ANSWER_BYTES_MAX).read_to_end(&mut text)?;
    let status: DaemonStatus =
        serde_json::from_slice(&text).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> DaemonStatus {
        DaemonStatus {
            version: STATUS_VERSION,
            process: 7,
            mode: "full".to_owned(),
            facts: 1,
            misses: 2,
            decisions: 3,
            calls: 4,
            facts_lost: 5,
            watched: 6,
            narrowed: 7,
            unread_pages: 8,
            files: Vec::new(),
        }
    }

    #[test]
    fn who_asks_is_known_and_answered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run/daemon.sock");
        let socket = ControlSocket::open(&path).unwrap();
        let asker = thread::spawn({
            let path = path.clone();
            move || ask(&path)
        });
        let asked = socket.asked.recv().unwrap();
        assert_eq!(asked.user, rustix::process::geteuid().as_raw());
        asked.answer(status());
        assert_eq!(asker.join().unwrap().unwrap(), status());
        drop(socket);
        assert_eq!(ask(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_question_ends_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daemon.sock");
        let socket = ControlSocket::open(&path).unwrap();
        let long = format!("{{\"version\":1, \"x\":\"{}\"}}\n", "y".repeat(300));
        for text in [
            "\n",
            "{\"version\":2}\n",
            "{\"version\":1,\"more\":1}\n",
            &long,
        ] {
            let mut connection = UnixStream::connect(&path).unwrap();
            connection.write_all(text.as_bytes()).unwrap();
            let mut said = String::new();
            // The rest of a long one may be refused.
            let _ = connection.read_to_string(&mut said);
            assert!(socket.next().is_none(), "{text}");
        }
        assert!(!is_question("") && is_question("{\"version\":1}"));
    }
}
