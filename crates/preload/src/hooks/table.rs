//! Every function that we stand in front of: the whole list, and what kind of hook each one is.
//!
//! One entry says all there is to say:
//!
//! ```text
//! name(arguments) -> result {other names of the same function}
//!     kind(what the kind needs to know), or what to do where the C library has no such function;
//! ```
//!
//! A kind is a function of the module that its path names. It gets what stands in its brackets and
//! the real call, and returns what the real call returned. `with |count|` after it lets the kind
//! choose that argument of the call. `[condition]` before it: where that holds the real call is all there
//! is to do, and the kind is kept out of its sight. `or system_call(…)` is the kernel's own call, where its answer
//! is as good; `or absent(…)` is the value to return, with `ENOSYS`.
//!
//! From this list come the exported functions ([`super`]) and the slots for the real ones
//! ([`crate::real`]). The 64-bit names mean the same as the plain ones on the machines that the
//! library is made for. Arguments after a semicolon are variable arguments in C: there, what was
//! not passed is a register with some value, which is not looked at unless the flags say so.

/// Hands the list to the macro `$define`.
macro_rules! table {
    ($define:ident) => {
        $define! {
            // Reading through a descriptor.
            read(fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {}
                reads::here(fd, count), or system_call(libc::SYS_read, fd, buffer, count);
            __read_chk(fd: c_int, buffer: *mut c_void, count: size_t, size: size_t) -> ssize_t {}
                reads::here(fd, count), or absent(-1);
            pread(fd: c_int, buffer: *mut c_void, count: size_t, offset: off_t) -> ssize_t {pread64}
                reads::at(fd, offset, count), or system_call(libc::SYS_pread64, fd, buffer, count, offset);
            __pread_chk(fd: c_int, buffer: *mut c_void, count: size_t, offset: off_t, size: size_t) -> ssize_t {__pread64_chk}
                reads::at(fd, offset, count), or absent(-1);
            readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {}
                reads::vectored_here(fd, parts, count), or system_call(libc::SYS_readv, fd, parts, count);
            preadv(fd: c_int, parts: *const iovec, count: c_int, offset: off_t) -> ssize_t {preadv64}
                reads::vectored_at(fd, parts, count, offset), or system_call(libc::SYS_preadv, fd, parts, count, offset, 0_usize);
            preadv2(fd: c_int, parts: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t {preadv64v2}
                reads::vectored_anywhere(fd, parts, count, offset, flags), or system_call(libc::SYS_preadv2, fd, parts, count, offset, 0_usize, flags);

            // Descriptors and their positions.
            lseek(fd: c_int, offset: off_t, whence: c_int) -> off_t {lseek64}
                descriptors::seek(fd), or system_call(libc::SYS_lseek, fd, offset, whence);
            open(path: *const c_char, flags: c_int; mode: mode_t) -> c_int {open64}
                names::open(libc::AT_FDCWD, path, flags), or system_call(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode);
            openat(folder: c_int, path: *const c_char, flags: c_int; mode: mode_t) -> c_int {openat64}
                names::open(folder, path, flags), or system_call(libc::SYS_openat, folder, path, flags, mode);
            creat(path: *const c_char, mode: mode_t) -> c_int {creat64}
                descriptors::open(), or absent(-1);
            __open_2(path: *const c_char, flags: c_int) -> c_int {__open64_2}
                names::open(libc::AT_FDCWD, path, flags), or absent(-1);
            __openat_2(folder: c_int, path: *const c_char, flags: c_int) -> c_int {__openat64_2}
                names::open(folder, path, flags), or absent(-1);
            close(fd: c_int) -> c_int {}
                descriptors::close(fd), or system_call(libc::SYS_close, fd);
            close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {}
                descriptors::close_range(first, last, flags), or system_call(libc::SYS_close_range, first, last, flags);
            closefrom(first: c_int) -> () {}
                descriptors::close_range(first.max(0).cast_unsigned(), c_uint::MAX, 0), or absent(());
            dup(fd: c_int) -> c_int {}
                descriptors::copy(fd), or system_call(libc::SYS_dup, fd);
            dup2(old: c_int, new: c_int) -> c_int {}
                descriptors::copy(old), or absent(-1);
            dup3(old: c_int, new: c_int, flags: c_int) -> c_int {}
                descriptors::copy(old), or system_call(libc::SYS_dup3, old, new, flags);
            fcntl(fd: c_int, command: c_int; argument: usize) -> c_int {}
                descriptors::command(fd, command), or system_call(libc::SYS_fcntl, fd, command, argument);
            fcntl64(fd: c_int, command: c_int; argument: usize) -> c_int {}
                descriptors::command(fd, command), or system_call(libc::SYS_fcntl, fd, command, argument);

            // Names: trees are followed by them.
            opendir(path: *const c_char) -> *mut DIR {}
                names::list(path), or absent(null_mut());
            fdopendir(folder: c_int) -> *mut DIR {}
                names::list_open(folder), or absent(null_mut());
            readdir(listing: *mut DIR) -> *mut c_void {readdir64}
                names::go_on(listing), or absent(null_mut());
            closedir(listing: *mut DIR) -> c_int {}
                names::end(), or absent(-1);
            stat(path: *const c_char, facts: *mut c_void) -> c_int {stat64}
                names::ask(libc::AT_FDCWD, path), or absent(-1);
            lstat(path: *const c_char, facts: *mut c_void) -> c_int {lstat64}
                names::ask(libc::AT_FDCWD, path), or absent(-1);
            fstatat(folder: c_int, path: *const c_char, facts: *mut c_void, flags: c_int) -> c_int {fstatat64}
                names::ask(folder, path), or absent(-1);
            __xstat(version: c_int, path: *const c_char, facts: *mut c_void) -> c_int {__xstat64}
                names::ask(libc::AT_FDCWD, path), or absent(-1);
            __lxstat(version: c_int, path: *const c_char, facts: *mut c_void) -> c_int {__lxstat64}
                names::ask(libc::AT_FDCWD, path), or absent(-1);
            __fxstatat(version: c_int, folder: c_int, path: *const c_char, facts: *mut c_void, flags: c_int) -> c_int {__fxstatat64}
                names::ask(folder, path), or absent(-1);
            statx(folder: c_int, path: *const c_char, flags: c_int, mask: c_uint, facts: *mut c_void) -> c_int {}
                names::ask(folder, path), or system_call(libc::SYS_statx, folder, path, flags, mask, facts);
            chdir(path: *const c_char) -> c_int {}
                names::go_to(), or system_call(libc::SYS_chdir, path);
            fchdir(folder: c_int) -> c_int {}
                names::go_to(), or system_call(libc::SYS_fchdir, folder);
            chroot(path: *const c_char) -> c_int {}
                names::go_to(), or system_call(libc::SYS_chroot, path);

            // What a process with several threads may not do, or does for one of them alone.
            unshare(flags: c_int) -> c_int {}
                names::alone(), or system_call(libc::SYS_unshare, flags);
            setns(namespace: c_int, kind: c_int) -> c_int {}
                names::alone(), or system_call(libc::SYS_setns, namespace, kind);
            setfsuid(user: c_uint) -> c_int {}
                names::alone(), or system_call(libc::SYS_setfsuid, user);
            setfsgid(group: c_uint) -> c_int {}
                names::alone(), or system_call(libc::SYS_setfsgid, group);

            umount(path: *const c_char) -> c_int {}
                names::alone(), or system_call(libc::SYS_umount2, path, 0);
            umount2(path: *const c_char, flags: c_int) -> c_int {}
                names::alone(), or system_call(libc::SYS_umount2, path, flags);
            mount(source: *const c_char, target: *const c_char, kind: *const c_char, flags: usize, data: *const c_void) -> c_int {}
                names::alone(), or system_call(libc::SYS_mount, source, target, kind, flags, data);
            capset(header: *mut c_void, data: *const c_void) -> c_int {}
                names::alone(), or system_call(libc::SYS_capset, header, data);
            pthread_exit(value: *mut c_void) -> () {}
                process::end_thread(), or absent(());

            // Leaving for a sandbox.
            prctl(option: c_int; a: usize, b: usize, c: usize, d: usize) -> c_int {}
                process::control(option, a), or system_call(libc::SYS_prctl, option, a, b, c, d);

            // Copies inside the kernel.
            sendfile(target: c_int, source: c_int, offset: *mut off_t, count: size_t) -> ssize_t {sendfile64}
                copies::sendfile(target, source, offset, count) with |count|, or system_call(libc::SYS_sendfile, target, source, offset, count);
            copy_file_range(source: c_int, source_offset: *mut off_t, target: c_int, target_offset: *mut off_t, count: size_t, flags: c_uint) -> ssize_t {}
                copies::copy_file_range(source, source_offset, target, count) with |count|, or system_call(libc::SYS_copy_file_range, source, source_offset, target, target_offset, count, flags);
            splice(source: c_int, source_offset: *mut off_t, target: c_int, target_offset: *mut off_t, count: size_t, flags: c_uint) -> ssize_t {}
                copies::splice(source, source_offset, target, count, flags) with |count|, or system_call(libc::SYS_splice, source, source_offset, target, target_offset, count, flags);

            // Advice and mappings.
            posix_fadvise(fd: c_int, offset: off_t, length: off_t, advice: c_int) -> c_int {posix_fadvise64}
                advice::on_range(fd, offset, length, advice), or absent(libc::ENOSYS);
            readahead(fd: c_int, offset: off_t, count: size_t) -> ssize_t {}
                advice::ahead(fd, offset, count), or system_call(libc::SYS_readahead, fd, offset, count);
            mmap(address: *mut c_void, length: size_t, protection: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void {mmap64}
                advice::map(length, flags, fd, offset), or system_call(libc::SYS_mmap, address, length, protection, flags, fd, offset);

            // Streams: opening and closing.
            fopen(path: *const c_char, mode: *const c_char) -> *mut FILE {fopen64}
                streams::open_name(path, mode), or absent(null_mut());
            freopen(path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE {freopen64}
                streams::open_again(stream), or absent(null_mut());
            fclose(stream: *mut FILE) -> c_int {}
                streams::close(stream), or absent(libc::EOF);
            pclose(stream: *mut FILE) -> c_int {}
                streams::close(stream), or absent(-1);

            // Streams: reading records, lines, characters.
            fread(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t {}
                [streams::holds_records(stream, size, count)] streams::records(stream, size, count), or absent(0);
            fread_unlocked(buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t {}
                [streams::holds_records(stream, size, count)] streams::records(stream, size, count), or absent(0);
            __fread_chk(buffer: *mut c_void, length: size_t, size: size_t, count: size_t, stream: *mut FILE) -> size_t {}
                [streams::holds_records(stream, size, count)] streams::records(stream, size, count), or absent(0);
            __fread_unlocked_chk(buffer: *mut c_void, length: size_t, size: size_t, count: size_t, stream: *mut FILE) -> size_t {}
                [streams::holds_records(stream, size, count)] streams::records(stream, size, count), or absent(0);
            fgets(line: *mut c_char, size: c_int, stream: *mut FILE) -> *mut c_char {}
                [streams::holds_text(stream, size)] streams::text(stream, size), or absent(null_mut());
            fgets_unlocked(line: *mut c_char, size: c_int, stream: *mut FILE) -> *mut c_char {}
                [streams::holds_text(stream, size)] streams::text(stream, size), or absent(null_mut());
            __fgets_chk(line: *mut c_char, length: size_t, size: c_int, stream: *mut FILE) -> *mut c_char {}
                [streams::holds_text(stream, size)] streams::text(stream, size), or absent(null_mut());
            __fgets_unlocked_chk(line: *mut c_char, length: size_t, size: c_int, stream: *mut FILE) -> *mut c_char {}
                [streams::holds_text(stream, size)] streams::text(stream, size), or absent(null_mut());
            getline(line: *mut *mut c_char, size: *mut size_t, stream: *mut FILE) -> ssize_t {}
                streams::line(stream), or absent(-1);
            getdelim(line: *mut *mut c_char, size: *mut size_t, end: c_int, stream: *mut FILE) -> ssize_t {__getdelim}
                streams::line(stream), or absent(-1);
            fgetc(stream: *mut FILE) -> c_int {getc _IO_getc}
                [streams::holds_one(stream)] streams::character(stream, 1), or absent(libc::EOF);
            fgetc_unlocked(stream: *mut FILE) -> c_int {getc_unlocked}
                [streams::holds_one(stream)] streams::character(stream, 1), or absent(libc::EOF);
            getchar() -> c_int {}
                [streams::holds_one(stdio::standard_input())] streams::character(stdio::standard_input(), 1), or absent(libc::EOF);
            getchar_unlocked() -> c_int {}
                [streams::holds_one(stdio::standard_input())] streams::character(stdio::standard_input(), 1), or absent(libc::EOF);
            __uflow(stream: *mut FILE) -> c_int {}
                [streams::holds_one(stream)] streams::character(stream, 1), or absent(libc::EOF);
            __underflow(stream: *mut FILE) -> c_int {}
                [streams::holds_one(stream)] streams::character(stream, 0), or absent(libc::EOF);

            // Streams: positions.
            fseek(stream: *mut FILE, offset: c_long, whence: c_int) -> c_int {fseeko fseeko64}
                streams::seek(stream), or absent(-1);
            fsetpos(stream: *mut FILE, position: *const libc::fpos_t) -> c_int {fsetpos64}
                streams::seek(stream), or absent(-1);
            rewind(stream: *mut FILE) -> () {}
                streams::seek(stream), or absent(());
        }
    };
}

pub(crate) use table;
