//! Whether the host got going: brokers reached, credentials accepted, topics there. Decides when not to wait any longer.
//!
//! Pure: told what was heard and what time it is. After the first contact it has nothing more to say about brokers; from
//! then on librdkafka's own reconnecting is what an operator wants.

use std::collections::BTreeSet;
use std::time::Duration;

use gristmill_core::time::Moment;

use crate::config::StartConfig;
use crate::exit::{self, Exit};

/// Watches the start of one consumer.
#[derive(Debug)]
pub(crate) struct StartWatch {
    brokers: String,
    config: StartConfig,
    deadline: Moment,
    reached: bool,
    /// The last thing that a client said in vain, for people.
    last_error: Option<String>,
    missing: BTreeSet<String>,
    /// Why no broker will ever talk to us, and what to look at.
    refused: Option<String>,
}

impl StartWatch {
    pub(crate) fn new(brokers: &str, config: StartConfig, now: Moment) -> Self {
        Self {
            brokers: brokers.to_owned(),
            config,
            deadline: now.after(config.wait),
            reached: false,
            last_error: None,
            missing: BTreeSet::new(),
            refused: None,
        }
    }

    /// A broker answered.
    pub(crate) fn reached(&mut self) {
        self.reached = true;
    }

    /// No broker, or not this one, could be reached.
    pub(crate) fn unreachable(&mut self, text: &str) {
        self.last_error = Some(text.to_owned());
    }

    /// A broker does not accept the credentials. That does not get better by waiting.
    pub(crate) fn refused(&mut self, text: &str) {
        self.refused =
            Some(format!("the broker refused the credentials: {text}; check sasl.* and ssl.* in [kafka.properties]"));
    }

    /// A broker and we do not agree on TLS: what one of the two shows the other does not trust. That does not get better
    /// by waiting either.
    pub(crate) fn insecure(&mut self, text: &str) {
        self.refused = Some(format!(
            "no secure connection to the broker: {text}; check security.protocol and ssl.* in [kafka.properties]"
        ));
    }

    /// A topic of the subscription is not there.
    pub(crate) fn missing(&mut self, topic: &str) {
        self.missing.insert(topic.to_owned());
    }

    /// A topic that was missing is there.
    pub(crate) fn found(&mut self, topic: &str) {
        self.missing.remove(topic);
    }

    /// When it wants to be asked again.
    pub(crate) fn wakeup(&self) -> Option<Moment> {
        let waits = !self.reached || (self.config.missing_topics_end && !self.missing.is_empty());
        waits.then_some(self.deadline)
    }

    /// What has to come before partitions can, for people; nothing when it is not known.
    pub(crate) fn waits_for(&self, now: Moment) -> Option<String> {
        let missing: Vec<&str> = self.missing.iter().map(String::as_str).collect();
        let what = match missing.as_slice() {
            _ if !self.reached => "no broker reached yet".to_owned(),
            [] => return None,
            [topic] => format!("topic {topic} does not exist yet"),
            topics => format!("topics {} do not exist yet", topics.join(", ")),
        };
        let left = self.wakeup().map(|deadline| format!(", gives up in {} s", deadline.since(now).as_secs()));
        Some(what + &left.unwrap_or_default())
    }

    /// Why the process should end now, if it should.
    pub(crate) fn verdict(&self, now: Moment) -> Option<Exit> {
        if let (Some(why), false) = (&self.refused, self.reached) {
            return Some(Exit::because(exit::NOT_AUTHORISED, why.clone()));
        }
        if now < self.deadline {
            return None;
        }
        if !self.reached {
            return Some(Exit::because(exit::UNREACHABLE, self.unreachable_words()));
        }
        if self.config.missing_topics_end && !self.missing.is_empty() {
            let topics: Vec<&str> = self.missing.iter().map(String::as_str).collect();
            let why = format!(
                "topics do not exist: {}; create them, correct kafka.topics, or let the host wait for them with \
                 start.missing_topics = \"wait\"",
                topics.join(", ")
            );
            return Some(Exit::because(exit::MISFIT, why));
        }
        None
    }

    fn unreachable_words(&self) -> String {
        let waited = seconds(self.config.wait);
        let said = self.last_error.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
        format!(
            "no broker of {} could be reached within {waited}{said}; check kafka.bootstrap_servers, the network, and that \
             security.protocol fits the listener",
            self.brokers
        )
    }
}

fn seconds(wait: Duration) -> String {
    humantime::format_duration(Duration::from_millis(wait.as_millis() as u64)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(missing_topics_end: bool) -> StartWatch {
        let config = StartConfig { wait: Duration::from_secs(30), missing_topics_end, confine: true };
        StartWatch::new("nowhere:9092", config, Moment(0))
    }

    const LATE: Moment = Moment(30_000_000);

    #[test]
    fn unreachable_brokers_end_the_start_after_the_wait() {
        let mut watch = watch(false);
        watch.unreachable("connection refused");
        assert_eq!(watch.verdict(Moment(29_999_999)), None);
        let exit = watch.verdict(LATE).expect("the wait is over");
        assert_eq!(exit.code(), exit::UNREACHABLE);
        let why = exit.why().expect("a reason");
        assert!(why.contains("nowhere:9092") && why.contains("30s") && why.contains("connection refused"), "{why}");
    }

    #[test]
    fn refused_credentials_end_the_start_at_once() {
        let mut watch = watch(false);
        watch.refused("SASL authentication error");
        assert_eq!(watch.verdict(Moment(1)).map(|exit| exit.code()), Some(exit::NOT_AUTHORISED));
        watch.reached();
        assert_eq!(watch.verdict(Moment(1)), None, "a broker that once accepted us may be restarted with other users");
    }

    #[test]
    fn a_certificate_that_is_not_trusted_is_no_refusal_of_credentials() {
        let mut watch = watch(false);
        watch.insecure("certificate verify failed");
        let exit = watch.verdict(Moment(1)).expect("at once");
        let why = exit.why().expect("a reason");
        assert_eq!(exit.code(), exit::NOT_AUTHORISED);
        assert!(why.contains("certificate verify failed") && !why.contains("credentials"), "{why}");
    }

    #[test]
    fn a_broker_that_answered_ends_the_watch() {
        let mut watch = watch(false);
        watch.reached();
        assert_eq!((watch.wakeup(), watch.verdict(LATE)), (None, None));
    }

    #[test]
    fn a_start_says_what_it_waits_for_and_how_long() {
        let (mut waits, mut ends) = (watch(false), watch(true));
        let now = Moment(10_000_000);
        assert_eq!(waits.waits_for(now).as_deref(), Some("no broker reached yet, gives up in 20 s"));
        for watch in [&mut waits, &mut ends] {
            watch.reached();
            assert_eq!(watch.waits_for(now), None);
            watch.missing("later");
        }
        assert_eq!(waits.waits_for(now).as_deref(), Some("topic later does not exist yet"));
        ends.missing("never");
        assert_eq!(ends.waits_for(now).as_deref(), Some("topics later, never do not exist yet, gives up in 20 s"));
    }

    #[test]
    fn o2_a_missing_topic_is_waited_for_unless_the_policy_is_to_end() {
        let (mut waits, mut ends) = (watch(false), watch(true));
        for watch in [&mut waits, &mut ends] {
            watch.reached();
            watch.missing("later");
        }
        assert_eq!(waits.verdict(LATE), None);
        assert_eq!(ends.verdict(LATE).map(|exit| exit.code()), Some(exit::MISFIT));
        ends.found("later");
        assert_eq!(ends.verdict(LATE), None);
    }
}
