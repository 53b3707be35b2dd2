//! The states of a running host, in the words that logs, the live line and `gristmill status` share.

use gristmill_core::time::Moment;

use super::in_hand::{InHand, Stands};

/// What the host is doing. Borrows its texts, since it is asked for with every input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State<'s> {
    /// Reading its configuration, loading its plugin.
    Starting,
    /// Waiting for partitions.
    Joining,
    /// Records may flow.
    Running,
    /// A batch failed and waits for its next attempt.
    Waiting { attempt: u32, until: Moment, reason: &'s str },
    /// What a batch made was not acknowledged before, and is being written again.
    WaitingForBrokers { reason: &'s str },
    /// The schema registry does not answer, and the next records need it.
    WaitingForSchemas { until: Moment, reason: &'s str },
    /// Blocked on purpose.
    Held { reason: &'s str },
    /// Hand-overs are paused by an operator.
    Paused,
    /// Asked to stop, or on its way out by itself: what it waits for since when. Nothing named: leaving the group.
    Draining { since: Moment, waits_for: Option<&'static str> },
    /// Over.
    Stopped,
}

impl State<'_> {
    /// The word for this state, the same everywhere.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Joining => "joining",
            Self::Running => "running",
            Self::Waiting { .. } | Self::WaitingForBrokers { .. } | Self::WaitingForSchemas { .. } => "waiting",
            Self::Held { .. } => "held",
            Self::Paused => "paused",
            Self::Draining { .. } => "draining",
            Self::Stopped => "stopped",
        }
    }
}

/// The state of a host that has this in hand, where that waits.
pub(super) fn waiting(in_hand: &InHand) -> Option<State<'_>> {
    let failing = in_hand.failing.as_ref()?;
    let reason = failing.reason.as_str();
    match in_hand.stands {
        Stands::Waits { until, .. } => Some(State::Waiting { attempt: in_hand.attempt, until, reason }),
        Stands::Writes { .. } if failing.unwritten => Some(State::WaitingForBrokers { reason }),
        Stands::Out { .. } | Stands::Answered | Stands::Writes { .. } => None,
    }
}
