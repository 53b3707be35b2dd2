//! One test's pipeline: a topic and a group of its own, a configuration, hosts that run it, and what Kafka says of it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gristmill_tests::{
    Ending, Host, Loaded, Seen, create_topic, load, load_compressed, load_more, load_values, plugin, put,
    put_in_transaction, recreate_topic, unique,
};
use xtask::kafka::Broker;

/// Longer than anything takes on a machine that compiles meanwhile; a test that waits so long has failed.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A topic, a group, and the configuration of the hosts that work on them.
#[derive(Debug)]
pub(crate) struct Pipeline<'b> {
    broker: &'b Broker,
    pub(crate) topic: String,
    pub(crate) group: String,
    /// Section → key → value, as TOML writes it.
    sections: BTreeMap<String, BTreeMap<String, String>>,
}

impl<'b> Pipeline<'b> {
    /// Names a topic and a group, and configures the witness as plugin. Creates nothing.
    pub(crate) fn new(broker: &'b Broker, name: &str) -> Self {
        let (topic, group) = (unique(name), unique(&format!("{name}-group")));
        let quoted = |text: &str| format!("{text:?}");
        let pipeline = Self { broker, topic: topic.clone(), group: group.clone(), sections: BTreeMap::new() };
        pipeline
            .set("kafka", "bootstrap_servers", quoted(&broker.bootstrap()))
            .set("kafka", "group_id", quoted(&group))
            .set("kafka", "topics", format!("[{topic:?}]"))
            .set("kafka", "auto_offset_reset", quoted("earliest"))
            .set("kafka", "drain", quoted("1500ms"))
            .property("session.timeout.ms", "3000")
            .property("heartbeat.interval.ms", "500")
            .set("plugin", "path", quoted(&plugin("gristmill-witness").display().to_string()))
            .setting("check_keys", "yes")
    }

    /// Creates the topic and puts records into it.
    pub(crate) fn load(&self, partitions: i32, records: u64) -> Loaded {
        create_topic(&self.broker.bootstrap(), &self.topic, partitions);
        load(&self.broker.bootstrap(), &self.topic, partitions, records)
    }

    /// Creates the topic and puts records into it whose values are the caller's, by their offset.
    pub(crate) fn load_values(&self, partitions: i32, records: u64, value: impl Fn(i64) -> Vec<u8>) -> Loaded {
        create_topic(&self.broker.bootstrap(), &self.topic, partitions);
        let mut loaded = Loaded { partitions: (0..partitions).map(|partition| (partition, 0..0)).collect() };
        self.load_more_values(&mut loaded, records, value);
        loaded
    }

    /// Puts more records into the topic whose values are the caller's, by their number among these.
    pub(crate) fn load_more_values(&self, loaded: &mut Loaded, records: u64, value: impl Fn(i64) -> Vec<u8>) {
        load_values(&self.broker.bootstrap(), &self.topic, loaded, records, "none", value);
    }

    /// Puts more records into the topic.
    pub(crate) fn load_more(&self, loaded: &mut Loaded, records: u64) {
        load_more(&self.broker.bootstrap(), &self.topic, loaded, records);
    }

    /// Deletes the topic, creates it again at once and puts records into the new one.
    pub(crate) fn recreate(&self, partitions: i32, records: u64) -> Loaded {
        recreate_topic(&self.broker.bootstrap(), &self.topic, partitions);
        load(&self.broker.bootstrap(), &self.topic, partitions, records)
    }

    /// The same, compressed.
    pub(crate) fn load_compressed(&self, loaded: &mut Loaded, records: u64, codec: &str) {
        load_compressed(&self.broker.bootstrap(), &self.topic, loaded, records, codec);
    }

    /// Puts one record with this key into partition 0.
    pub(crate) fn put(&self, key: &str) {
        put(&self.broker.bootstrap(), &self.topic, key);
    }

    /// Puts records into partition 0 within one transaction.
    pub(crate) fn put_in_transaction(&self, records: u64, ending: Ending) {
        put_in_transaction(&self.broker.bootstrap(), &self.topic, records, ending);
    }

    /// Makes another guest the plugin.
    pub(crate) fn plugin(self, package: &str) -> Self {
        let path = plugin(package).display().to_string();
        self.set("plugin", "path", format!("{path:?}"))
    }

