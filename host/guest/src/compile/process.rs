//! The host's side of the compile worker: starts it, feeds it, bounds it, buries it.
//!
//! The child may die, hang, babble or answer with something else; whatever it does, this returns within the wall-clock limit, and
//! no child is left. Knows nothing of what is compiled.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tracing::debug;

use super::answer::{self, Answer};
use super::child::COMPILE_COMMAND;
use super::confine::CONFINED;
use super::error::{CompileError, CompileLimit};
use super::{Artefact, CompileLimits, Order};
use crate::stdio::escape;

/// Bytes that are kept of what a worker says. What is more is read and dropped.
const SAID_BYTES_MAX: usize = 4 << 10;

/// Variables that a worker keeps: where the program itself finds its libraries.
const VARIABLES: [&str; 1] = ["LD_LIBRARY_PATH"];

/// Threads that compile. Each has an arena of 64 MiB of address space, of which there are four GiB.
const THREADS_MAX: usize = 4;

/// Lets a child compile, and waits for it.
///
/// # Errors
///
/// There is no child, it died, used up a limit, or answered with anything but code.
pub(super) fn run(order: &Order<'_>) -> Result<Artefact, CompileError> {
    let start_error = |source| CompileError::Start { program: order.program.to_owned(), source };
    let mut worker = Worker::start(order).map_err(start_error)?;
    let heard = worker.hear(order.limits, order.bytes).map_err(start_error)?;
    let status = worker.bury();
    judge(heard, status, order.limits)
}

/// How the wait for a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It ended by itself.
    Ended,
    /// It wrote more than code may have, and was killed.
    TooMuch,
    /// It did not end in time, and was killed.
    Late,
}

/// All that was heard of a worker.
struct Heard {
    end: End,
    output: Vec<u8>,
    said: String,
}

/// A child that is not left behind, whatever happens to whoever started it.
struct Worker {
    child: Child,
    group: Option<Pid>,
    buried: bool,
}

impl Worker {
    fn start(order: &Order<'_>) -> io::Result<Self> {
        let Order { program, limits, deterministic, .. } = *order;
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let mut command = Command::new(program);
        command
            .arg0("gristmill")
            .arg(COMPILE_COMMAND)
            .arg(std::process::id().to_string())
            .arg(limits.cpu.as_secs().max(1).to_string())
            .arg(limits.address_space_bytes.to_string())
            .arg(u8::from(deterministic).to_string())
            .env_clear()
            .envs(VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("RAYON_NUM_THREADS", threads.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A signal for the host's group is for the host to judge; and whatever the child starts ends with it.
            .process_group(0);
        let child = command.spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Self { child, group, buried: false })
    }

    /// Hands the bytes over and listens until the child has ended, or is ended.
    fn hear(&mut self, limits: &CompileLimits, bytes: &[u8]) -> io::Result<Heard> {
        let output_max = limits.artefact_bytes.saturating_add(answer::OVERHEAD_BYTES);
        let (tell, told) = channel();
        let (mut stdin, stdout, stderr) = (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take());
        std::thread::scope(|scope| {
            let hearing = (|| -> io::Result<_> {
                // A child that does not read to the end says why by how it ends.
                spawn(scope, move || drop(stdin.take().map(|mut stdin| stdin.write_all(bytes))))?;
                let output = spawn(scope, {
                    let tell = tell.clone();
                    move || listen(stdout, output_max, &tell)
                })?;
                let said = spawn(scope, move || last_said(stderr))?;
                let pid = self.group;
                spawn(scope, move || await_end(pid, &tell))?;
                Ok((output, said))
            })();
            let end = if hearing.is_ok() { wait(&told, limits) } else { End::Late };
            // Also where it ended by itself: nothing that it started holds a pipe open. Not buried yet, its number is still its own.
            self.kill();
            let (output, said) = hearing?;
            Ok(Heard { end, output: output.join().unwrap_or_default(), said: said.join().unwrap_or_default() })
        })
    }

    fn kill(&mut self) {
        // It may have ended already.
        let _ = self.group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = self.child.kill();
    }

    /// Takes the dead child off the system's list.
    fn bury(&mut self) -> io::Result<ExitStatus> {
        self.buried = true;
        self.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.buried {
            self.kill();
            let _ = self.bury();
        }
    }
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().name("compiling".to_owned()).spawn_scoped(scope, work)
}

/// Reads what the child answers, but not much more than it may answer.
fn listen(stdout: Option<impl Read>, output_max: u64, tell: &Sender<End>) -> Vec<u8> {
    let mut output = Vec::new();
    let Some(stdout) = stdout else { return output };
    // What was read before an error is not whole, and judged as that.
    let _ = stdout.take(output_max.saturating_add(1)).read_to_end(&mut output);
    if output.len() as u64 > output_max {
        let _ = tell.send(End::TooMuch);
    }
    output
}

/// Reads all that the child says, and keeps the beginning; but what it says about its walls is for the log.
fn last_said(stderr: Option<impl Read>) -> String {
    let mut kept = Vec::new();
    if let Some(mut stderr) = stderr {
        let _ = stderr.by_ref().take(SAID_BYTES_MAX as u64).read_to_end(&mut kept);
        let _ = io::copy(&mut stderr, &mut io::sink());
    }
    let lines = kept.split(|byte| *byte == b'\n').map(escape).filter(|line| !line.is_empty());
    let (walls, said): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with(CONFINED));
    debug!(walls = walls.join("; "), "the compile worker has started");
    said.join("; ")
}

