//! What the guest edge logs, kept for the tests of this process.
//!
//! Tests run beside each other and share the journal, so each looks for words of its own.

use std::fmt::{self, Write as _};
use std::sync::{Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

static EVENTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Starts keeping events, for the whole process.
pub(crate) fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| tracing::subscriber::set_global_default(Journal).unwrap());
}

/// The event that contains both texts. Events are written before the answer that they belong to.
pub(crate) fn event_with(one: &str, other: &str) -> String {
    let events = events_with(one);
    let found = events.iter().find(|event| event.contains(other));
    found.unwrap_or_else(|| panic!("no event with {one:?} and {other:?} among {events:?}")).clone()
}

/// All events that contain the text.
pub(crate) fn events_with(text: &str) -> Vec<String> {
    EVENTS.lock().unwrap().iter().filter(|event| event.contains(text)).cloned().collect()
}

struct Journal;

impl Subscriber for Journal {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("gristmill")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().target().to_owned());
        event.record(&mut line);
        EVENTS.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}
