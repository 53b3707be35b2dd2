//! What Kafka's own tools say about topics, offsets and groups: the judge of the end-to-end tests.
//!
//! It must not use a client of ours. Each question starts a JVM and takes about a second.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::kafka::broker::Broker;
use crate::kafka::install::class_of;

/// One partition's line in what the group tool prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupOffset {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The group's committed offset, where there is one.
    pub committed: Option<i64>,
    /// The end of the log.
    pub end: Option<i64>,
    /// The member that owns it, where one does.
    pub member: Option<String>,
}

impl Broker {
    /// Runs one of Kafka's tools (class name below `org.apache.kafka.tools.`) against this broker and returns what it
    /// printed.
    ///
    /// # Errors
    ///
    /// When the tool does not succeed; the error holds what it printed.
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Result<String> {
        let mut command = self.tool_command(class, arguments);
        command.args(["--bootstrap-server", &self.bootstrap()]);
        run(&mut command)
    }

    pub(super) fn tool_command(&self, class: &str, arguments: &[&str]) -> Command {
        self.installation().tool(class, arguments)
    }

    /// Creates a topic.
    ///
    /// # Errors
    ///
    /// When it exists or the broker refuses it.
    pub fn create_topic(&self, topic: &str, partitions: u32, settings: &[(&str, &str)]) -> Result<()> {
        let partitions = partitions.to_string();
        let settings: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let mut arguments = vec!["--create", "--topic", topic, "--partitions", &partitions];
        for setting in &settings {
            arguments.extend(["--config", setting]);
        }
        self.tool("TopicCommand", &arguments).map(drop)
    }

    /// Makes a user who may come with SCRAM, at listeners that have it.
    ///
    /// # Errors
    ///
    /// When the broker refuses it.
    pub fn add_user(&self, name: &str, password: &str) -> Result<()> {
        // One call for each: the broker takes no two of one user at once.
        for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
            let secret = format!("{mechanism}=[password={password}]");
            let of_user = ["--entity-type", "users", "--entity-name", name];
            self.tool("ConfigCommand", &[&["--alter", "--add-config", &secret][..], &of_user].concat())?;
        }
        Ok(())
    }

    /// Gives a user a right to a topic, such as `Write`, at brokers that ask for rights.
    ///
    /// # Errors
    ///
    /// When the broker does not ask for rights.
    pub fn allow(&self, user: &str, operation: &str, topic: &str) -> Result<()> {
        let principal = format!("User:{user}");
        let right = ["--allow-principal", &principal, "--operation", operation, "--topic", topic];
        self.tool("AclCommand", &[&["--add"][..], &right].concat()).map(drop)
    }

    /// Deletes a topic.
    ///
    /// # Errors
    ///
    /// When it does not exist.
    pub fn delete_topic(&self, topic: &str) -> Result<()> {
        self.tool("TopicCommand", &["--delete", "--topic", topic]).map(drop)
    }

    /// What the topic tool prints about a topic.
    ///
    /// # Errors
    ///
    /// When it does not exist.
    pub fn describe_topic(&self, topic: &str) -> Result<String> {
        self.tool("TopicCommand", &["--describe", "--topic", topic])
    }

    /// The end of each partition's log.
    ///
    /// # Errors
    ///
    /// When the topic does not exist.
    pub fn end_offsets(&self, topic: &str) -> Result<BTreeMap<i32, i64>> {
        self.log_offsets(topic, "latest")
    }

    /// The first offset in each partition's log.
    ///
    /// # Errors
    ///
    /// When the topic does not exist.
    pub fn first_offsets(&self, topic: &str) -> Result<BTreeMap<i32, i64>> {
        self.log_offsets(topic, "earliest")
    }

    fn log_offsets(&self, topic: &str, time: &str) -> Result<BTreeMap<i32, i64>> {
        let printed = self.tool("GetOffsetShell", &["--topic", topic, "--time", time])?;
        parse_log_offsets(&printed)
    }

    /// The group's committed offsets, with the owner of each partition. Empty when there is no such group.
    ///
    /// # Errors
    ///
    /// When the broker does not answer.
    pub fn group_offsets(&self, group: &str) -> Result<Vec<GroupOffset>> {
        let printed = self.tool("consumer.group.ConsumerGroupCommand", &["--describe", "--offsets", "--group", group]);
        match printed {
            Ok(printed) => parse_group_offsets(&printed),
            Err(error) if format!("{error:#}").contains("does not exist") => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The committed offset of each partition of a topic; partitions without one are left out.
    ///
    /// # Errors
    ///
    /// When the broker does not answer.
    pub fn committed_offsets(&self, group: &str, topic: &str) -> Result<BTreeMap<i32, i64>> {
        let lines = self.group_offsets(group)?;
        let lines = lines.into_iter().filter(|line| line.topic == topic);
        Ok(lines.filter_map(|line| Some((line.partition, line.committed?))).collect())
    }

    /// Deletes the records before an offset of each partition named.
    ///
    /// # Errors
    ///
    /// When an offset lies beyond the end of its log.
    pub fn delete_records(&self, topic: &str, before: &[(i32, i64)]) -> Result<()> {
        let partitions: Vec<String> = before
            .iter()
            .map(|(partition, offset)| {
                format!("{{\"topic\":\"{topic}\",\"partition\":{partition},\"offset\":{offset}}}")
            })
            .collect();
        let json = format!("{{\"partitions\":[{}],\"version\":1}}", partitions.join(","));
        // Named by the topic: tests that share a broker delete at the same time.
        let file = self.folder().join(format!("delete-records-of-{topic}.json"));
        std::fs::write(&file, json).context("cannot write the list of records to delete")?;
        let printed = self.tool("DeleteRecordsCommand", &["--offset-json-file", &file.display().to_string()])?;
        match before.iter().find(|(partition, offset)| !says_deleted(&printed, topic, *partition, *offset)) {
            Some((partition, offset)) => {
                bail!("the records of {topic}-{partition} before {offset} are not deleted:\n{printed}")
            }
            None => Ok(()),
        }
    }

    /// Sets the committed offset of one partition of a group that has no members.
    ///
    /// # Errors
    ///
    /// When the group is active.
    pub fn set_committed(&self, group: &str, topic: &str, partition: i32, offset: i64) -> Result<()> {
        let place = format!("{topic}:{partition}");
        let offset = offset.to_string();
        let arguments = ["--reset-offsets", "--group", group, "--topic", &place, "--to-offset", &offset, "--execute"];
        let printed = self.tool("consumer.group.ConsumerGroupCommand", &arguments)?;
        if printed.contains("Error") {
            bail!("cannot set the offset of {group}:\n{printed}");
        }
        Ok(())
    }
}

/// Runs a tool and returns what it printed.
pub(super) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().context("cannot start java")?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{} ended with {}:\n{printed}{complaints}", class_of(command), output.status);
    }
    Ok(printed)
}

