//! A peer of the measurements: sentry_arroyo, which gathers records into batches, touches every value and commits after each batch.
//!
//! `BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS BATCH`. It says `assigned` when it is, `read RECORDS BYTES SUM` when it has read that many,
//! and ends when its input does. It must not know who else is measured.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sentry_arroyo::backends::kafka::InitialOffset;
use sentry_arroyo::backends::kafka::config::KafkaConfig;
use sentry_arroyo::backends::kafka::types::KafkaPayload;
use sentry_arroyo::processing::StreamProcessor;
use sentry_arroyo::processing::strategies::reduce::Reduce;
use sentry_arroyo::processing::strategies::{
    CommitRequest, ProcessingStrategy, ProcessingStrategyFactory, StrategyError, SubmitError,
};
use sentry_arroyo::types::{Message, Topic};

/// After this long a batch is whole whatever it holds.
const WAIT_MAX: Duration = Duration::from_millis(200);

/// How long it may be silent in the group.
const POLL_INTERVAL_MAX_MS: usize = 30_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [bootstrap, topic, group, _partitions, records, batch] = words.as_slice() else {
        eprintln!("BOOTSTRAP TOPIC GROUP PARTITIONS RECORDS BATCH");
        return ExitCode::FAILURE;
    };
    let (Ok(records), Ok(batch)) = (records.parse(), batch.parse()) else {
        eprintln!("RECORDS and BATCH are numbers");
        return ExitCode::FAILURE;
    };
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let (servers, earliest) = (vec![bootstrap.clone()], InitialOffset::Earliest);
    let config = KafkaConfig::new_consumer_config(servers, group.clone(), earliest, false, POLL_INTERVAL_MAX_MS, None);
    let steps = Steps { batch, seen: Arc::new(Mutex::new(Seen { wanted: records, ..Seen::default() })) };
    match StreamProcessor::with_kafka(config, steps, Topic::new(topic), None).run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What is made for each assignment.
struct Steps {
    batch: usize,
    seen: Arc<Mutex<Seen>>,
}

impl ProcessingStrategyFactory<KafkaPayload> for Steps {
    fn create(&self) -> Box<dyn ProcessingStrategy<KafkaPayload>> {
        println!("assigned");
        let last = Touch { seen: Arc::clone(&self.seen), done: None };
        let gather = |mut batch: Vec<KafkaPayload>, message: Message<KafkaPayload>| {
            batch.push(message.into_payload());
            Ok(batch)
        };
        Box::new(Reduce::new(last, Arc::new(gather), Arc::new(Vec::new), self.batch, WAIT_MAX, |_| 1))
    }
}

/// What was read so far.
#[derive(Default)]
struct Seen {
    wanted: u64,
    records: u64,
    bytes: u64,
    sum: u64,
}

/// The last step: touches every value of a batch, and asks for its commit. The one that comes with the library waits until its clock,
/// which moves in steps, has moved.
struct Touch {
    seen: Arc<Mutex<Seen>>,
    done: Option<CommitRequest>,
}

impl ProcessingStrategy<Vec<KafkaPayload>> for Touch {
    fn poll(&mut self) -> Result<Option<CommitRequest>, StrategyError> {
        Ok(self.done.take())
    }

    fn submit(&mut self, batch: Message<Vec<KafkaPayload>>) -> Result<(), SubmitError<Vec<KafkaPayload>>> {
        let request = CommitRequest { positions: batch.committable().collect() };
        self.done = Some(match self.done.take() {
            Some(earlier) => earlier.merge(request),
            None => request,
        });
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for record in batch.payload() {
            let value = record.payload().map_or(&[][..], Vec::as_slice);
            seen.records += 1;
            seen.bytes += value.len() as u64;
            seen.sum += value.last().map_or(0, |last| u64::from(*last));
        }
        if seen.records == seen.wanted {
            println!("read {} {} {}", seen.records, seen.bytes, seen.sum);
        }
        Ok(())
    }

    fn terminate(&mut self) {}

    fn join(&mut self, _: Option<Duration>) -> Result<Option<CommitRequest>, StrategyError> {
        Ok(self.done.take())
    }
}
