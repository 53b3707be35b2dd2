//! What the operating system asks of the process: the first SIGTERM or SIGINT asks to stop, the next one to stop now.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::UnboundedSender;

use crate::control::Wish;

/// What somebody outside wants of a running host. Bounded by how often people send signals, and by the clients that the control
/// socket serves at once, each of which waits for its answer.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Finish the running batch, commit, leave (S1).
    Stop,
    /// Leave at once (S2).
    StopNow,
    /// What came by the control socket, and wants an answer.
    Wish(Wish),
}

/// What a process gets that writes to a file which has reached the limit of its size; by this number on Linux.
const FILE_IS_TOO_LARGE: i32 = 25;

/// Takes both signals over from the system's default, which is to kill, and passes them on as wishes.
///
/// # Errors
/// The system refuses a handler.
pub(crate) fn forward(asks: &UnboundedSender<Asked>) -> io::Result<()> {
    // Heard by nobody: the write then fails, as it does on a full disk.
    if cfg!(target_os = "linux") {
        drop(signal(SignalKind::from_raw(FILE_IS_TOO_LARGE))?);
    }
    let asked_before = Arc::new(AtomicBool::new(false));
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind)?;
        let (asks, asked_before) = (asks.clone(), Arc::clone(&asked_before));
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                let again = asked_before.swap(true, Ordering::Relaxed);
                let _ = asks.send(if again { Asked::StopNow } else { Asked::Stop });
            }
        });
    }
    Ok(())
}
