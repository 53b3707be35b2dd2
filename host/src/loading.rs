//! Reads the configuration and loads the plugin on a thread of its own: compiling takes long, and a stop is heard meanwhile.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use gristmill_guest::{Engine, EngineSettings, Plugin};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use crate::config::Config;
use crate::exit::{self, Exit};
use crate::plugin_file::{self, NamedBy};
use crate::signals::Asked;

/// What a run needs before it can begin.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) plugin: Plugin,
}

/// Loads both, or ends as soon as somebody asks to stop; the thread is then left behind, and the end of the process ends it.
///
/// # Errors
/// How the process ends instead.
pub(crate) async fn load(
    config: impl FnOnce() -> Result<Config, Exit> + Send + 'static,
    asks: &mut UnboundedReceiver<Asked>,
) -> Result<Loaded, Exit> {
    let (done, mut loaded) = oneshot::channel();
    let loading = move || {
        // Who was asked to stop listens no more.
        let _ = done.send(load_both(config));
    };
    std::thread::Builder::new()
        .name("loading".to_owned())
        .spawn(loading)
        .map_err(|error| Exit::because(exit::UNEXPECTED, format!("cannot start the thread that loads: {error}")))?;
    poll_fn(|cx| {
        if asks.poll_recv(cx).is_ready() {
            return Poll::Ready(Err(Exit::because(
                exit::CLEAN,
                "stopped as it was asked to, before any record was read",
            )));
        }
        let gone = |_| Err(Exit::because(exit::HOST_BUG, "loading ended without a word; please report it"));
        Pin::new(&mut loaded).poll(cx).map(|loaded| loaded.unwrap_or_else(gone))
    })
    .await
}

fn load_both(config: impl FnOnce() -> Result<Config, Exit>) -> Result<Loaded, Exit> {
    let config = config()?;
    let engine =
        Engine::new(&EngineSettings::default()).map_err(|error| Exit::because(exit::UNEXPECTED, error.to_string()))?;
    let section = &config.plugin;
    let (named_by, pinned) = (NamedBy::Configuration, section.digest.as_deref());
    let plugin = plugin_file::load(&section.path, named_by, pinned, &engine, &section.guest_settings())
        .map_err(|error| Exit::from(&error))?;
    Ok(Loaded { config, plugin })
}
