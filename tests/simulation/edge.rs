//! A member's Kafka edge: what it owns, where it reads, under which epoch. As rude as the real one was measured to be.
//!
//! Must not know what the machine makes of what it is told.

use std::collections::{BTreeMap, VecDeque};

use gristmill_core::io::{
    Assignment, Input, OffsetTrouble, Passed, RequestError, RequestId, RevokeId, SeekTo, StartPosition,
};
use gristmill_core::record::{Epoch, LeaderEpoch, NextOffset, Offset, RecordFacts};

use crate::broker::{Broker, Log, leader_epoch_before};
use crate::chance::Chance;
use crate::names::{Body, Place, body, partition, place};
use crate::scenario::Reset;

/// One partition as the edge reads it.
#[derive(Debug)]
pub(crate) struct Reading {
    /// First epoch of the assignment.
    pub(crate) assigned: Epoch,
    pub(crate) epoch: Epoch,
    /// Where this epoch began: reading may fall back to here and no further.
    began: i64,
    position: i64,
    /// Nothing can be read here until a seek.
    stuck: bool,
    revoking: bool,
}

/// The edge of one life.
#[derive(Debug, Default)]
pub(crate) struct Edge {
    pub(crate) readings: BTreeMap<Place, Reading>,
    pub(crate) revokes: BTreeMap<RevokeId, Vec<Place>>,
    epochs: u64,
    revoke_ids: u64,
    /// Inputs on their way to the machine, in order.
    pub(crate) inbox: VecDeque<Input<Body>>,
    pub(crate) fetching: bool,
    pub(crate) leaving: bool,
}

impl Edge {
    fn raise(&mut self) -> Epoch {
        self.epochs += 1;
        Epoch(self.epochs)
    }

    /// Takes partitions over: resolves where reading starts, and says so. Tells the starts that the reset policy chose.
    pub(crate) fn assign(
        &mut self,
        places: &[Place],
        broker: &Broker,
        reset: Reset,
    ) -> (Input<Body>, Vec<(Place, i64)>) {
        let mut assignments = Vec::new();
        let mut resets = Vec::new();
        for &place in places {
            let epoch = self.raise();
            let start = start(broker.committed[place], &broker.logs[place], reset);
            let position = match start {
                StartPosition::Committed(next) => Some(next.0),
                StartPosition::Reset(next) => {
                    resets.push((place, next.0));
                    Some(next.0)
                }
                StartPosition::Unusable(_) => None,
            };
            let began = position.unwrap_or(0);
            let reading =
                Reading { assigned: epoch, epoch, began, position: began, stuck: position.is_none(), revoking: false };
            self.readings.insert(place, reading);
            assignments.push(Assignment { partition: partition(place), epoch, start });
        }
        (Input::Assigned(assignments), resets)
    }

    /// Begins to give partitions up.
    pub(crate) fn revoke(&mut self, places: Vec<Place>) -> RevokeId {
        self.revoke_ids += 1;
        let id = RevokeId(self.revoke_ids);
        for place in &places {
            if let Some(reading) = self.readings.get_mut(place) {
                reading.revoking = true;
            }
        }
        self.revokes.insert(id, places);
        id
    }

    /// The machine is done with a revocation: the partitions are gone.
    pub(crate) fn answer_revoke(&mut self, id: RevokeId) -> Option<Vec<Place>> {
        let places = self.revokes.remove(&id)?;
        for place in &places {
            self.readings.remove(place);
        }
        Some(places)
    }

    /// Everything is lost.
    pub(crate) fn lose(&mut self) -> Option<Input<Body>> {
        let lost: Vec<_> = std::mem::take(&mut self.readings).into_keys().map(partition).collect();
        self.revokes.clear();
        (!lost.is_empty()).then_some(Input::Lost(lost))
    }

    /// Puts an input at the end of the way to the machine.
    pub(crate) fn send(&mut self, input: Input<Body>) {
        self.inbox.push_back(input);
    }

    /// Puts an input before the records that were read last, so that they come after it.
    pub(crate) fn send_before_records(&mut self, input: Input<Body>) {
        let mut at = self.inbox.len();
        while at > 0
            && matches!(self.inbox[at - 1], Input::Fetched(_) | Input::Passed(_) | Input::PositionTrouble { .. })
        {
            at -= 1;
        }
        self.inbox.insert(at, input);
    }

    /// Seeks one partition. On success the epoch rises.
    pub(crate) fn seek(&mut self, target: &SeekTo) -> Result<Epoch, RequestError> {
        let epoch = self.raise();
        let reading = self.readings.get_mut(&place(target.partition)).ok_or(RequestError::NotOurs)?;
        if target.epoch < reading.assigned {
            return Err(RequestError::NotOurs);
        }
        *reading = Reading {
            epoch,
            began: target.next.0,
            position: target.next.0,
            stuck: false,
            assigned: reading.assigned,
            revoking: reading.revoking,
        };
        Ok(epoch)
    }

