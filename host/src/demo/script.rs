//! What the demo produces, and when: a list of scenes. Pure data; the records' content follows from their numbers.

use std::time::Duration;

/// Partitions of the demo's topic.
pub(crate) const PARTITIONS: i32 = 3;
/// Records that close a batch in the demo.
pub(crate) const BATCH_RECORDS: u64 = 500;
/// The key whose batch the example plugin answers retryable at first.
pub(crate) const RETRY_KEY: &str = "rehearse-retry";
/// The key whose batch the example plugin panics on at first.
pub(crate) const PANIC_KEY: &str = "rehearse-panic";

/// One part of the demo.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene {
    /// What there is to see.
    pub(crate) title: &'static str,
    /// How many records.
    pub(crate) records: u64,
    /// How long between two of them.
    pub(crate) pause: Duration,
    /// The key of its middle record, if that is a special one.
    pub(crate) key: Option<&'static str>,
}

/// The demo.
pub(crate) const SCENES: &[Scene] = &[
    Scene {
        title: "3,000 records at once: batches close by size, 500 records each",
        records: 3_000,
        pause: Duration::ZERO,
        key: None,
    },
    Scene {
        title: "60 records, one every 20 ms: batches close by age, 300 ms after their first record",
        records: 60,
        pause: Duration::from_millis(20),
        key: None,
    },
    Scene {
        title: "the plugin says retryable twice: nothing is committed, the same batch comes again after a back-off",
        records: 40,
        pause: Duration::ZERO,
        key: Some(RETRY_KEY),
    },
    Scene {
        title: "the plugin panics twice: its instance is thrown away, a fresh one gets the same batch",
        records: 40,
        pause: Duration::ZERO,
        key: Some(PANIC_KEY),
    },
];

/// A scene that `--keep` repeats until somebody stops it.
pub(crate) const ENCORE: Scene = Scene {
    title: "a record every 10 ms, until you press Ctrl-C",
    records: 100,
    pause: Duration::from_millis(10),
    key: None,
};

/// One record of the demo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) partition: i32,
    pub(crate) key: String,
    pub(crate) value: String,
}

impl Scene {
    /// The records of this scene, the first one of which is number `from` in all.
    pub(crate) fn pieces(&self, from: u64) -> impl Iterator<Item = Piece> {
        let middle = self.records / 2;
        let key = self.key;
        (0..self.records).map(move |index| {
            let number = from + index;
            let usual = || ["oats", "rye", "wheat", "barley"][(number % 4) as usize].to_owned();
            Piece {
                partition: (number % PARTITIONS as u64) as i32,
                key: key.filter(|_| index == middle).map_or_else(usual, str::to_owned),
                value: format!(r#"{{"amount": {}}}"#, number % 90 + 10),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_has_its_special_record_once() {
        let scene = SCENES[2];
        let special = scene.pieces(7).filter(|piece| piece.key == RETRY_KEY).count();
        assert_eq!((special, scene.pieces(7).count() as u64), (1, scene.records));
    }

    #[test]
    fn every_partition_gets_records() {
        let partitions: std::collections::BTreeSet<i32> = SCENES[0].pieces(0).map(|piece| piece.partition).collect();
        assert_eq!(partitions.len(), PARTITIONS as usize);
    }
}
