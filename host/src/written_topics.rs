//! Whether the topics that are written to are there: asked once, beside the start, so that an operator hears of one that is missing
//! before the first record wants to go there.
//!
//! It neither delays a run nor ends one: the topic may be created later. It has a client of its own, since the producer's would go on
//! believing for minutes what it was told here.

use std::collections::BTreeMap;
use std::time::Instant;

use gristmill_kafka::ClientErrorKind;
use tracing::warn;

use crate::config::Config;

/// Begins to look, where there is something to write. Without a thread for it the first record tells.
pub(crate) fn look(config: &Config) {
    let mut keys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, topic) in config.writing.topics() {
        keys.entry(topic.to_owned()).or_default().push(key);
    }
    if keys.is_empty() {
        return;
    }
    let mut settings = config.consumer_settings(Instant::now());
    settings.topics = keys.keys().cloned().collect();
    let wait = config.start.wait;
    let looking = move || {
        // Brokers that do not answer are what the start itself tells of.
        let Ok(reach) = gristmill_kafka::reach(&settings, wait) else { return };
        for (topic, found) in reach.topics {
            let key = keys.get(&topic).map(|keys| keys.join(" ")).unwrap_or_default();
            if let Err(kind) = found {
                tell(&topic, &key, kind);
            }
        }
    };
    let _ = std::thread::Builder::new().name("written-topics".to_owned()).spawn(looking);
}

fn tell(topic: &str, key: &str, kind: ClientErrorKind) {
    match kind {
        ClientErrorKind::UnknownTopic => {
            warn!(topic, key, "a topic that is written to does not exist; create it, or correct the configuration");
        }
        ClientErrorKind::Authorization | ClientErrorKind::Authentication => {
            warn!(topic, key, "this user may not see a topic that is written to; give it the right to write there");
        }
        // Says nothing about the topic: whether it can be written to will show.
        ClientErrorKind::Unreachable | ClientErrorKind::Protocol | ClientErrorKind::Other => {}
    }
}
