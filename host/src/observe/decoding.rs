//! What people see of decoding: records that are not what they should be, and schemas that cannot be had.

use gristmill_core::record::RecordFacts;
use gristmill_core::time::Moment;
use tracing::{info, warn};

use super::Observer;
use crate::body::Body;
use crate::decoding::News;
use crate::exit::{self, Exit};

impl Observer {
    /// Says of each reading's first record that cannot be decoded why; the others are told by their dead letters.
    pub(super) fn note_undecodable(&mut self, records: &[(RecordFacts, Body)]) {
        for (facts, body) in records.iter().filter(|(facts, _)| facts.undecodable) {
            let reason = body.failure().unwrap_or_default();
            if self.status.note_undecodable(facts, reason) {
                let (topic, partition, offset) = (body.original().topic(), facts.partition.number, facts.offset.0);
                warn!(%topic, partition, offset, reason, "this record cannot be decoded; more of this partition are not mentioned until it is read again");
            }
        }
    }

    /// The brokers' client matches patterns as its system does, so a pattern with formats may read more than ours say. To hand such
    /// records over as they are would be wrong, and to decode them a guess.
    pub(super) fn refuse_unclear_formats(&mut self, assigned: &str) {
        if self.identity.as_ref().is_some_and(|identity| identity.is_unclear(assigned)) {
            self.ends_with(Exit::because(
                exit::MISFIT,
                format!(
                    "topics: {assigned:?} is read by a pattern that reads otherwise here, so nobody can tell which formats it has; name \
                     it in kafka.topics, or write the pattern without backslashes and nested brackets"
                ),
            ));
        }
    }

    /// Hears what the decoding stage says beside inputs.
    pub(crate) fn hear_of_schemas(&mut self, now: Moment, news: &News) {
        match news {
            News::Input(_) => {}
            News::Waits { reason, again_in } => {
                if let Some(waited) = self.status.wait_for_schemas(now, now.after(*again_in), reason) {
                    let waited_ms = waited.as_millis() as u64;
                    warn!(reason, waited_ms, "waits for the schema registry; records that need it are not handed over");
                }
            }
            News::GoesOn { waited } => {
                if self.status.schemas_came(now) {
                    info!(waited_ms = waited.as_millis() as u64, "the schema registry answers again");
                }
            }
        }
    }
}
