//! Records that a plugin wants written: kept from its answer until the core wants them written, and forgotten otherwise.
//!
//! It knows which topic stands behind a sink, and what a record tells of where it came from. Whether anything is written is the
//! core's decision, and sending it the writer's business.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use gristmill_core::io::DeliveryId;
use gristmill_core::record::Record;
use gristmill_guest::EmittedRecord;
use gristmill_kafka::{Outgoing, OutgoingBody, OutgoingHeader};

use crate::body::Body;
use crate::config::SinkConfig;

/// The headers that tell where an emitted record came from. They are not those of a dead letter: what is emitted has not failed.
const TOPIC: &str = "gristmill.source.topic";
const PARTITION: &str = "gristmill.source.partition";
const OFFSET: &str = "gristmill.source.offset";
const PLUGIN: &str = "gristmill.source.plugin";

/// The records of one hand-over, which emitted records name as their sources.
type Sources = Arc<[Record<Body>]>;

/// What stands between a plugin's answer and the writer.
#[derive(Default)]
pub(crate) struct Emitting {
    names: Arc<[Arc<str>]>,
    sinks: BTreeMap<Arc<str>, Sink>,
    /// What is with the plugin. Empty without sinks.
    out: BTreeMap<DeliveryId, Sources>,
    /// What the answer that the core hears just now wants written.
    wanted: Option<Wanted>,
}

/// A place that a plugin may emit to.
struct Sink {
    topic: Arc<str>,
    provenance: bool,
}

struct Wanted {
    delivery: DeliveryId,
    sources: Sources,
    emitted: Vec<EmittedRecord>,
}

impl Emitting {
    pub(crate) fn new(sinks: &BTreeMap<String, SinkConfig>) -> Self {
        let sinks: BTreeMap<Arc<str>, Sink> = sinks
            .iter()
            .map(|(name, sink)| {
                let topic = Arc::from(sink.topic.as_str());
                (Arc::from(name.as_str()), Sink { topic, provenance: sink.provenance })
            })
            .collect();
        Self { names: sinks.keys().map(Arc::clone).collect(), sinks, ..Self::default() }
    }

    /// Notes what is handed over, and gives the names of the sinks that may be emitted to.
    pub(crate) fn handed_over(&mut self, delivery: DeliveryId, records: &Sources) -> Arc<[Arc<str>]> {
        if !self.sinks.is_empty() {
            self.out.insert(delivery, Arc::clone(records));
        }
        Arc::clone(&self.names)
    }

    /// Notes what an answer wants written, before the core hears of the answer.
    pub(crate) fn answered(&mut self, delivery: DeliveryId, emitted: Vec<EmittedRecord>) {
        let sources = self.out.remove(&delivery);
        self.wanted = sources.filter(|_| !emitted.is_empty()).map(|sources| Wanted { delivery, sources, emitted });
    }

    /// What the answer to this hand-over wants written; `digest` is that of the plugin that answered.
    pub(crate) fn take(&mut self, delivery: DeliveryId, digest: &str) -> Vec<Outgoing> {
        let Some(Wanted { sources, emitted, .. }) = self.wanted.take_if(|wanted| wanted.delivery == delivery) else {
            return Vec::new();
        };
        let sinks = &self.sinks;
        let outgoing = emitted.into_iter().filter_map(|record| {
            // The guest edge lets no other sink through.
            let sink = sinks.get(&record.sink)?;
            Some(outgoing(record, sink, &sources, digest))
        });
        outgoing.collect()
    }

    /// The core has heard the answer and wants nothing of it written, or has taken it.
    pub(crate) fn forget(&mut self) {
        self.wanted = None;
    }
}

fn outgoing(record: EmittedRecord, sink: &Sink, sources: &[Record<Body>], digest: &str) -> Outgoing {
    let EmittedRecord { sink: _, key, value, headers, partition, source } = record;
    let headers = headers
        .into_iter()
        .map(|header| OutgoingHeader { name: Cow::Owned(header.name), value: header.value })
        .collect();
    let mut added = Vec::new();
    if sink.provenance {
        let source = source.and_then(|index| sources.get(index as usize));
        if let Some(original) = source.map(|record| record.body.original()) {
            added.push(OutgoingHeader::text(TOPIC, &**original.topic()));
            added.push(OutgoingHeader::text(PARTITION, original.partition().to_string()));
            added.push(OutgoingHeader::text(OFFSET, original.offset().to_string()));
        }
        added.push(OutgoingHeader::text(PLUGIN, digest));
    }
    let body = OutgoingBody::Owned { key, value, headers };
    Outgoing { topic: Arc::clone(&sink.topic), partition, timestamp_ms: None, body, added }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: DeliveryId = DeliveryId(1);
    const SECOND: DeliveryId = DeliveryId(2);

    fn emitting(provenance: bool) -> Emitting {
        let sink = SinkConfig { topic: "copies-v1".to_owned(), provenance };
        Emitting::new(&BTreeMap::from([("copies".to_owned(), sink)]))
    }

    fn emitted() -> Vec<EmittedRecord> {
        let value = Some(b"v".to_vec());
        vec![EmittedRecord {
            sink: Arc::from("copies"),
            key: None,
            value,
            headers: Vec::new(),
            partition: Some(2),
            source: None,
        }]
    }

    #[test]
    fn what_the_core_does_not_want_written_is_forgotten() {
        let mut emitting = emitting(true);
        assert_eq!(*emitting.handed_over(FIRST, &Arc::default()), [Arc::from("copies")]);
        emitting.answered(FIRST, emitted());
        emitting.forget();
        assert!(emitting.take(FIRST, "d").is_empty());
        // An answer is given once: a second one of the same hand-over means nothing.
        emitting.answered(FIRST, emitted());
        assert!(emitting.take(FIRST, "d").is_empty());
    }

    #[test]
    fn only_the_answer_that_is_meant_is_written() {
        let mut emitting = emitting(true);
        emitting.handed_over(FIRST, &Arc::default());
        emitting.answered(FIRST, emitted());
        assert!(emitting.take(SECOND, "d").is_empty());
        let [record] = &emitting.take(FIRST, "sha256:d")[..] else { panic!("one was emitted") };
        assert_eq!((&*record.topic, record.partition, record.value()), ("copies-v1", Some(2), Some(&b"v"[..])));
        // Made from no record, it tells of the plugin only.
        let headers: Vec<_> = record.headers().collect();
        assert_eq!(headers, [(PLUGIN.as_bytes(), Some(&b"sha256:d"[..]))]);
    }

    #[test]
    fn without_provenance_nothing_is_added() {
        let mut emitting = emitting(false);
        emitting.handed_over(FIRST, &Arc::default());
        emitting.answered(FIRST, emitted());
        assert_eq!(emitting.take(FIRST, "d")[0].headers().count(), 0);
    }
}
