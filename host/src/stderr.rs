//! What this process writes to stderr: log lines, the live line, complaints, the last line. No write error ends it.
//!
//! A command that ends by itself waits for its reader, as any tool does. A running host does not, since a pipe that nobody reads
//! must hold up no batch and no stop: after [`detach`] a thread of its own writes, and everybody else leaves what they have to
//! say in a queue with a bound. It does not know what is said.

mod queue;

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tracing::warn;
use tracing_subscriber::fmt::MakeWriter;

use self::queue::Queue;

/// How long the end of the process waits until all is written that is in the queue. Who reads has read by then.
const FINISH_WAIT_MAX: Duration = Duration::from_secs(1);

/// The queue of a running host. Without one, everybody writes for himself.
static QUEUE: OnceLock<Arc<Queue>> = OnceLock::new();

/// From now on nobody waits for whoever reads stderr. A second call changes nothing.
///
/// # Errors
/// The system gives no thread.
pub(crate) fn detach() -> io::Result<()> {
    if QUEUE.get().is_some() {
        return Ok(());
    }
    let queue = Arc::new(Queue::default());
    let served = Arc::clone(&queue);
    std::thread::Builder::new().name("stderr".to_owned()).spawn(move || served.serve(io::stderr(), tell_dropped))?;
    // Whoever was faster has a thread as well; this one sleeps for ever.
    let _ = QUEUE.set(queue);
    Ok(())
}

fn tell_dropped(lines: u64) {
    warn!(lines, "log lines were dropped because stderr did not take them");
}

/// Writes a whole line, or several, or leaves them in the queue. What cannot be written is dropped.
pub(crate) fn say(line: &[u8]) {
    match QUEUE.get() {
        Some(queue) => queue.push(line),
        None => drop(io::stderr().lock().write_all(line)),
    }
}

/// Says the last line, for which there is always room, and waits for a second at most until everything is written.
pub(crate) fn say_last(line: &[u8]) {
    match QUEUE.get() {
        Some(queue) => queue.push_last(line),
        None => say(line),
    }
    finish();
}

/// Shows this text on the terminal's last line, below everything that was said. Empty: takes it away. A terminal that does not
/// take it in is shown the next one.
pub(crate) fn show_live(text: String) {
    if let Some(queue) = QUEUE.get() {
        queue.show_live(text);
    }
}

/// Waits until everything is written that was said, but for a second at most.
pub fn finish() {
    if let Some(queue) = QUEUE.get() {
        queue.wait_until_written(FINISH_WAIT_MAX);
    }
}

/// Where log lines go. Each is written at once and whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        say(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for LogWriter {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}
