//! Records that wait since their schemas cannot be had.

use std::time::Duration;

use gristmill_core::time::Moment;

use super::Status;

/// How often a wait that goes on is mentioned.
const MENTIONED_EVERY: Duration = Duration::from_secs(30);

/// Since when schemas cannot be had, and why.
#[derive(Debug)]
pub(super) struct SchemaWait {
    since: Moment,
    mentioned: Moment,
    /// When they are asked for again.
    pub(super) until: Moment,
    reason: String,
}

impl SchemaWait {
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }
}

impl Status {
    /// Notes that schemas cannot be had. Gives how long that is so, if it is to be mentioned now.
    pub(crate) fn wait_for_schemas(&mut self, now: Moment, until: Moment, reason: &str) -> Option<Duration> {
        let before = self.schemas.take();
        let since = before.as_ref().map_or(now, |wait| wait.since);
        let mentioned = before.map(|wait| wait.mentioned).filter(|at| now.since(*at) < MENTIONED_EVERY);
        self.schemas =
            Some(SchemaWait { since, mentioned: mentioned.unwrap_or(now), until, reason: reason.to_owned() });
        self.keep_time(now);
        mentioned.is_none().then(|| now.since(since))
    }

    /// Notes that they can.
    pub(crate) fn schemas_came(&mut self, now: Moment) {
        self.schemas = None;
        self.keep_time(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_schemas_is_mentioned_at_once_and_then_now_and_then() {
        let mut status = Status::new();
        let at = |second: u64| Moment(second * 1_000_000);
        let mut wait = |second: u64| status.wait_for_schemas(at(second), at(second + 1), "down");
        assert_eq!((wait(1), wait(2)), (Some(Duration::ZERO), None));
        assert_eq!((wait(31), wait(32)), (Some(Duration::from_secs(30)), None));
        status.schemas_came(at(33));
        assert_eq!(status.wait_for_schemas(at(34), at(35), "down"), Some(Duration::ZERO));
    }
}
