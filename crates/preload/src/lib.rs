//! The interposed library: what `ahead run` puts into a program that it does not change.
//!
//! It lives in a process that is not ours. Reads return what they would return without it; it prints
//! nothing, ends nothing, holds no lock and allocates nothing on a read. All it does is watch
//! which pages are read and tell the kernel earlier what will be wanted next.
//!
//! * `hooks`, `stdio`, `real`, `symbols` — the C side: what programs call, and what is called in
//!   the end
//! * `wake`, `watch`, `environment`, `sandbox`, `aside` — when anything is done at all, and why not
//! * `ops`, `descriptors`, `adviser` — what a read means to the engine's loop, and how its decisions are carried out
//! * `host`, `files`, `deferred_word`, `fd_table` — what is known in this process
//! * `trees` — what a program that goes through folders comes to next
//! * `submit`, `identity` — what the kernel is asked
//! * `own_object` — what the unwinder that is linked in asks instead of the C library
//! * `own_run` — what the processes of a run share
//! * `shared`, `recording`, `record` — what is kept for `ahead run`: the account, and a trace

mod adviser;
mod aside;
mod deferred_word;
mod descriptors;
mod environment;
mod fd_table;
mod files;
mod guard;
mod hooks;
mod host;
mod identity;
mod memory;
mod ops;
#[cfg(all(
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod own_object;
mod own_run;
mod real;
mod record;
mod recording;
mod sandbox;
mod shared;
mod stdio;
mod submit;
mod symbols;
mod ticks;
mod trees;
mod wake;
mod watch;

use std::ffi::{c_char, c_int};

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C" fn(c_int, *const *const c_char, *const *const c_char) =
    on_load;

#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = on_unload;

#[cfg_attr(test, allow(dead_code))]
unsafe extern "C" fn on_load(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    // SAFETY: the loader of the GNU C library calls constructors with what the program gets.
    unsafe { hooks::install(environment) };
}

#[cfg_attr(test, allow(dead_code))]
extern "C" fn on_unload() {
    if host::get().is_some() {
        guard::guarded(descriptors::at_exit);
    }
}
