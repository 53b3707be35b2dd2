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
    last: Option<Last>,
}

/// The last failure that counted.
#[derive(Debug)]
struct Last {
    reason: Reason,
    since: Instant,
    /// When the pause after it ends.
    until: Instant,
    /// Somebody asks again at the moment. Until they know more, and at most until then, nobody else does.
    asked_until: Option<Instant>,
}

impl Outage {
    /// The last failure and the rest of the pause, if there is one.
    pub(super) fn closed(&self, now: Instant) -> Option<(Reason, Duration)> {
        let last = self.last.as_ref()?;
        let pause = last.until.saturating_duration_since(now);
        // How soon they know more is not known; as a rule it is soon.
        let asked =
            last.asked_until.map_or(Duration::ZERO, |until| until.saturating_duration_since(now).min(PAUSE_MIN));
        Some(pause.max(asked)).filter(|rest| !rest.is_zero()).map(|rest| (last.reason.clone(), rest))
    }

    /// Notes that somebody asks, and lets nobody else do so until they know more, if the last answer was a failure.
    pub(super) fn begin(&mut self, now: Instant, time_max: Duration) {
        if let Some(last) = &mut self.last {
            last.asked_until = Some(now + time_max);
        }
    }

    /// Notes that a question failed which was asked at `asked_at`, and says how long the pause is.
    pub(super) fn fail(
        &mut self,
        reason: Reason,
        retry_after: Option<Duration>,
        asked_at: Instant,
        now: Instant,
    ) -> Duration {
        // Questions of many threads that were on their way together fail together: that is one failure.
        if let Some((_, rest)) =
            self.closed(now).filter(|_| self.last.as_ref().is_some_and(|last| asked_at < last.since))
        {
            return rest;
        }
        let doubled = PAUSE_MIN.saturating_mul(1 << self.failures.min(16));
        let pause = doubled.max(retry_after.unwrap_or_default()).min(PAUSE_MAX);
        self.failures = self.failures.saturating_add(1);
        self.last = Some(Last { reason, since: now, until: now + pause, asked_until: None });
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
        let pauses: Vec<u128> = (0..8).map(|_| outage.fail(Reason::new("x"), None, now, now).as_millis()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        (0..100).for_each(|_| assert_eq!(outage.fail(Reason::new("x"), None, now, now), PAUSE_MAX));
        outage.end();
        assert_eq!(outage.closed(now), None);
        assert_eq!(outage.fail(Reason::new("x"), None, now, now), PAUSE_MIN);
    }

    #[test]
    fn a_wish_of_the_registry_is_followed_within_the_bound() {
        let (mut outage, now) = (Outage::default(), Instant::now());
        assert_eq!(outage.fail(Reason::new("x"), Some(Duration::from_secs(7)), now, now), Duration::from_secs(7));
        assert_eq!(outage.fail(Reason::new("x"), Some(Duration::from_secs(3600)), now, now), PAUSE_MAX);
    }

    #[test]
    fn questions_that_fail_together_are_one_failure() {
        let (mut outage, start) = (Outage::default(), Instant::now());
        let at = |millis: u64| start + Duration::from_millis(millis);
        assert_eq!(outage.fail(Reason::new("x"), None, at(0), at(10)), PAUSE_MIN);
        assert_eq!(outage.fail(Reason::new("x"), None, at(1), at(110)), PAUSE_MIN - Duration::from_millis(100));
        assert_eq!(outage.fail(Reason::new("x"), None, at(510), at(520)), PAUSE_MIN * 2);
    }

    #[test]
    fn one_question_at_a_time_finds_out_whether_it_is_over() {
        let (mut outage, now) = (Outage::default(), Instant::now());
        let pause = outage.fail(Reason::new("down"), None, now, now);
        assert_eq!(outage.closed(now), Some((Reason::new("down"), pause)));
        let later = now + pause;
        assert_eq!(outage.closed(later), None);
        outage.begin(later, Duration::from_secs(30));
        let rest = outage.closed(later).map(|(_, rest)| rest);
        assert_eq!(rest, Some(PAUSE_MIN), "somebody asks already, and may know more soon");
        outage.end();
        outage.begin(later, Duration::from_secs(30));
        assert_eq!(outage.closed(later), None, "nobody is kept from asking a registry that answers");
    }
}
