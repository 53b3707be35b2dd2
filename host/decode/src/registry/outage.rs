//! When a registry that failed is asked again.
//!
//! It does not know why it failed, and asks no clock.

use std::time::{Duration, Instant};

use crate::failure::Reason;

/// The pause after the first failure; each further one doubles it.
const PAUSE_MIN: Duration = Duration::from_millis(500);

/// The longest pause, also where the registry asks for a longer one.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The failures since the last answer.
#[derive(Debug, Default)]
pub(super) struct Outage {
    failures: u32,
    /// The last failure, and when the pause after it ends.
    last: Option<(Reason, Instant)>,
}

impl Outage {
    /// The last failure and the rest of the pause, if there is one.
    pub(super) fn closed(&self, now: Instant) -> Option<(Reason, Duration)> {
        let (reason, until) = self.last.as_ref()?;
        let rest = until.checked_duration_since(now).filter(|rest| !rest.is_zero())?;
        Some((reason.clone(), rest.min(PAUSE_MAX)))
    }

    /// Notes that somebody asks, and lets nobody else do so until they know more, if the last answer was a failure.
    pub(super) fn begin(&mut self, now: Instant, time_max: Duration) {
        if let Some((_, until)) = &mut self.last {
            *until = now + time_max;
        }
    }

    /// Notes a failure, and says how long the pause is.
    pub(super) fn fail(&mut self, reason: Reason, retry_after: Option<Duration>, now: Instant) -> Duration {
        let doubled = PAUSE_MIN.saturating_mul(1 << self.failures.min(16));
        let pause = doubled.max(retry_after.unwrap_or_default()).min(PAUSE_MAX);
        self.failures = self.failures.saturating_add(1);
        self.last = Some((reason, now + pause));
        pause
    }

    /// Notes an answer.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_their_bound_and_begin_anew_after_an_answer() {
        let (mut outage, now) = (Outage::default(), Instant::now());
        let pauses: Vec<u128> = (0..8).map(|_| outage.fail(Reason::new("x"), None, now).as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        (0..100).for_each(|_| assert_eq!(outage.fail(Reason::new("x"), None, now), PAUSE_MAX));
        outage.end();
        assert_eq!(outage.closed(now), None);
        assert_eq!(outage.fail(Reason::new("x"), None, now), PAUSE_MIN);
    }

    #[test]
    fn a_wish_of_the_registry_is_followed_within_the_bound() {
        let (mut outage, now) = (Outage::default(), Instant::now());
        assert_eq!(outage.fail(Reason::new("x"), Some(Duration::from_secs(7)), now), Duration::from_secs(7));
        assert_eq!(outage.fail(Reason::new("x"), Some(Duration::from_secs(3600)), now), PAUSE_MAX);
    }

    #[test]
    fn one_question_at_a_time_finds_out_whether_it_is_over() {
        let (mut outage, now) = (Outage::default(), Instant::now());
        let pause = outage.fail(Reason::new("down"), None, now);
        assert_eq!(outage.closed(now), Some((Reason::new("down"), pause)));
        let later = now + pause;
        assert_eq!(outage.closed(later), None);
        outage.begin(later, Duration::from_secs(30));
        assert!(outage.closed(later).is_some(), "somebody asks already");
        outage.end();
        outage.begin(later, Duration::from_secs(30));
        assert_eq!(outage.closed(later), None, "nobody is kept from asking a registry that answers");
    }
}