    /// Sets a key of a section; the value as TOML writes it.
    pub(crate) fn set(mut self, section: &str, key: &str, value: impl Into<String>) -> Self {
        self.sections.entry(section.to_owned()).or_default().insert(key.to_owned(), value.into());
        self
    }

    /// Sets a property of librdkafka.
    pub(crate) fn property(self, key: &str, value: &str) -> Self {
        self.set("kafka.properties", &format!("{key:?}"), format!("{value:?}"))
    }

    /// Takes a property of librdkafka back.
    pub(crate) fn without_property(mut self, key: &str) -> Self {
        if let Some(properties) = self.sections.get_mut("kafka.properties") {
            properties.remove(&format!("{key:?}"));
        }
        self
    }

    /// Sets a setting of the plugin.
    pub(crate) fn setting(self, key: &str, value: &str) -> Self {
        self.set("plugin.settings", key, format!("{value:?}"))
    }

    /// Takes a setting of the plugin back.
    pub(crate) fn without_setting(mut self, key: &str) -> Self {
        if let Some(settings) = self.sections.get_mut("plugin.settings") {
            settings.remove(key);
        }
        self
    }

    /// Batches of exactly this many records, as long as there are enough: none closes by age or size.
    pub(crate) fn batches_of(self, records: u64) -> Self {
        self.set("batch", "max_records", records.to_string()).set("batch", "max_wait", "\"60s\"")
    }

    /// The configuration's text.
    pub(crate) fn configuration(&self) -> String {
        let mut text = String::new();
        for (section, entries) in &self.sections {
            text.push_str(&format!("[{section}]\n"));
            for (key, value) in entries {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
        text
    }

    /// Starts a host.
    pub(crate) fn run(&self) -> Host {
        Host::run(&self.configuration())
    }

    /// The group's committed offsets, as Kafka's own tool says.
    pub(crate) fn committed(&self) -> BTreeMap<i32, i64> {
        self.broker.committed_offsets(&self.group, &self.topic).unwrap()
    }

    /// Waits until Kafka's own tool says that these offsets are committed.
    #[track_caller]
    pub(crate) fn wait_until_committed(&self, wanted: &BTreeMap<i32, i64>, within: Duration) {
        let deadline = Instant::now() + within;
        loop {
            let committed = self.committed();
            if committed == *wanted {
                return;
            }
            assert!(Instant::now() < deadline, "not within {within:?}: committed {wanted:?}, but {committed:?}");
        }
    }
}

/// Waits until the host has handed over so many records, repeats included.
pub(crate) fn wait_until_handed_over(host: &Host, records: i64, within: Duration) {
    let what = format!("{records} records handed over");
    host.wait_until(&what, within, |lines| (Seen::from_lines(lines).handed_over() >= records).then_some(()));
}

/// Waits until the host has handed over all that was loaded.
pub(crate) fn wait_until_all_seen(host: &Host, loaded: &Loaded, within: Duration) {
    let is_all = |lines: &[String]| Seen::from_lines(lines).missing(loaded).is_empty().then_some(());
    host.wait_until("all records handed over", within, is_all);
}

/// Asks the host to stop and waits for a clean end. Returns what it printed.
#[track_caller]
pub(crate) fn stop(host: Host) -> Vec<String> {
    host.signal("TERM");
    let (code, lines) = host.wait_for_end(SOON);
    assert_eq!(code, 0, "the host printed:\n{}", last(&lines));
    lines
}

/// The records that the witness showed, without what the log puts around them.
pub(crate) fn shown(lines: &[String]) -> Vec<String> {
    let words = |line: &String| {
        let fields: serde_json::Value = serde_json::from_str(line).ok()?;
        fields.get("msg")?.as_str().filter(|msg| msg.starts_with("record ")).map(str::to_owned)
    };
    lines.iter().filter_map(words).collect()
}

/// Where the first log line that begins so says that its batch lies.
pub(crate) fn positions(lines: &[String], begins: &str) -> Option<String> {
    let fields = lines.iter().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut told = fields.filter(|fields| fields["msg"].as_str().is_some_and(|msg| msg.starts_with(begins)));
    Some(told.next()?["positions"].as_str()?.to_owned())
}

/// The last lines, for the text of a failure.
pub(crate) fn last(lines: &[String]) -> String {
    lines[lines.len().saturating_sub(30)..].join("\n")
}
