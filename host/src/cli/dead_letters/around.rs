//! What a replay has at hand, wherever its dead letters go: how far it came, where it speaks, and whether it is to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;

use tokio::sync::mpsc::unbounded_channel;

use crate::dead_letters::{Position, Progress};
use crate::exit::{self, Exit};
use crate::signals::{self, Asked};

use super::super::console::{Console, escape};
use super::super::status::runtime;

/// What a replay has at hand.
pub(super) struct Around<'a> {
    pub(super) progress: &'a mut Progress,
    pub(super) console: &'a mut Console,
    pub(super) stop: &'a Stop,
}

/// Names one that is not replayed.
pub(super) fn refuse(at: Position, why: &str, progress: &mut Progress, console: &mut Console) {
    progress.refused(at);
    console.complain("warn", escape(&format!("{at} is not replayed: {why}")));
}

/// How a replay ends that was asked to.
pub(super) fn stopped() -> Exit {
    Exit::because(exit::DEADLINE, "stopped as it was asked to")
}

/// Whether somebody asked the command to stop: once, to let what is under way end; twice, at once.
pub(super) struct Stop(Arc<AtomicU8>);

impl Stop {
    /// Takes the signals over.
    pub(super) fn listen() -> Result<Self, Exit> {
        let asked = Arc::new(AtomicU8::new(0));
        let (ready, readied) = mpsc::channel();
        let heard = Arc::clone(&asked);
        let hear = move || {
            let Ok(runtime) = runtime() else { return };
            runtime.block_on(async {
                let (asks, mut asked) = unbounded_channel();
                let _ = ready.send(signals::forward(&asks));
                while let Some(asked) = asked.recv().await {
                    match asked {
                        Asked::Stop => heard.store(1, Ordering::Relaxed),
                        Asked::StopNow => heard.store(2, Ordering::Relaxed),
                        Asked::Wish(_) => {}
                    }
                }
            });
        };
        let failed = |error: &dyn std::fmt::Display| {
            Exit::because(exit::UNEXPECTED, format!("cannot take signals over: {error}"))
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(hear).map_err(|error| failed(&error))?;
        readied.recv().map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        Ok(Self(asked))
    }

    /// True once somebody asked.
    pub(super) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// True once somebody asked twice.
    pub(super) fn insists(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}
