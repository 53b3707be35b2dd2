//! The live line of a run on a terminal: when it is drawn, and from what. What it looks like is [`crate::cli`]'s business.

use std::time::Duration;

use gristmill_core::time::Moment;

use crate::cli::{LiveLine, Snapshot};
use crate::observe::StopWaits;
use crate::start_watch::StartWatch;
use crate::status::{State, Status};

/// How often the line is drawn.
const EVERY: Duration = Duration::from_millis(250);

/// A batch that is longer with the plugin is shown. With faster ones the line would flicker.
const OUT_SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Draws the live line.
pub(crate) struct Live {
    line: LiveLine,
    records_max: u32,
    due: Moment,
    rate: Rate,
}

impl Live {
    pub(crate) fn new(line: LiveLine, records_max: u32) -> Self {
        Self { line, records_max, due: Moment(0), rate: Rate::default() }
    }

    /// When it is to be drawn next.
    pub(crate) fn due(&self) -> Moment {
        self.due
    }

    pub(crate) fn show(&mut self, now: Moment, status: &Status, start: &StartWatch, waits: StopWaits) {
        if now < self.due {
            return;
        }
        self.due = now.after(EVERY);
        let state = status.state();
        let next_in = if let State::Waiting { until, .. } = &state { Some(until.since(now)) } else { None };
        let detail = detail(now, status, start, waits);
        let out = status.batch_out().map(|(records, since)| (records, now.since(since)));
        self.line.draw(&Snapshot {
            state: state.word(),
            detail,
            next_in,
            out: out.filter(|(_, age)| *age >= OUT_SHOWN_AFTER),
            partitions: status.assigned.len(),
            records_per_second: self.rate.per_second(now, status.counts.committed),
            lag: status.lag(),
            filling: status.filling,
            records_max: self.records_max,
            committed: status.counts.committed,
        });
    }

    /// Takes the line away, so that what follows stands on a line of its own.
    pub(crate) fn clear(&mut self) {
        self.line.clear();
    }
}

/// What the state is about, where there is more to say than its word.
pub(crate) fn detail(now: Moment, status: &Status, start: &StartWatch, waits: StopWaits) -> Option<String> {
    match status.state() {
        State::Joining => start.waits_for(now),
        state => words(now, &state, status.more_held(), waits),
    }
}

/// What a state is about, as far as the state itself knows.
fn words(now: Moment, state: &State<'_>, more_held: usize, waits: StopWaits) -> Option<String> {
    match state {
        State::Waiting { attempt, reason, .. } => Some(format!("attempt {attempt} failed: {reason}")),
        State::WaitingForBrokers { reason } => Some((*reason).to_owned()),
        State::WaitingForSchemas { until, reason } => {
            Some(format!("no schemas, asked again in {} s: {reason}", until.since(now).as_secs()))
        }
        State::Held { reason, .. } if more_held > 0 => Some(format!("{reason} (and {more_held} more)")),
        State::Held { reason, .. } => Some((*reason).to_owned()),
        State::Draining { since, waits_for } => {
            let (what, wait_max) = waits.for_the(*waits_for);
            let left = since.after(wait_max).since(now).as_secs();
            Some(format!("waits for {what}, {left} s at most"))
        }
        State::Starting | State::Joining | State::Running | State::Paused | State::Stopped => None,
    }
}

/// A rate over the last few draws.
#[derive(Debug, Default)]
struct Rate {
    /// Moment and count at each of the last draws, the oldest first.
    seen: std::collections::VecDeque<(Moment, u64)>,
}

/// Draws that the rate looks back over: two seconds.
const DRAWS: usize = 8;

impl Rate {
    fn per_second(&mut self, now: Moment, count: u64) -> f64 {
        self.seen.push_back((now, count));
        if self.seen.len() > DRAWS {
            self.seen.pop_front();
        }
        let Some(&(then, before)) = self.seen.front() else { return 0.0 };
        let seconds = now.since(then).as_secs_f64();
        if seconds > 0.0 { (count - before) as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gristmill_core::io::{
        Action, BatchId, ClosedBy, Delivery, DeliveryId, HeldReason, Input, OffsetTrouble, PluginId, Report,
    };
    use gristmill_core::record::{NextOffset, Partition, Topic};

    use super::*;
    use crate::narrate::TopicNames;
    use crate::whereabouts::Lanes;

    struct Orders;

    impl TopicNames for Orders {
        fn name(&self, _: Topic) -> Arc<str> {
            "orders".into()
        }
    }

    fn shown(status: &Status, second: u64) -> Option<String> {
        let waits = StopWaits { grace: Duration::from_secs(20), leave: Duration::from_secs(5) };
        words(Moment(second * 1_000_000), &status.state(), status.more_held(), waits)
    }

    #[test]
    fn a_failed_attempt_is_called_failed() {
        let now = Moment(0);
        let waiting = State::Waiting { attempt: 4, until: now.after(EVERY), reason: "the database is down" };
        let waits = StopWaits { grace: EVERY, leave: EVERY };
        assert_eq!(words(now, &waiting, 0, waits).as_deref(), Some("attempt 4 failed: the database is down"));
    }

    #[test]
    fn what_is_held_is_named_with_its_partition() {
        let mut status = Status::new(Lanes::One);
        for number in [3, 5] {
            let trouble = OffsetTrouble::OutOfRange {
                wanted: NextOffset(2),
                low: Some(NextOffset(7)),
                high: Some(NextOffset(9)),
            };
            let reason = HeldReason::Offset { partition: Partition { topic: Topic(0), number }, trouble };
            status.note_action(Moment(0), &Action::<()>::Report(Report::Held { reason }), &Orders);
        }
        let held = shown(&status, 1).unwrap();
        assert!(
            held.starts_with("orders/3: offset 2 is not in the log, ") && held.ends_with(" (and 1 more)"),
            "{held}"
        );
    }

    #[test]
    fn a_stop_says_what_it_waits_for_and_how_long_it_still_may() {
        let mut status = Status::new(Lanes::One);
        let delivery = Delivery::<()> {
            id: DeliveryId(1),
            batch: BatchId(1),
            attempt: 1,
            plugin: PluginId(1),
            places: Vec::new(),
            records: Arc::new([]),
            bytes: 0,
            closed_by: ClosedBy::Records,
            part: false,
        };
        status.note_action(Moment(0), &Action::Deliver(delivery), &Orders);
        status.note_input(Moment(2_000_000), &Input::<()>::StopAsked);
        assert_eq!(shown(&status, 10).as_deref(), Some("waits for the running batch, 12 s at most"));
        status.note_action(Moment(11_000_000), &Action::<()>::Leave, &Orders);
        assert_eq!(shown(&status, 12).as_deref(), Some("waits for leaving the group, 4 s at most"));
        assert_eq!(shown(&status, 60).as_deref(), Some("waits for leaving the group, 0 s at most"));
    }

    #[test]
    fn the_rate_looks_back_two_seconds() {
        let mut rate = Rate::default();
        let mut shown = 0.0;
        for draw in 0..20u64 {
            shown = rate.per_second(Moment(draw * 250_000), draw * 100);
        }
        assert!((shown - 400.0).abs() < 1.0, "{shown}");
    }
}
