//! What can be made again is kept here between runs.

use std::io;
use std::path::PathBuf;

/// Our folder below the user's cache folder, which may not be there yet.
///
/// # Errors
/// The user has neither a cache folder nor a home.
pub(crate) fn folder() -> io::Result<PathBuf> {
    let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty());
    let cache = named("XDG_CACHE_HOME").map(PathBuf::from);
    match cache.or_else(|| Some(PathBuf::from(named("HOME")?).join(".cache"))) {
        Some(cache) => Ok(cache.join("ahead")),
        None => Err(io::Error::other("neither XDG_CACHE_HOME nor HOME is set")),
    }
}
