//! What lies in a broker's files, as Kafka's own tool reads them: codecs, leader epochs, commits with all that they carry.
//!
//! It must not ask the broker, which may run meanwhile or not.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::kafka::broker::Broker;
use crate::kafka::witness::run;

/// A batch as it lies in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBatch {
    /// The offset of its first record.
    pub first: i64,
    /// The offset of its last record.
    pub last: i64,
    /// The leader epoch under which it was written.
    pub leader_epoch: i32,
    /// The name of its codec.
    pub codec: String,
}

impl Broker {
    /// The file in which a partition's log begins. Tests that damage it do so while the broker is down.
    #[must_use]
    pub fn log_file(&self, topic: &str, partition: i32) -> PathBuf {
        self.data().join(format!("{topic}-{partition}")).join("00000000000000000000.log")
    }

    /// The batches in a partition's first file.
    ///
    /// # Errors
    ///
    /// When there is no such file, or the tool prints what cannot be read.
    pub fn stored_batches(&self, topic: &str, partition: i32) -> Result<Vec<StoredBatch>> {
        let file = self.log_file(topic, partition).display().to_string();
        let printed = run(&mut self.tool_command("DumpLogSegments", &["--files", &file]))?;
        let batches = printed.lines().filter(|line| line.starts_with("baseOffset:"));
        batches.map(|line| parse_batch(line).with_context(|| format!("no batch in {line:?}"))).collect()
    }

    /// The latest commit of a group for a partition, as it was written down: the offset and the leader epoch, which is -1
    /// where the commit had none.
    ///
    /// # Errors
    ///
    /// When the tool cannot read the files of the group's offsets.
    pub fn written_commit(&self, group: &str, topic: &str, partition: i32) -> Result<Option<(i64, i32)>> {
        let files: Vec<String> = (0..4)
            .map(|number| self.log_file("__consumer_offsets", number))
            .filter(|file| file.exists())
            .map(|file| file.display().to_string())
            .collect();
        let arguments = ["--offsets-decoder", "--print-data-log", "--files", &files.join(",")];
        let printed = run(&mut self.tool_command("DumpLogSegments", &arguments))?;
        let key = format!("\"group\":\"{group}\",\"topic\":\"{topic}\",\"partition\":{partition}}}");
        let commits = printed.lines().filter(|line| line.contains(&key));
        Ok(commits.filter_map(parse_commit).next_back())
    }
}

/// Reads `baseOffset: 0 lastOffset: 9 … partitionLeaderEpoch: 2 … compresscodec: zstd …`.
fn parse_batch(line: &str) -> Option<StoredBatch> {
    Some(StoredBatch {
        first: after(line, "baseOffset: ")?.parse().ok()?,
        last: after(line, "lastOffset: ")?.parse().ok()?,
        leader_epoch: after(line, "partitionLeaderEpoch: ")?.parse().ok()?,
        codec: after(line, "compresscodec: ")?.to_owned(),
    })
}

/// Reads `… payload: {…"offset":50,"leaderEpoch":0,…`.
fn parse_commit(line: &str) -> Option<(i64, i32)> {
    let (_, value) = line.split_once("payload: ")?;
    Some((after(value, "\"offset\":")?.parse().ok()?, after(value, "\"leaderEpoch\":")?.parse().ok()?))
}

/// The word that follows a name, up to a blank, a comma or a bracket.
fn after<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(name)?;
    rest.split([' ', ',', '}']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_read_by_the_names_of_their_fields() {
        let line = "baseOffset: 50 lastOffset: 99 count: 50 baseSequence: 0 lastSequence: 49 producerId: 3 producerEpoch: 0 \
                    partitionLeaderEpoch: 2 isTransactional: false size: 6000 magic: 2 compresscodec: zstd crc: 1 isvalid: true";
        let batch = StoredBatch { first: 50, last: 99, leader_epoch: 2, codec: "zstd".to_owned() };
        assert_eq!(parse_batch(line), Some(batch));
        assert_eq!(parse_batch("baseOffset: 50"), None);
    }

    #[test]
    fn commits_are_read_with_their_leader_epoch() {
        let line = "| offset: 7 keySize: 30 key: {\"type\":\"1\",\"data\":{\"group\":\"g\",\"topic\":\"t\",\"partition\":0}} \
                    payload: {\"version\":\"3\",\"data\":{\"offset\":50,\"leaderEpoch\":-1,\"metadata\":\"\"}}";
        assert_eq!(parse_commit(line), Some((50, -1)));
        assert_eq!(parse_commit("| offset: 7 key: {} payload: <DELETE>"), None);
    }
}
