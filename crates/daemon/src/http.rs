//! As much of HTTP as Prometheus needs: one question of a connection, one answer, and the end.
//!
//! Connections are answered one after another, and each has [`WITHIN`] for all of it. So whoever opens thousands of them,
//! or says nothing, takes no thread, no memory and no descriptor of the daemon: the others wait in the kernel's queue,
//! which is short.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::deadline::UntilDeadline;

/// A whole connection takes no longer. Longer, and one that says nothing keeps Prometheus waiting; shorter, and an answer may
/// not get through on a busy machine.
const WITHIN: Duration = Duration::from_secs(1);

/// A question with its headers is no longer.
const QUESTION_BYTES_MAX: usize = 8 << 10;

/// Headers of a question at most.
const HEADERS_MAX: usize = 64;

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpQuestion {
    /// The method, as it was written.
    pub(crate) method: String,
    /// The path.
    pub(crate) path: String,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HttpAnswer {
    /// Number and name, as `200 OK`.
    pub(crate) status: &'static str,
    /// What the text is.
    pub(crate) kind: &'static str,
    /// The text.
    pub(crate) text: String,
}

impl HttpAnswer {
    /// A line for people.
    pub(crate) fn line(status: &'static str, text: &str) -> Self {
        Self {
            status,
            kind: "text/plain",
            text: text.to_owned(),
        }
    }
}

/// Answers all who come to `listener`, one after another, until it fails.
pub(crate) fn answer_all(listener: &TcpListener, answer: impl Fn(&HttpQuestion) -> HttpAnswer) {
    for connection in listener.incoming() {
        match connection {
            // Who asked may have gone, or never asked.
            Ok(connection) => drop(answer_one(&connection, &answer)),
            // No descriptor is left, for one: later there may be.
            Err(_) => std::thread::sleep(WITHIN),
        }
    }
}

fn answer_one(
    connection: &TcpStream,
    answer: impl Fn(&HttpQuestion) -> HttpAnswer,
) -> io::Result<()> {
    let mut connection = UntilDeadline::of(connection, WITHIN);
    let mut bytes = Vec::new();
    let asked = loop {
        match question(&bytes) {
            Parsed::Whole(asked) => break Some(asked),
            Parsed::Wrong => break None,
            Parsed::Begun if bytes.len() >= QUESTION_BYTES_MAX => break None,
            Parsed::Begun => {}
        }
        let mut piece = [0; 1 << 10];
        let got = connection.read(&mut piece)?;
        if got == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(piece.get(..got).unwrap_or_default());
    };
    let is_head = asked.as_ref().is_some_and(|asked| asked.method == "HEAD");
    let answered = match &asked {
        Some(asked) => answer(asked),
        None => HttpAnswer::line("400 Bad Request", "this is no HTTP\n"),
    };
    let HttpAnswer { status, kind, text } = &answered;
    let mut all = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        text.len()
    );
    if !is_head {
        all.push_str(text);
    }
    connection.write_all(all.as_bytes())
}

enum Parsed {
    Whole(HttpQuestion),
    Begun,
    Wrong,
}

fn question(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => Parsed::Whole(HttpQuestion {
            method: request.method.unwrap_or_default().to_owned(),
            path: request.path.unwrap_or_default().to_owned(),
        }),
        Ok(httparse::Status::Partial) => Parsed::Begun,
        Err(_) => Parsed::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn serve() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            answer_all(&listener, |asked| {
                HttpAnswer::line("200 OK", &format!("{} {}\n", asked.method, asked.path))
            });
        });
        address
    }

    fn ask(address: SocketAddr, said: &str) -> String {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(said.as_bytes()).unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_question_is_answered_and_what_is_none_is_refused() {
        let address = serve();
        let text = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\nGET /metrics\n"), "{text}");
        let text = ask(address, "HEAD /metrics HTTP/1.0\r\n\r\n");
        assert!(text.contains("Content-Length: 14\r\n"), "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
        let text = ask(address, "\u{1}\u{2}\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
    }

    #[test]
    fn a_question_without_end_is_refused() {
        let text = ask(
            serve(),
            &format!("GET /{}", "a".repeat(QUESTION_BYTES_MAX - 5)),
        );
        assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
    }

    /// However many come and say nothing: one is listened to at a time, by the one thread that there is.
    #[test]
    fn connections_that_say_nothing_cost_no_thread_each() {
        let address = serve();
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let before = threads();
        let silent: Vec<_> = (0..40)
            .map(|_| TcpStream::connect(address).unwrap())
            .collect();
        assert!(threads() <= before + 8, "tests beside this one have some");
        drop(silent);
        let text = ask(address, "GET / HTTP/1.1\r\n\r\n");
        assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    }
}