/// Waits until the child has ended, and leaves it for burial.
fn await_end(pid: Option<Pid>, tell: &Sender<End>) {
    let Some(pid) = pid else { return };
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {}
    let _ = tell.send(End::Ended);
}

fn wait(told: &Receiver<End>, limits: &CompileLimits) -> End {
    match told.recv_timeout(limits.wall) {
        Ok(end) => end,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => End::Late,
    }
}

/// What Rust says when there is no memory left, before it aborts.
const NO_MEMORY: &str = "memory allocation of ";

/// The signal for too much processor time.
const XCPU: i32 = Signal::XCPU.as_raw();

fn judge(heard: Heard, status: io::Result<ExitStatus>, limits: &CompileLimits) -> Result<Artefact, CompileError> {
    let limit = |limit| Err(CompileError::Limit(limit));
    let Heard { end, output, said } = heard;
    match end {
        End::Late => return limit(CompileLimit::Wall(limits.wall)),
        End::TooMuch => return limit(CompileLimit::Artefact(limits.artefact_bytes)),
        End::Ended => {}
    }
    let how = match status {
        Ok(status) if status.success() => None,
        Ok(status) => match status.signal() {
            Some(XCPU) => return limit(CompileLimit::Cpu(limits.cpu)),
            _ if said.contains(NO_MEMORY) => return limit(CompileLimit::AddressSpace(limits.address_space_bytes)),
            Some(signal) => Some(format!("was ended by signal {signal}{}", named(signal))),
            None => Some(format!("ended with code {}", status.code().unwrap_or(-1))),
        },
        // Whoever started us ignores the deaths of children; the answer alone has to tell.
        Err(_) => None,
    };
    if let Some(how) = how {
        return Err(CompileError::Died { how, said });
    }
    let text = |detail: Vec<u8>| escape(&detail);
    match answer::read(output) {
        Some(Answer::Code(code)) => Ok(Artefact { bytes: code, begins: 0 }),
        Some(Answer::Invalid(detail)) => Err(CompileError::Invalid { detail: text(detail) }),
        Some(Answer::Refused(detail)) => Err(CompileError::Refused { detail: text(detail) }),
        Some(Answer::NoMemory) => limit(CompileLimit::AddressSpace(limits.address_space_bytes)),
        None => Err(CompileError::Answer { detail: "it ended before it was whole, or is something else".to_owned() }),
    }
}

/// The names of the signals that end compilers.
fn named(signal: i32) -> &'static str {
    let names = [
        (Signal::KILL, " (SIGKILL: by the system, perhaps for want of memory)"),
        (Signal::SEGV, " (SIGSEGV)"),
        (Signal::ABORT, " (SIGABRT)"),
        (Signal::BUS, " (SIGBUS)"),
        (Signal::ILL, " (SIGILL)"),
        (Signal::SYS, " (SIGSYS)"),
    ];
    names.iter().find(|(known, _)| known.as_raw() == signal).map_or("", |(_, name)| name)
}
