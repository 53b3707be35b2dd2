//! News about records, whatever stands for a record's body: the edge puts more into it before the core sees it.

use super::Input;

impl<R> Input<R> {
    /// The same news about records with other bodies.
    pub fn with_bodies<S>(self, make: impl FnMut(R) -> S) -> Input<S> {
        let mut make = make;
        match self {
            Self::Fetched(records) => {
                Input::Fetched(records.into_iter().map(|(facts, body)| (facts, make(body))).collect())
            }
            Self::Tick => Input::Tick,
            Self::Assigned(assignments) => Input::Assigned(assignments),
            Self::Revoking { id, partitions, deadline } => Input::Revoking { id, partitions, deadline },
            Self::Lost(partitions) => Input::Lost(partitions),
            Self::Passed(passed) => Input::Passed(passed),
            Self::PositionTrouble { partition, epoch, trouble } => Input::PositionTrouble { partition, epoch, trouble },
            Self::Answered { delivery, answer } => Input::Answered { delivery, answer },
            Self::CommitEnded { id, result } => Input::CommitEnded { id, result },
            Self::Produced { id, result } => Input::Produced { id, result },
            Self::CommittedKnown { id, result } => Input::CommittedKnown { id, result },
            Self::Sought { id, results } => Input::Sought { id, results },
            Self::PluginReady(plugin) => Input::PluginReady(plugin),
            Self::PauseAsked => Input::PauseAsked,
            Self::ResumeAsked => Input::ResumeAsked,
            Self::RetryAsked => Input::RetryAsked,
            Self::SkipAsked { reason, only } => Input::SkipAsked { reason, only },
            Self::MemoryShort => Input::MemoryShort,
            Self::StopAsked => Input::StopAsked,
            Self::StopNowAsked => Input::StopNowAsked,
            Self::Fenced => Input::Fenced,
            Self::Left => Input::Left,
        }
    }
}