    /// Seeks all targets; `spoil` decides for each whether it fails, and whether it was done all the same.
    pub(crate) fn seek_all(
        &mut self,
        id: RequestId,
        targets: &[SeekTo],
        mut spoil: impl FnMut() -> Option<(RequestError, bool)>,
    ) -> Input<Body> {
        let mut results = Vec::new();
        for target in targets {
            let result = match spoil() {
                Some((error, applied)) => {
                    if applied {
                        let _unreported = self.seek(target);
                    }
                    Err(error)
                }
                None => self.seek(target),
            };
            results.push((target.partition, result));
        }
        Input::Sought { id, results }
    }

    /// Falls back within the epoch: some records come again.
    pub(crate) fn repeat(&mut self, chance: &mut Chance) {
        for reading in self.readings.values_mut() {
            let back = i64::try_from(chance.below(6)).expect("small");
            reading.position = (reading.position - back).max(reading.began);
        }
    }

    /// Partitions that have something to read.
    pub(crate) fn readable(&self, broker: &Broker, while_revoking: bool) -> Vec<Place> {
        let open = |place: Place, reading: &Reading| {
            let log = &broker.logs[place];
            let something = log.high > reading.position || log.low > reading.position;
            !reading.stuck && (!reading.revoking || while_revoking) && something
        };
        self.readings.iter().filter(|(place, reading)| open(**place, reading)).map(|(&place, _)| place).collect()
    }

    /// Says that a partition cannot be read at its position.
    pub(crate) fn trouble(&mut self, place: Place, broker: &Broker, unreadable: bool) -> Option<Input<Body>> {
        let reading = self.readings.get_mut(&place)?;
        let at = NextOffset(reading.position);
        reading.stuck = true;
        let trouble = if unreadable { OffsetTrouble::Unreadable { at } } else { out_of_range(at, &broker.logs[place]) };
        Some(Input::PositionTrouble { partition: partition(place), epoch: reading.epoch, trouble })
    }

    /// True when the position lies before the start of the log.
    pub(crate) fn is_out_of_range(&self, place: Place, broker: &Broker) -> bool {
        self.readings.get(&place).is_some_and(|reading| reading.position < broker.logs[place].low)
    }

    /// Reads past offsets that hold no record, up to the next one that does or the end of the log.
    pub(crate) fn pass(&mut self, place: Place, broker: &Broker) -> Option<Input<Body>> {
        let reading = self.readings.get_mut(&place)?;
        let log = &broker.logs[place];
        let next = log.next_visible(reading.position).map_or(log.high, |entry| entry.offset);
        if next <= reading.position {
            return None;
        }
        reading.position = next;
        Some(Input::Passed(Passed {
            partition: partition(place),
            epoch: reading.epoch,
            next: NextOffset(next),
            leader_epoch: Some(leader_epoch_before(next)),
        }))
    }

    /// Reads the next record of a partition.
    pub(crate) fn read(&mut self, place: Place, broker: &Broker) -> Option<(RecordFacts, Body)> {
        let reading = self.readings.get_mut(&place)?;
        let entry = broker.logs[place].next_visible(reading.position)?;
        reading.position = entry.offset + 1;
        let facts = RecordFacts {
            partition: partition(place),
            offset: Offset(entry.offset),
            epoch: reading.epoch,
            leader_epoch: Some(LeaderEpoch(entry.leader_epoch)),
            bytes: entry.bytes,
            undecodable: entry.undecodable,
        };
        Some((facts, body(place, entry.offset)))
    }
}

fn start(committed: Option<i64>, log: &Log, reset: Reset) -> StartPosition {
    match (committed, reset) {
        (Some(next), _) if next < log.low || next > log.high => {
            StartPosition::Unusable(out_of_range(NextOffset(next), log))
        }
        (Some(next), _) => StartPosition::Committed(NextOffset(next)),
        (None, Reset::Earliest) => StartPosition::Reset(NextOffset(log.low)),
        (None, Reset::Latest) => StartPosition::Reset(NextOffset(log.high)),
        (None, Reset::Error) => StartPosition::Unusable(OffsetTrouble::NothingCommitted),
    }
}

fn out_of_range(wanted: NextOffset, log: &Log) -> OffsetTrouble {
    OffsetTrouble::OutOfRange { wanted, low: Some(NextOffset(log.low)), high: Some(NextOffset(log.high)) }
}
