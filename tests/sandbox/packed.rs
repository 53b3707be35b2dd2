//! Batches and effects as packed bytes: what a guest sees of a batch and what comes back of its effects are what they were.

use std::sync::Arc;

use gristmill_core::outcome::{Answer, Effects, Fault, FaultClass, Outcome, Rejection};
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
    assert!(fault.detail.contains("the batch is larger than the memory the plugin may have"), "{}", fault.detail);
    assert!(matches!(mill.run(large(1 << 10)).answer, Answer::Outcome(Outcome::Ok(_))));
}

/// A worker with the guest whose answers are not as the layout has them.
fn forger() -> Mill {
    let plugin = Plugin::load(engine(), "forger", &guest_bytes("gristmill_forger"), &PluginSettings::default());
    Mill::of(plugin.unwrap()).with_sinks(&["x"])
}

/// The answer to a batch of one record with this key and value.
fn answer(mill: &mut Mill, key: &[u8], value: &[u8]) -> Answer {
    mill.run(Batch(vec![Record { key: Some(key.into()), value: Some(value.into()), ..Record::at(0) }])).answer
}

#[track_caller]
fn contract_fault(answer: Answer) -> String {
    match answer {
        Answer::Fault(Fault { class: FaultClass::Contract, detail }) => detail,
        other => panic!("no contract fault: {other:?}"),
    }
}

/// T-08: rows cost the host more than they cost the guest, so they count.
#[test]
fn rows_without_end_that_name_one_byte_are_refused_before_they_are_copied() {
    let mut mill = forger();
    for many in ["rejected 2400000", "emitted 600000", "headers 1200000"] {
        let detail = contract_fault(answer(&mut mill, many.as_bytes(), b""));
        assert!(detail.contains("its packed effects take "), "{many}: {detail}");
    }
    let ok = answer(&mut mill, b"emitted 1000", b"");
    assert_eq!(ok, Answer::Outcome(Outcome::Ok(Effects { rejected: Vec::new(), emitted: 1_000 })));
}

/// T-10: bytes by chance, and an answer that holds with one of its bytes changed.
#[test]
fn an_answer_of_any_bytes_is_read_or_refused_and_the_next_batch_works() {
    let mut mill = forger();
    let index: Vec<u8> = b"gmeffec1"
        .iter()
        .copied()
        .chain(
            [1_u32, 1, 1, 0, 0, 8, 1, 0, 8, 1, 9, 1, 9, 1, 3, 0, 0, 0, 1, 0, 8, 1, 9, 1]
                .iter()
                .flat_map(|number| number.to_le_bytes()),
        )
        .collect();
    let data = b"gmbytes1xy";
    let good = Effects { rejected: vec![Rejection { index: 0, reason: "x".to_owned() }], emitted: 1 };
    assert_eq!(answer(&mut mill, &index, data), Answer::Outcome(Outcome::Ok(good)));
    let mut refused = 0;
    for seed in 0..300 {
        let mut chance = Chance(ChaCha8Rng::seed_from_u64(seed));
        let (mut index, mut data) = (index.clone(), data.to_vec());
        match chance.below(4) {
            0 => index = chance.bytes().unwrap_or_default(),
            1 => data.truncate(chance.below(10) as usize),
            2 => index.truncate(chance.below(104) as usize),
            _ => {
                let at = chance.below(104) as usize;
                index[at] ^= 1 << chance.below(8);
            }
        }
        match answer(&mut mill, &index, &data) {
            Answer::Outcome(Outcome::Ok(_)) => {}
            other => {
                assert!(!contract_fault(other).is_empty(), "seed {seed}");
                refused += 1;
            }
        }
    }
    assert!(refused > 200, "{refused}");
    assert!(matches!(answer(&mut mill, b"", b""), Answer::Outcome(Outcome::Ok(_))));
}
