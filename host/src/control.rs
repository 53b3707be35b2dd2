//! The control socket: by it an operator on the same machine asks a running host what it does, and tells it to pause, resume, try
//! again or stop.
//!
//! A thread of its own serves it, since whatever a client does must not hurt the run loop. A socket that cannot be made is a
//! warning: the host does its work without. What wishes mean is the run loop's business.

pub(crate) mod client;
pub(crate) mod host_status;
mod identity;
mod listener;
pub(crate) mod place;
mod request;
mod server;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use gristmill_guest::escape_path;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tracing::{info, warn};

pub(crate) use self::host_status::{BatchStatus, HeldStatus, HostStatus, PartitionStatus, ReleaseStatus, json_schema};
pub(crate) use self::identity::Identity;
pub(crate) use self::place::Address;
pub(crate) use self::request::{Answer, Done, Refusal, RefusalCode, Request};
pub(crate) use self::server::Wish;
use crate::config::ControlConfig;
use crate::signals::Asked;

/// How long the end of the host waits for answers that are still being written.
const LAST_ANSWERS_WAIT_MAX: Duration = Duration::from_millis(200);

/// How long the end of the host waits for the control thread, with those answers. It is left behind then, and its file too.
const THREAD_WAIT_MAX: Duration = Duration::from_millis(400);

/// The control socket of a running host. Closed when dropped.
#[derive(Debug)]
pub(crate) struct Control {
    /// Dropped to end the thread.
    end: Option<oneshot::Sender<()>>,
    ended: Receiver<()>,
}

impl Control {
    /// Begins to listen, and passes on what is wished. Nothing waits for it; whether it worked stands in the log.
    pub(crate) fn open(config: ControlConfig, asks: mpsc::UnboundedSender<Asked>) -> Self {
        let (end, end_asked) = oneshot::channel();
        let (done, ended) = channel();
        let thread = std::thread::Builder::new().name("control".to_owned());
        let started = thread.spawn(move || {
            run(&config, asks, end_asked);
            let _ = done.send(());
        });
        if let Err(error) = started {
            tell_deaf(&error.to_string());
        }
        Self { end: Some(end), ended }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.end = None;
        match self.ended.recv_timeout(THREAD_WAIT_MAX) {
            Ok(()) | Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The control thread.
fn run(config: &ControlConfig, asks: mpsc::UnboundedSender<Asked>, end_asked: oneshot::Receiver<()>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tell_deaf(&error.to_string()),
    };
    runtime.block_on(async {
        let (listener, file) = match listener::listen(config).await {
            Ok(listening) => listening,
            Err(error) => return tell_deaf(&error.to_string()),
        };
        info!(socket = %escape_path(&file.path), "listens to gristmill status, pause, resume, retry, skip and stop");
        let answers = Arc::new(Semaphore::new(server::CLIENTS_MAX));
        let address = Address::new(&file.path);
        let serving = tokio::spawn(server::serve(listener, address, Arc::clone(&answers), asks));
        // An error says the same: the host ends.
        let _ = end_asked.await;
        // First the file, so that nobody new finds it.
        drop(file);
        serving.abort();
        let all = u32::try_from(server::CLIENTS_MAX).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(LAST_ANSWERS_WAIT_MAX, answers.acquire_many(all)).await;
    });
    runtime.shutdown_background();
}

fn tell_deaf(reason: &str) {
    warn!(reason, "no control socket could be made; this host is talked to by signals only");
}
