//! The compile worker: what runs in the child process. Takes a component on standard input and answers on standard output.
//!
//! It reads no configuration, no file and no byte before it is confined. It never runs what it compiles.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::panic::PanicHookInfo;

use wasmtime::{Engine, OutOfMemory};

use super::answer::Answer;
use super::confine::{self, Bounds};
use super::validate;
use crate::engine::strict_config;
use crate::names;

/// The first argument of a process that is a compile worker.
pub const COMPILE_COMMAND: &str = "compile-plugin";

/// Bytes of a text in an answer.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// Is the compile worker: confines this process, reads a component, compiles it and writes what comes out. `arguments` are those
/// behind [`COMPILE_COMMAND`]. Returns the exit code.
#[must_use]
pub fn compile_worker(arguments: impl Iterator<Item = OsString>) -> u8 {
    std::panic::set_hook(Box::new(say_panic));
    match work(arguments) {
        Ok(()) => 0,
        Err(error) => {
            // Nobody is there to hear it, if this fails.
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    }
}

fn work(arguments: impl Iterator<Item = OsString>) -> io::Result<()> {
    let bounds = Bounds::of(arguments).ok_or_else(|| {
        io::Error::other(
            "this command is for the host itself: it starts it to compile a plugin, with bounds and through pipes",
        )
    })?;
    let confined = confine::confine(&bounds)?;
    writeln!(io::stderr(), "{confined}")?;
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    answer(&mut bytes, bounds.deterministic).write(&mut io::stdout().lock())
}

fn answer(bytes: &mut [u8], deterministic: bool) -> Answer<Vec<u8>> {
    names::mute(bytes);
    let cut = |detail: String| detail.into_bytes().into_iter().take(TEXT_BYTES_MAX).collect();
    if let Err(error) = validate(bytes) {
        return Answer::Invalid(cut(error.to_string()));
    }
    match Engine::new(&strict_config(deterministic)).and_then(|engine| engine.precompile_component(bytes)) {
        Ok(code) => Answer::Code(code),
        Err(error) if error.is::<OutOfMemory>() => Answer::NoMemory,
        Err(error) => Answer::Refused(cut(format!("{error:#}"))),
    }
}

/// Says where the compiler panicked, in short. The panic goes on and ends the process with its code.
fn say_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let _ = writeln!(io::stderr(), "panicked at {place}: {}", info.payload_as_str().unwrap_or_default());
}
