//! What came by the control socket: logged, granted or refused, answered once what follows from it has happened.
//!
//! It does not know how a wish reaches the machine; the run loop does. Nobody is waited for.

use gristmill_core::record::Partition;
use gristmill_core::time::Moment;
use gristmill_guest::shortened;
use tracing::{debug, info};

use crate::control::{Address, Answer, Done, HostStatus, Identity, Refusal, RefusalCode, Request, Wish};
use crate::excerpt::short_reason;
use crate::narrate::TopicNames;
use crate::status::{Blocked, Status};

/// How much of a place is repeated that somebody named.
const PLACE_CHARS_MAX: usize = 100;

/// A wish that was granted, with what there was before.
#[derive(Debug)]
pub(crate) struct Granted {
    wish: Wish,
    was_paused: bool,
    was_ending: bool,
    /// The partition whose batch is to be skipped, where it is one of several.
    skipped: Option<Partition>,
    blocked: Blocked,
}

/// Says who wishes what.
pub(crate) fn tell(wish: &Wish) {
    let (word, uid, pid) = (wish.request.word(), wish.caller.uid, wish.caller.pid);
    match wish.request {
        // A question changes nothing, and may be asked every second.
        Request::Status {} => debug!(uid, pid, "asked for its status"),
        Request::Skip { ref reason, .. } => {
            info!(uid, pid, reason = %short_reason(reason), "asked through the control socket to skip what is held")
        }
        Request::Pause {} | Request::Resume {} | Request::Retry {} | Request::Stop { .. } => {
            info!(wish = word, uid, pid, "asked through the control socket");
        }
    }
}

/// Notes what there is before the wish is granted. `None`: it was refused.
pub(crate) fn grant(wish: Wish, status: &Status, identity: &Identity, topics: &impl TopicNames) -> Option<Granted> {
    tell(&wish);
    if let Some(refusal) = refusal(&wish.request, status, identity) {
        wish.answer(refusal);
        return None;
    }
    let (was_paused, was_ending) = (status.is_paused(), status.is_ending());
    let skipped = match &wish.request {
        Request::Skip { at: Some(at), .. } => status.held_at(at.trim()).and_then(|held| held.partition),
        Request::Skip { at: None, .. }
        | Request::Status {}
        | Request::Pause {}
        | Request::Resume {}
        | Request::Retry {}
        | Request::Stop { .. } => None,
    };
    Some(Granted { wish, was_paused, was_ending, skipped, blocked: status.blocked(topics) })
}

/// Why a wish cannot be granted, if it cannot.
fn refusal(request: &Request, status: &Status, identity: &Identity) -> Option<Refusal> {
    let ending = status.is_ending().then(|| Refusal::new(RefusalCode::Ending, "the host is on its way out"));
    match request {
        Request::Status {} | Request::Stop { .. } => None,
        Request::Pause {} | Request::Resume {} | Request::Retry {} => ending,
        Request::Skip { reason, .. } if reason.trim().is_empty() => {
            Some(Refusal::new(RefusalCode::NoReason, "a skip has to say why"))
        }
        Request::Skip { .. } if identity.dead_letter_topic().is_none() => Some(Refusal::new(
            RefusalCode::NoDeadLetterTopic,
            "there is no dead-letter topic, and what is skipped must not be lost",
        )),
        Request::Skip { at: Some(at), .. } if ending.is_none() && status.held_at(at.trim()).is_none() => Some(
            Refusal::new(RefusalCode::NotHeld, format!("nothing is held at {}", shortened(at.trim(), PLACE_CHARS_MAX))),
        ),
        Request::Skip { at: None, .. } if ending.is_none() && status.lanes_held() > 1 => Some(Refusal::new(
            RefusalCode::SeveralHeld,
            format!("{} partitions hold a batch each", status.lanes_held()),
        )),
        Request::Skip { .. } => ending,
    }
}

impl Granted {
    /// Which request it is.
    pub(crate) fn request(&self) -> &Request {
        &self.wish.request
    }

    /// The partition whose batch is to be skipped; none where all that is held is meant.
    pub(crate) fn skipped(&self) -> Option<Partition> {
        self.skipped
    }

    /// Answers it with what there is now.
    pub(crate) fn answer(
        self,
        now: Moment,
        status: &Status,
        detail: Option<String>,
        identity: &Identity,
        topics: &impl TopicNames,
    ) {
        let released = match self.wish.request {
            Request::Retry {} => status.released(self.blocked),
            Request::Skip { .. } => status.skipped(self.blocked),
            Request::Status {} | Request::Pause {} | Request::Resume {} | Request::Stop { .. } => Vec::new(),
        };
        let changed = match self.wish.request {
            Request::Status {} => false,
            Request::Pause {} => !self.was_paused,
            Request::Resume {} => self.was_paused,
            Request::Retry {} | Request::Skip { .. } => !released.is_empty(),
            Request::Stop { now } => now || !self.was_ending,
        };
        let status = status.tell(now, detail, identity, &self.wish.address, topics);
        self.wish.answer(Answer::Done(Box::new(Done { changed, released, status })));
    }
}

/// Answers a wish while the plugin is still being loaded. True when it is a stop.
pub(crate) fn hear_at_start(wish: Wish, status: impl FnOnce(&Address) -> HostStatus) -> bool {
    tell(&wish);
    let done = |changed, status| Answer::Done(Box::new(Done { changed, released: Vec::new(), status }));
    match wish.request {
        Request::Status {} => {
            let status = status(&wish.address);
            wish.answer(done(false, status));
            false
        }
        Request::Stop { .. } => {
            let status = status(&wish.address);
            wish.answer(done(true, status));
            true
        }
        Request::Pause {} | Request::Resume {} | Request::Retry {} | Request::Skip { .. } => {
            wish.answer(Refusal::new(RefusalCode::Starting, "the host still loads its plugin"));
            false
        }
    }
}
