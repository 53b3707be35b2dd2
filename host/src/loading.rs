//! Reads the configuration and loads the plugin on a thread of its own: compiling takes long, and a stop is heard meanwhile.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use gristmill_guest::{Cache, Plugin};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use crate::compiling;
use crate::config::Config;
use crate::exit::{self, Exit};
use crate::plugin_file::{self, NamedBy};
use crate::signals::Asked;

/// Does something that takes long, or ends as soon as somebody asks to stop; the thread is then left behind, and the end of the
/// process ends it. `hears` is given what is asked meanwhile, and says whether it is a stop.
///
/// # Errors
/// How the process ends instead.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Exit> + Send + 'static,
    asks: &mut UnboundedReceiver<Asked>,
    mut hears: impl FnMut(Asked) -> bool,
) -> Result<T, Exit> {
    let (done, mut ended) = oneshot::channel();
    let working = move || {
        // Who was asked to stop listens no more.
        let _ = done.send(work());
    };
    std::thread::Builder::new()
        .name("loading".to_owned())
        .spawn(working)
        .map_err(|error| Exit::because(exit::UNEXPECTED, format!("cannot start the thread that loads: {error}")))?;
    poll_fn(|cx| {
        while let Poll::Ready(asked) = asks.poll_recv(cx) {
            if asked.is_none_or(&mut hears) {
                return Poll::Ready(Err(Exit::because(
                    exit::CLEAN,
                    "stopped as it was asked to, before any record was read",
                )));
            }
        }
        let gone = |_| Err(Exit::because(exit::HOST_BUG, "loading ended without a word; please report it"));
        Pin::new(&mut ended).poll(cx).map(|ended| ended.unwrap_or_else(gone))
    })
    .await
}

/// Loads the plugin of a configuration, with what is kept of it in `cache`. Blocks while it compiles and starts for trial.
///
/// # Errors
/// How the process ends for it.
pub(crate) fn plugin(config: &Config, cache: Option<Cache>) -> Result<Plugin, Exit> {
    let section = &config.plugin;
    let engine = compiling::engine(section.engine_settings(), cache)?;
    let (named_by, pinned) = (NamedBy::Configuration, section.digest.as_deref());
    plugin_file::load(&section.path, named_by, pinned, &engine, &section.guest_settings())
        .map_err(|error| Exit::from(&error.with_secrets(&section.secrets)))
}
