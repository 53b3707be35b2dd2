//! The `gristmill` binary: arguments → run → exit code.
//!
//! It must not decide anything; commands live in the library's `cli`.

#![forbid(unsafe_code)]

use std::io::Write;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(end_on_panic));
    ExitCode::from(gristmill::cli::main())
}

/// Threads that run guests are named like this. They turn a panic into a fault of the batch and go on.
const GUEST_THREAD: &str = "guest";

/// Says what happened and, whichever thread it was, ends the process: a host with a dead thread looks alive and is not.
fn end_on_panic(info: &PanicHookInfo<'_>) {
    let what = info.payload_as_str().unwrap_or("no message");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed");
    let text =
        format!("gristmill: host bug at {place} in thread {name}: {what}; nothing more is committed; please report it");
    let _ = writeln!(std::io::stderr(), "{text}");
    if name.starts_with(GUEST_THREAD) {
        return;
    }
    #[expect(clippy::exit, reason = "a panic is ours and final; the code is public")]
    std::process::exit(i32::from(gristmill::exit::PANIC));
}
