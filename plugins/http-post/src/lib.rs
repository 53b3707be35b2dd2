//! Posts the JSON values of a batch to an HTTP server, many in one request, and makes of its answer what the batch's is.
//!
//! Settings: `url`, and where they are not as usual `body`, `template`, `content_type`, `field`, `max_records`, `max_bytes`,
//! `tombstones`, `client_errors`, `results`, `failure` and `header.NAME`; see docs/plugins.md. 2xx is ok, 429, 503 and other
//! failures of the server are retryable, with the wait that it asks for; other 4xx are fatal or reject the records to blame. The
//! plugin holds no credentials: the host adds them to what it sends.

mod fault;
mod item;
mod part;
mod request;
mod sender;
mod settings;
mod verdict;
#[cfg(target_family = "wasm")]
mod wasi;

pub use settings::Settings;

use std::sync::OnceLock;

use gristmill_plugin::{Batch, Failure, Need, fatal, handler};

handler!(process, init = start, needs = needs);

fn needs() -> Vec<Need> {
    vec![Need::setting("url", "where the records go"), Need::http("to post them there")]
}

/// The settings of this instance, read once.
fn settings() -> Result<&'static Settings, String> {
    static SETTINGS: OnceLock<Result<Settings, String>> = OnceLock::new();
    SETTINGS.get_or_init(|| Settings::read(gristmill_plugin::settings())).as_ref().map_err(String::clone)
}

fn start() -> Result<(), String> {
    settings().map(drop)
}

fn process(batch: &Batch) -> Result<(), Failure> {
    sender::send_batch(settings().map_err(fatal)?, batch, send, std::time::SystemTime::now)
}

#[cfg(target_family = "wasm")]
use wasi::send;

/// Natively there is no host to send anything.
#[cfg(not(target_family = "wasm"))]
fn send(request: &request::Request<'_>) -> Result<request::Answer, request::SendError> {
    Err(fault::Fault::Impossible("a host sends it, and there is none here").told(&request.target.authority))
}
