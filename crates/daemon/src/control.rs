//! The socket by which the daemon is asked about itself.
//!
//! One [`Question`] comes in, one answer goes out, and the connection ends ([`protocol`](crate::protocol)). Root and the
//! members of the group [`GROUP`] are told all; others hear of files that their own processes read. Who asks is what
//! the kernel says of the other end, as it was when it connected. Each connection has a thread, and a second to ask in; a user has
//! a few connections at a time, and all users together some, so that no user keeps others from asking. What an answer is made of comes from the
//! daemon's own loop, which never waits for an asker.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ahead_sys::group_file::group_number;
use ahead_sys::peer_groups::peer_groups;

use crate::deadline::UntilDeadline;
use crate::protocol::{
    ANSWER_BYTES_MAX, AnswerError, QUESTION_BYTES_MAX, Question, Refusal, read_answer, write_answer,
};
use crate::status::DaemonStatus;

/// Where it is: in a folder of its own, as only root may look into `/run/ahead`.
pub const SOCKET: &str = "/run/ahead-daemon/control.sock";

/// Members of this group are told all, as root is. The machine need not have it.
pub const GROUP: &str = "ahead";

/// How long an asker may take, and an answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connections of one user at a time. More are closed at once.
const OF_ONE_USER_MAX: u32 = 4;

/// Connections at a time. Each takes a descriptor and a thread, and whoever may be many users (`/etc/subuid`) could have all descriptors
/// that the daemon may have. The last few are root's.
const ALL_MAX: u32 = 64;
const OF_USERS_MAX: u32 = ALL_MAX - OF_ONE_USER_MAX;

/// Users other than root wait so long for each answer. With their few connections that is 80 answers a second at most: a
/// user that asks without end cannot keep the loop busy. People do not notice, as the loop may take as long.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The user.
    pub user: u32,
    /// May hear of the files of all processes.
    pub sees_all: bool,
}

impl Asker {
    /// The daemon itself.
    pub const DAEMON: Self = Self {
        user: 0,
        sees_all: true,
    };

    /// At the other end of `connection`; the machine's groups are in the folder `etc`.
    fn at_other_end(connection: &UnixStream, etc: &Path) -> io::Result<Self> {
        let peer = rustix::net::sockopt::socket_peercred(connection)?;
        let user = peer.uid.as_raw();
        let group = group_number(etc, GROUP);
        let others = peer_groups(connection).unwrap_or_default();
        let is_member =
            |group: u32| group != 0 && (peer.gid.as_raw() == group || others.contains(&group));
        Ok(Self {
            user,
            sees_all: user == 0 || group.is_some_and(is_member),
        })
    }
}

/// A question, to be answered by the loop.
#[derive(Debug)]
pub struct Asked {
    /// Who asks.
    pub asker: Asker,
    /// What.
    pub question: Question,
    answer: SyncSender<DaemonStatus>,
}

impl Asked {
    /// Answers it. An asker that has gone is none.
    pub fn answer(&self, status: DaemonStatus) {
        let _ = self.answer.try_send(status);
    }
}

/// Asks the loop.
#[derive(Clone, Debug)]
pub struct Questions(Sender<Asked>);

impl Questions {
    /// What the loop says; `None` when it has ended, or does not answer in time.
    #[must_use]
    pub fn ask(&self, asker: Asker, question: Question) -> Option<DaemonStatus> {
        let (answer, answered) = sync_channel(1);
        let asked = Asked {
            asker,
            question,
            answer,
        };
        self.0.send(asked).ok()?;
        answered.recv_timeout(PATIENCE).ok()
    }
}

/// The socket, until it is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    asked: Receiver<Asked>,
    questions: Questions,
}

impl ControlSocket {
    /// Opens the socket at `path`; the machine's groups are in the folder `etc`. What a daemon that was killed left
    /// there is replaced: whether one runs is known before.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn open(path: &Path, etc: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
            fs::create_dir_all(folder)?;
            fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o666))?;
        let (sender, asked) = channel();
        let questions = Questions(sender);
        let server = Server {
            questions: questions.clone(),
            etc: etc.to_owned(),
            asking: Asking::default(),
        };
        thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || server.serve(&listener))?;
        Ok(Self {
            path: path.to_owned(),
            asked,
            questions,
        })
    }

    /// The next question, if there is one.
    #[must_use]
    pub fn next(&self) -> Option<Asked> {
        self.asked.try_recv().ok()
    }

    /// For who asks from within this process.
    #[must_use]
    pub fn questions(&self) -> Questions {
        self.questions.clone()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// How many connections each user has.
#[derive(Clone, Debug, Default)]
struct Asking(Arc<Mutex<HashMap<u32, u32>>>);

/// One of them, until it is dropped.
struct OneAsking {
    all: Asking,
    user: u32,
}

impl Asking {
    fn begin(&self, user: u32) -> Option<OneAsking> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_all: u32 = all.values().sum();
        let most = if user == 0 { ALL_MAX } else { OF_USERS_MAX };
        let count = all.get(&user).copied().unwrap_or(0);
        if count >= OF_ONE_USER_MAX || of_all >= most {
            return None;
        }
        all.insert(user, count + 1);
        Some(OneAsking {
            all: self.clone(),
            user,
        })
    }
}

impl Drop for OneAsking {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = all.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.user);
            }
        }
    }
}

struct Server {
    questions: Questions,
    etc: PathBuf,
    asking: Asking,
}

