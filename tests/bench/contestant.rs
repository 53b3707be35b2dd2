//! Who takes part: the host with one of its plugins, or a loop or peer. All are processes, and all are measured alike.
//!
//! It must not know how they are compared.

use std::time::Duration;

use gristmill_tests::{Host, plugin};

use crate::course::Course;
use crate::host;
use crate::peer::{Peer, Program};

/// A fresh machine compiles plugins, and a busy one takes its time.
const ASSIGNED_WITHIN: Duration = Duration::from_secs(120);

/// How long the last word of a peer may take once all is committed.
const SAID_WITHIN: Duration = Duration::from_secs(30);

/// One that is measured.
#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    pub(crate) name: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Host {
        /// The section of the plugin, and what comes behind it.
        plugin: String,
        /// How batches are made, beside the number of their records.
        batch: String,
    },
    Peer(Program),
}

impl Contestant {
    /// The host with a plugin of ours. `instances` are fresh or reused.
    pub(crate) fn gristmill(name: &str, package: &str, instances: &str, sections: &str) -> Self {
        let path = plugin(package).display().to_string();
        let plugin = format!("path = {path:?}\ninstances = {instances:?}\n{sections}");
        Self { name: name.to_owned(), kind: Kind::Host { plugin, batch: "max_wait = \"200ms\"".to_owned() } }
    }

    /// The same, with batches that are made so.
    pub(crate) fn batching(mut self, lines: &str) -> Self {
        if let Kind::Host { batch, .. } = &mut self.kind {
            *batch = lines.to_owned();
        }
        self
    }

    /// A loop or peer.
    pub(crate) fn peer(name: &str, program: Program) -> Self {
        Self { name: name.to_owned(), kind: Kind::Peer(program) }
    }

    /// Starts it on all that is in a topic, as a new group.
    pub(crate) fn start(&self, course: &Course, group: &str) -> Running {
        match &self.kind {
            Kind::Host { plugin, batch } => Running::Host(Box::new(host::start(course, group, batch, plugin))),
            Kind::Peer(program) => Running::Peer(program.start(course, group)),
        }
    }
}

/// One that runs.
pub(crate) enum Running {
    Host(Box<Host>),
    Peer(Peer),
}

impl Running {
    pub(crate) fn process_id(&self) -> u32 {
        match self {
            Self::Host(host) => host.process_id(),
            Self::Peer(peer) => peer.process_id(),
        }
    }

    pub(crate) fn wait_until_assigned(&self) {
        match self {
            Self::Host(host) => drop(host.wait_for_line("assigned", ASSIGNED_WITHIN)),
            Self::Peer(peer) => drop(peer.wait_for("assigned", ASSIGNED_WITHIN)),
        }
    }

    /// What it printed, where it has ended before its time.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let (runs, printed) = match self {
            Self::Host(host) => (host.runs(), host.lines().all().join("\n")),
            Self::Peer(peer) => (peer.runs(), peer.printed()),
        };
        (!runs).then_some(printed)
    }

    /// Ends it, and fails unless it has read all that is in the topic, each record once and as it was put there.
    pub(crate) fn end(self, course: &Course, name: &str) {
        match self {
            Self::Host(host) => host::end(*host, course.records()),
            Self::Peer(peer) => {
                let said = peer.wait_for("read ", SAID_WITHIN);
                let expected =
                    course.values.map(|values| format!("{} {} {}", course.records(), values.bytes, values.sum));
                assert!(
                    expected.is_none_or(|expected| expected == said),
                    "{name} read {said}; there is {:?}",
                    course.values
                );
                peer.end();
            }
        }
    }

    /// Ends it wherever it is.
    pub(crate) fn abandon(self) {
        match self {
            Self::Host(host) => drop(host.kill()),
            Self::Peer(peer) => drop(peer),
        }
    }
}