/// Whether a line such as `partition: orders-0 low_watermark: 60` says that a partition begins at this offset.
fn says_deleted(printed: &str, topic: &str, partition: i32, offset: i64) -> bool {
    let wanted =
        ["partition:".to_owned(), format!("{topic}-{partition}"), "low_watermark:".to_owned(), offset.to_string()];
    printed.lines().any(|line| line.split_whitespace().eq(wanted.iter().map(String::as_str)))
}

/// Reads lines such as `orders:0:1200`.
fn parse_log_offsets(printed: &str) -> Result<BTreeMap<i32, i64>> {
    let mut offsets = BTreeMap::new();
    for line in printed.lines().filter(|line| line.contains(':')) {
        let mut parts = line.rsplitn(3, ':');
        let offset = parts.next().and_then(|text| text.parse().ok());
        let partition = parts.next().and_then(|text| text.parse().ok());
        let (Some(partition), Some(offset)) = (partition, offset) else { continue };
        offsets.insert(partition, offset);
    }
    if offsets.is_empty() {
        bail!("the offset tool printed no offsets:\n{printed}");
    }
    Ok(offsets)
}

/// Reads the table whose heading is `GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID …`, by the
/// heading's names, so that a column more or less does no harm.
fn parse_group_offsets(printed: &str) -> Result<Vec<GroupOffset>> {
    let mut lines = printed.lines().skip_while(|line| !line.contains("CURRENT-OFFSET"));
    let Some(heading) = lines.next() else { return Ok(Vec::new()) };
    let names: Vec<&str> = heading.split_whitespace().collect();
    let column = |name: &str| {
        names.iter().position(|there| *there == name).with_context(|| format!("no column {name} in {heading:?}"))
    };
    let (topic, partition) = (column("TOPIC")?, column("PARTITION")?);
    let (committed, end, member) = (column("CURRENT-OFFSET")?, column("LOG-END-OFFSET")?, column("CONSUMER-ID")?);
    let mut offsets = Vec::new();
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let cell = |at: usize| cells.get(at).copied().filter(|text| *text != "-");
        let (Some(topic), Some(partition)) = (cell(topic), cell(partition)) else { continue };
        offsets.push(GroupOffset {
            topic: topic.to_owned(),
            partition: partition.parse().with_context(|| format!("no partition number in {line:?}"))?,
            committed: cell(committed).and_then(|text| text.parse().ok()),
            end: cell(end).and_then(|text| text.parse().ok()),
            member: cell(member).map(str::to_owned),
        });
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_offsets_are_read_from_the_right_even_when_the_topic_has_colons() {
        let offsets = parse_log_offsets("orders:0:12\norders:11:0\n").unwrap();
        assert_eq!(offsets, BTreeMap::from([(0, 12), (11, 0)]));
        assert!(parse_log_offsets("nothing here").is_err());
    }

    #[test]
    fn group_offsets_are_read_by_the_heading() {
        let printed = "\nGROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID\n\
                       g      t      0          5               7               2    m-1          /h    c\n\
                       g      t      1          -               7               -    -            -     -\n";
        let offsets = parse_group_offsets(printed).unwrap();
        assert_eq!(offsets.len(), 2);
        assert_eq!((offsets[0].committed, offsets[0].end), (Some(5), Some(7)));
        assert_eq!(offsets[0].member.as_deref(), Some("m-1"));
        assert_eq!((offsets[1].partition, offsets[1].committed), (1, None));
    }

    #[test]
    fn a_group_without_offsets_has_none() {
        assert_eq!(parse_group_offsets("Consumer group 'g' has no active members.\n").unwrap(), []);
    }

    #[test]
    fn records_are_deleted_when_the_tool_says_where_their_partition_begins() {
        let printed = "Executing records delete operation\nRecords delete operation completed:\n\
                       partition: orders-0\tlow_watermark: 60\npartition: orders-1\terror: OFFSET_OUT_OF_RANGE\n";
        assert!(says_deleted(printed, "orders", 0, 60));
        assert!(!says_deleted(printed, "orders", 1, 60), "refused");
        assert!(!says_deleted(printed, "others", 0, 60), "of another topic");
    }
}
