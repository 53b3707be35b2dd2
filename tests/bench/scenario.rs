//! The scenarios by name: what each one measures, and in which form.
//!
//! It must not know how any of it is measured.

use xtask::kafka::{Broker, Options};

use crate::cores::Cores;
use crate::course::{Course, Shape};
use crate::peer::Program;
use crate::race::Track;
use crate::report::Outcome;
use crate::{copying, decoding, growth, idle, lanes, latency, reading, start};

/// One scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// All read the same topic, broker and reader on a core each.
    Reading(Shape),
    /// The same, on whatever cores there are.
    ReadingFree(Shape),
    Copying(Shape),
    Summing(Shape),
    /// On whatever cores there are.
    Lanes(Shape),
    Decoding(decoding::Format, Shape),
    Growth(Shape),
    Latency,
    Idle,
    Start,
}

/// What the axes start from. Many enough that the quickest takes a second, and a whole number for each partition and each batch.
const BASE: Shape = Shape { value_bytes: 100, codec: "none", partitions: 6, batch: 10_000, records: 4_320_000 };
const LARGE: Shape = Shape { value_bytes: 1_000, records: 1_440_000, ..BASE };

/// All there are: the base, each axis by itself, then what is no race.
pub(crate) const ALL: [Scenario; 21] = [
    Scenario { name: "base", kind: Kind::Reading(BASE) },
    Scenario { name: "1KB", kind: Kind::Reading(LARGE) },
    Scenario { name: "lz4", kind: Kind::Reading(Shape { codec: "lz4", ..BASE }) },
    Scenario { name: "1KB-lz4", kind: Kind::Reading(Shape { codec: "lz4", ..LARGE }) },
    Scenario { name: "partitions-1", kind: Kind::Reading(Shape { partitions: 1, ..BASE }) },
    Scenario { name: "partitions-48", kind: Kind::Reading(Shape { partitions: 48, ..BASE }) },
    Scenario { name: "partitions-200", kind: Kind::Reading(Shape { partitions: 200, ..BASE }) },
    Scenario { name: "batches-1000", kind: Kind::Reading(Shape { batch: 1_000, records: 1_440_000, ..BASE }) },
    Scenario { name: "batches-100", kind: Kind::Reading(Shape { batch: 100, records: 144_000, ..BASE }) },
    Scenario { name: "free", kind: Kind::ReadingFree(BASE) },
    Scenario { name: "1KB-free", kind: Kind::ReadingFree(LARGE) },
    Scenario { name: "copy", kind: Kind::Copying(Shape { records: 1_440_000, ..BASE }) },
    Scenario { name: "sum", kind: Kind::Summing(BASE) },
    Scenario { name: "lanes", kind: Kind::Lanes(Shape { records: 432_000, batch: 1_000, ..BASE }) },
    Scenario { name: "json", kind: Kind::Decoding(decoding::Format::Json, BASE) },
    Scenario { name: "avro", kind: Kind::Decoding(decoding::Format::Avro, BASE) },
    Scenario { name: "growth", kind: Kind::Growth(Shape { records: 10_000_000, ..BASE }) },
    Scenario { name: "latency", kind: Kind::Latency },
    Scenario { name: "idle", kind: Kind::Idle },
    Scenario { name: "start", kind: Kind::Start },
    Scenario { name: "smoke", kind: Kind::Reading(Shape { records: 120_000, ..BASE }) },
];

/// What a scenario has to work with.
pub(crate) struct Stage<'s> {
    pub(crate) cores: Cores,
    pub(crate) broker: Broker,
    pub(crate) peers: &'s [(String, Program)],
    pub(crate) rounds: usize,
}

impl Stage<'_> {
    pub(crate) fn bootstrap(&self) -> String {
        self.broker.bootstrap()
    }

    /// Where a topic is raced on.
    pub(crate) fn track<'t>(&'t self, course: &'t Course) -> Track<'t> {
        Track { cores: &self.cores, broker: self.broker.process_id().unwrap_or_default(), course }
    }
}

impl Scenario {
    /// What it measures, in words.
    pub(crate) fn title(&self, records: Option<u64>) -> String {
        let told = |shape: &Shape| shape.with(records).told();
        match &self.kind {
            Kind::Reading(shape) | Kind::ReadingFree(shape) => told(shape),
            Kind::Copying(shape) => format!("each record copied to another topic; {}", told(shape)),
            Kind::Summing(shape) => format!("a field of each record read as JSON; {}", told(shape)),
            Kind::Lanes(shape) => format!("{}; {}", lanes::told(), told(shape)),
            Kind::Decoding(format, shape) => format!("{}; {}", format.told(), told(shape)),
            Kind::Growth(shape) => format!("more and more of them; in the end {}", told(shape)),
            Kind::Latency => latency::told(),
            Kind::Idle => idle::told(),
            Kind::Start => start::told(),
        }
    }

    /// Where its processes run, of these processors.
    pub(crate) fn cores(&self, cores: &Cores) -> Cores {
        match &self.kind {
            Kind::ReadingFree(_) | Kind::Lanes(_) => cores.free(),
            Kind::Reading(_) | Kind::Copying(_) | Kind::Summing(_) | Kind::Decoding(..) => cores.clone(),
            Kind::Growth(_) | Kind::Latency | Kind::Idle | Kind::Start => cores.clone(),
        }
    }

    /// Measures it, on a broker of its own.
    pub(crate) fn measure(
        &self,
        cores: &Cores,
        peers: &[(String, Program)],
        rounds: usize,
        records: Option<u64>,
    ) -> Outcome {
        let cores = self.cores(cores);
        cores.settle();
        let broker = match Broker::start(&Options::default()) {
            Ok(broker) => broker,
            Err(error) => panic!("cannot start Kafka: {error:#}"),
        };
        let stage = Stage { cores, broker, peers, rounds };
        match &self.kind {
            Kind::Reading(shape) | Kind::ReadingFree(shape) => reading::measure(&stage, &shape.with(records)),
            Kind::Copying(shape) => copying::measure(&stage, &shape.with(records)),
            Kind::Summing(shape) => decoding::sum(&stage, &shape.with(records)),
            Kind::Lanes(shape) => lanes::measure(&stage, &shape.with(records)),
            Kind::Decoding(format, shape) => decoding::measure(&stage, *format, &shape.with(records)),
            Kind::Growth(shape) => growth::measure(&stage, &shape.with(records)),
            Kind::Latency => latency::measure(&stage),
            Kind::Idle => idle::measure(&stage),
            Kind::Start => start::measure(&stage),
        }
    }
}
