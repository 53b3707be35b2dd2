//! Records that wait since their schemas cannot be had.

use std::time::Duration;

use gristmill_core::time::Moment;

use super::Status;

/// How often waits are mentioned, one that goes on and those that follow each other.
const MENTIONED_EVERY: Duration = Duration::from_secs(30);

/// Since when schemas cannot be had, and why.
#[derive(Debug)]
pub(super) struct SchemaWait {
    since: Moment,
    mentioned: bool,
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
        let is_due = self.schemas_mentioned.is_none_or(|at| now.since(at) >= MENTIONED_EVERY);
        if is_due {
            self.schemas_mentioned = Some(now);
        }
        let before = self.schemas.take();
        let since = before.as_ref().map_or(now, |wait| wait.since);
        let mentioned = is_due || before.is_some_and(|wait| wait.mentioned);
        self.schemas = Some(SchemaWait { since, mentioned, until, reason: reason.to_owned() });
        self.keep_time(now);
        is_due.then(|| now.since(since))
    }

    /// Notes that they can. True where it was mentioned that they could not.
    pub(crate) fn schemas_came(&mut self, now: Moment) -> bool {
        let wait = self.schemas.take();
        self.keep_time(now);
        wait.is_some_and(|wait| wait.mentioned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whereabouts::Lanes;

    #[test]
    fn waits_for_schemas_are_mentioned_at_once_and_then_now_and_then_however_many_there_are() {
        let mut status = Status::new(Lanes::One);
        let at = |second: u64| Moment(second * 1_000_000);
        let wait = |status: &mut Status, second: u64| status.wait_for_schemas(at(second), at(second + 1), "down");
        assert_eq!((wait(&mut status, 1), wait(&mut status, 2)), (Some(Duration::ZERO), None));
        assert_eq!((wait(&mut status, 31), wait(&mut status, 32)), (Some(Duration::from_secs(30)), None));
        assert!(status.schemas_came(at(33)));
        assert_eq!(wait(&mut status, 34), None, "a registry that comes and goes");
        assert!(!status.schemas_came(at(35)), "nobody heard of it");
        assert_eq!((wait(&mut status, 60), wait(&mut status, 61)), (None, Some(Duration::from_secs(1))));
        assert!(status.schemas_came(at(62)));
    }
}
