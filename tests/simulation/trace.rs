//! The story of one run, for people: only kept when a seed is replayed.

use gristmill_core::io::{Action, Input};

use crate::names::{Body, Life, place};

/// Lines of a story, or nothing at all.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    lines: Option<Vec<String>>,
}

impl Trace {
    pub(crate) fn kept() -> Self {
        Self { lines: Some(Vec::new()) }
    }

    pub(crate) fn say(&mut self, at: u64, text: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            let (seconds, micros) = (at / 1_000_000, at % 1_000_000);
            lines.push(format!("{seconds:>4}.{micros:06} {}", text()));
        }
    }

    pub(crate) fn input(&mut self, at: u64, life: Life, input: &Input<Body>) {
        self.say(at, || match input {
            Input::Fetched(records) => {
                let list: Vec<String> = records
                    .iter()
                    .map(|(facts, _)| format!("{}:{}e{}", place(facts.partition), facts.offset.0, facts.epoch.0))
                    .collect();
                format!("{life:?} <- Fetched {}", list.join(" "))
            }
            other => format!("{life:?} <- {}", short(&format!("{other:?}"))),
        });
    }

    pub(crate) fn action(&mut self, at: u64, life: Life, action: &Action<Body>) {
        self.say(at, || match action {
            Action::Deliver(delivery) => {
                let list: Vec<String> = delivery
                    .records
                    .iter()
                    .map(|record| format!("{}:{}", place(record.facts.partition), record.facts.offset.0))
                    .collect();
                format!(
                    "{life:?} -> Deliver {} batch {} attempt {} {:?} [{}]",
                    delivery.id.0,
                    delivery.batch.0,
                    delivery.attempt,
                    delivery.closed_by,
                    list.join(" ")
                )
            }
            other => format!("{life:?} -> {}", short(&format!("{other:?}"))),
        });
    }

    pub(crate) fn lines(&self) -> &[String] {
        self.lines.as_deref().unwrap_or_default()
    }
}

/// Takes the noise out of a debug text.
fn short(text: &str) -> String {
    let mut text = text.replace("Partition { topic: Topic(", "{").replace("), number: ", "/");
    for (long, brief) in [("NextOffset(", "("), ("RequestId(", "r("), ("partition: ", ""), ("CommitOffset ", "")] {
        text = text.replace(long, brief);
    }
    text
}
