//! A thread that does one thing after another, each of which may take for ever.

use std::sync::mpsc::{Sender, channel};
use std::thread;

/// A thread called `name` that does `work` with all that it is sent, and ends with the sender, which says at each use if there is no such
/// thread.
pub(crate) fn begin<T: Send + 'static>(name: &str, work: impl Fn(T) + Send + 'static) -> Sender<T> {
    let (sender, receiver) = channel();
    let all = move || receiver.into_iter().for_each(work);
    let _ = thread::Builder::new().name(name.to_owned()).spawn(all);
    sender
}
