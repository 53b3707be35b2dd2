//! Batches and effects as packed bytes: what a guest sees of a batch and what comes back of its effects are what they were.

use std::sync::Arc;

use gristmill_core::outcome::{Answer, Effects, Outcome};
use gristmill_guest::{EmittedHeader, EmittedRecord, Plugin, PluginSettings, Timestamp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::mill::{Batch, Mill, Record, engine, guest_bytes, with_limits};

/// Draws batches.
struct Chance(ChaCha8Rng);

impl Chance {
    fn below(&mut self, count: u32) -> u32 {
        self.0.next_u32() % count
    }

    /// Null, empty, or some bytes that need not be text.
    fn bytes(&mut self) -> Option<Vec<u8>> {
        match self.below(6) {
            0 => None,
            1 => Some(Vec::new()),
            _ => {
                let length = self.below(40) as usize;
                Some((0..length).map(|_| self.0.next_u32().to_le_bytes()[0]).collect())
            }
        }
    }

    fn record(&mut self) -> Record {
        let time = i64::from(self.0.next_u32()) - i64::from(u32::MAX / 2);
        Record {
            topic: ["orders", "größen", "a.b-c_d"][self.below(3) as usize].to_owned(),
            partition: self.below(5).cast_signed(),
            offset: (self.0.next_u64() >> 1).cast_signed(),
            timestamp: match self.below(3) {
                0 => Timestamp::None,
                1 => Timestamp::CreateTime(time),
                _ => Timestamp::LogAppendTime(time),
            },
            key: self.bytes(),
            value: self.bytes(),
            headers: (0..self.below(4)).map(|_| (self.bytes().unwrap_or_default(), self.bytes())).collect(),
        }
    }
}

/// What `mirror` has to emit of a record.
fn mirrored(index: u32, record: &Record) -> EmittedRecord {
    let Record { topic, partition, offset, timestamp, key, value, headers } = record.clone();
    let place = format!("{topic}/{partition}/{offset} {timestamp:?} {index}").into_bytes();
    let headers = headers.into_iter().chain([(b"place".to_vec(), Some(place))]);
    let headers = headers.map(|(name, value)| EmittedHeader { name, value }).collect();
    EmittedRecord { sink: Arc::from("seen"), key, value, headers, partition: None, source: Some(index) }
}

#[test]
fn what_a_guest_sees_and_emits_is_what_was_handed_over_to_the_last_byte() {
    let plugin = Plugin::load(engine(), "mirror", &guest_bytes("gristmill_mirror"), &PluginSettings::default());
    let mut mill = Mill::of(plugin.unwrap()).with_sinks(&["other", "seen"]);
    for seed in 0..200 {
        let mut chance = Chance(ChaCha8Rng::seed_from_u64(seed));
        let count = 1 + chance.below(60);
        let batch = Batch((0..count).map(|_| chance.record()).collect());
        let expected: Vec<EmittedRecord> = (0..).zip(&batch.0).map(|(index, record)| mirrored(index, record)).collect();
        let answered = mill.run(batch);
        let effects = Effects { rejected: Vec::new(), emitted: count };
        assert_eq!(answered.answer, Answer::Outcome(Outcome::Ok(effects)), "seed {seed}");
        assert_eq!(answered.emitted, expected, "seed {seed}");
    }
}

#[test]
fn a_batch_that_cannot_lie_in_the_guests_memory_packed_is_not_handed_over() {
    let settings = with_limits(|limits| limits.memory_bytes = 4 << 20);
    let plugin = Plugin::load(engine(), "mirror", &guest_bytes("gristmill_mirror"), &settings).unwrap();
    let mut mill = Mill::of(plugin).with_sinks(&["seen"]);
    let large = |bytes| Batch(vec![Record { value: Some(vec![7; bytes]), ..Record::at(0) }]);
    let Answer::Fault(fault) = mill.run(large(4 << 20)).answer else { panic!("it was handed over") };
    assert!(fault.detail.contains("batch"), "{}", fault.detail);
    assert!(matches!(mill.run(large(1 << 10)).answer, Answer::Outcome(Outcome::Ok(_))));
}