impl Server {
    fn serve(&self, listener: &UnixListener) {
        for connection in listener.incoming() {
            let Ok(connection) = connection else {
                // Out of descriptors, for one: not again at once.
                thread::sleep(PATIENCE / 10);
                continue;
            };
            // An asker that does not ask, or goes away, is none.
            let Ok(asker) = Asker::at_other_end(&connection, &self.etc) else {
                continue;
            };
            let Some(one) = self.asking.begin(asker.user) else {
                continue;
            };
            let questions = self.questions.clone();
            let _ = thread::Builder::new()
                .name("asker".to_owned())
                .stack_size(256 << 10)
                .spawn(move || {
                    let _ = serve_one(&connection, asker, &questions);
                    drop(one);
                });
        }
    }
}

fn serve_one(connection: &UnixStream, asker: Asker, questions: &Questions) -> io::Result<()> {
    let mut line = Vec::new();
    BufReader::new(UntilDeadline::of(connection, PATIENCE))
        .take(QUESTION_BYTES_MAX)
        .read_until(b'\n', &mut line)?;
    let text = match Question::read(&line) {
        Err(refusal) => write_answer(&refusal),
        Ok(question) => {
            if asker.user != 0 {
                thread::sleep(PAUSE);
            }
            match questions.ask(asker, question) {
                Some(status) => write_answer(&status),
                None => write_answer(&Refusal::new("it is too busy to answer")),
            }
        }
    };
    UntilDeadline::of(connection, PATIENCE).write_all(&text)
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No daemon.
    #[error("no daemon runs here: `sudo ahead daemon` starts one")]
    NoDaemon,
    /// It does not answer.
    #[error("the daemon does not answer: {0}")]
    Silent(io::Error),
    /// It answers something else.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Self::NoDaemon,
            _ => Self::Silent(error),
        }
    }
}

/// Asks the daemon at `path`.
///
/// # Errors
/// [`AskError`].
pub fn ask(path: &Path, question: &Question) -> Result<DaemonStatus, AskError> {
    let mut connection = UnixStream::connect(path)?;
    connection.set_read_timeout(Some(PATIENCE * 4))?;
    connection.write_all(&question.to_line())?;
    let mut text = Vec::new();
    connection.take(ANSWER_BYTES_MAX).read_to_end(&mut text)?;
    Ok(read_answer(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETC: &str = "/etc";

    fn status() -> DaemonStatus {
        DaemonStatus {
            process: 7,
            mode: "full".to_owned(),
            facts: 1,
            ..DaemonStatus::default()
        }
    }

    fn open(folder: &Path) -> (ControlSocket, PathBuf) {
        let path = folder.join("run/daemon.sock");
        (ControlSocket::open(&path, Path::new(ETC)).unwrap(), path)
    }

    #[test]
    fn who_asks_is_known_and_answered() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, path) = open(folder.path());
        let question = Question {
            process: Some(3),
            ..Question::all()
        };
        let asking = thread::spawn({
            let path = path.clone();
            move || ask(&path, &question)
        });
        let asked = socket.asked.recv().unwrap();
        assert_eq!(asked.asker.user, rustix::process::geteuid().as_raw());
        assert_eq!(asked.question, question);
        asked.answer(status());
        assert_eq!(asking.join().unwrap().unwrap(), status());
        drop(socket);
        assert!(matches!(
            ask(&path, &Question::all()),
            Err(AskError::NoDaemon)
        ));
    }

    #[test]
    fn what_is_no_question_is_refused_and_the_loop_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, path) = open(folder.path());
        let long = format!("{{\"version\":2, \"x\":\"{}\"}}\n", "y".repeat(300));
        for text in [
            "\n",
            "{\"version\":1}\n",
            "{\"version\":2,\"more\":1}\n",
            &long,
        ] {
            let mut connection = UnixStream::connect(&path).unwrap();
            connection.write_all(text.as_bytes()).unwrap();
            let mut said = String::new();
            // The rest of a long one may be refused.
            let _ = connection.read_to_string(&mut said);
            assert!(said.is_empty() || said.contains("\"refused\""), "{said}");
            assert!(socket.next().is_none(), "{text}");
        }
    }

    /// Whoever connects and says nothing holds a connection of its own, and not the socket.
    #[test]
    fn a_user_that_says_nothing_has_a_few_connections_and_no_more() {
        let all = Asking::default();
        let mut held: Vec<_> = (0..OF_ONE_USER_MAX)
            .map(|_| all.begin(7).unwrap())
            .collect();
        assert!(all.begin(7).is_none());
        assert!(all.begin(8).is_some(), "another user");
        held.pop();
        assert!(all.begin(7).is_some());
        drop(held);
        assert!(all.0.lock().unwrap().is_empty());
    }

    /// Whoever has subordinate users is 65 536 of them.
    #[test]
    fn a_user_that_is_many_leaves_root_its_connections() {
        let all = Asking::default();
        let held: Vec<_> = (1000..3000).filter_map(|user| all.begin(user)).collect();
        assert_eq!(held.len(), 60);
        assert!(all.begin(7).is_none());
        let of_root: Vec<_> = (0..4).map(|_| all.begin(0).unwrap()).collect();
        assert!(all.begin(0).is_none());
        assert_eq!(held.len() + of_root.len(), 64);
    }

    #[test]
    fn a_member_of_the_group_sees_all() {
        let (one, _other) = UnixStream::pair().unwrap();
        let etc = tempfile::tempdir().unwrap();
        let own = rustix::process::getegid().as_raw();
        // The group of root is not given away by a line of a file.
        for (number, is_group) in [(own.max(1), own != 0), (u32::MAX - 1, false)] {
            fs::write(etc.path().join("group"), format!("{GROUP}:x:{number}:\n")).unwrap();
            let asker = Asker::at_other_end(&one, etc.path()).unwrap();
            assert_eq!(asker.sees_all, asker.user == 0 || is_group);
        }
    }
}
