//! What the Kafka edge tells the host: one enum, one channel, in the order in which things happened.
//!
//! What the core decides by comes as [`Event::Input`]; everything else is for logs, metrics and exit codes.

use std::sync::Arc;
use std::time::Duration;

use gristmill_core::io::{Input, RequestId};
use gristmill_core::record::{NextOffset, Partition};

use crate::arena::RecordBody;
use crate::error::{ClientErrorKind, ProduceFailure};
use crate::statistics::Statistics;

/// One piece of news.
#[derive(Debug)]
pub enum Event {
    /// For the core.
    Input(Input<RecordBody>),
    /// A broker answered. Told once. A member that gets no partition may hear nothing else for long.
    Reached,
    /// The client's own figures, every `statistics.interval.ms`.
    Statistics(Statistics),
    /// Something went wrong that the client deals with itself, unless it is fatal.
    ClientError {
        /// What the host may want to tell apart.
        kind: ClientErrorKind,
        /// librdkafka's name of the error, such as `_ALL_BROKERS_DOWN`.
        code: String,
        /// In librdkafka's words.
        text: String,
        /// The partition it is about, if it is about one.
        partition: Option<Partition>,
        /// True: this client will never work again.
        fatal: bool,
    },
    /// The group went on without this member, and its partitions are lost; it rejoins by itself (B8).
    Evicted {
        /// Why that may be.
        text: &'static str,
    },
    /// A subscribed topic is not there. Reading begins when it appears (O2).
    TopicMissing {
        /// Its name.
        name: Arc<str>,
    },
    /// The start of some assigned partitions is not known yet. They are not read; it is tried again (B02).
    StartUnknown {
        /// Which ones.
        partitions: Vec<Partition>,
        /// librdkafka's name of the error.
        code: String,
        /// For how long.
        since: Duration,
    },
    /// A committed offset was out of range, and the configuration says where to go on instead (O1).
    PositionMoved {
        /// Which partition.
        partition: Partition,
        /// The offset that is not in the log.
        wanted: NextOffset,
        /// Where reading goes on.
        now: NextOffset,
    },
    /// A position belongs to a topic that was deleted; there is a new one of the same name, in which the group has
    /// committed nothing (O1).
    TopicRecreated {
        /// Which partition.
        partition: Partition,
        /// The position in the old topic.
        wanted: NextOffset,
    },
    /// The core's answer to a revocation did not come in time; the partitions went without it (B4).
    RevokeUnanswered {
        /// Which ones.
        partitions: Vec<Partition>,
    },
    /// Records were dropped since they belong to no current reading, or were read before (I-13).
    Dropped {
        /// How many.
        records: u64,
    },
    /// All records of a request to produce were acknowledged, or one of them failed. Told once for each request, when the
    /// client has said its last word about each of its records.
    Produced {
        /// Which request.
        id: RequestId,
        /// How it ended. After a failure some of its records may be written nevertheless, and none will be later.
        result: Result<(), ProduceFailure>,
    },
    /// The producer was closed; nothing follows from it.
    ProducerClosed {
        /// True: everything it had was settled by then. False: what was left was given up, and answered as such.
        in_time: bool,
    },
    /// Leaving the group did not end in time. The process may end anyway (S3).
    CloseTimedOut,
}
