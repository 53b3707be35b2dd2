//! A host's status for people.
//!
//! Pure: from a status to a text. Whatever comes out of a plugin or a file is shown with control characters escaped.

use std::time::Duration;

use crate::control::{BatchStatus, HeldStatus, HostStatus};

use super::console::escape;
use super::live::grouped;

/// Renders a status, without a line break at its end.
pub(super) fn render(status: &HostStatus) -> String {
    let mut lines = vec![headline(status)];
    let plugin = status.plugin.digest.as_deref().and_then(|digest| digest.get(7..19)).unwrap_or("loading");
    lines.push(row("plugin", format!("{plugin} {}", status.plugin.file)));
    if !status.plugin.profile.is_empty() {
        lines.push(row("allowed", status.plugin.profile.join("; ")));
    }
    lines.push(row("group", format!("{}, topics {}", status.group, status.topics.join(", "))));
    lines.push(row(
        "process",
        format!("{} for {}, gristmill {}, {}", status.pid, span(status.uptime_ms), status.version, status.socket),
    ));
    for held in &status.held {
        lines.extend(held_rows(held));
    }
    lines.extend(status.batches.iter().map(|batch| row("batch", batch_words(batch))));
    let counts = &status.counts;
    lines.push(row(
        "records",
        format!(
            "{} committed, {} handed over, {} of them again; {} wait for the next batch",
            grouped(counts.committed),
            grouped(counts.handed_over),
            grouped(counts.redelivered),
            grouped(status.filling)
        ),
    ));
    lines.push(row(
        "answers",
        format!(
            "{} ok, {} retryable, {} faults",
            grouped(counts.batches_ok),
            grouped(counts.retries),
            grouped(counts.faults)
        ),
    ));
    if counts.emitted > 0 {
        lines.push(row("emitted", format!("{} acknowledged", grouped(counts.emitted))));
    }
    if let Some(topic) = &status.dead_letter_topic {
        lines.push(row("put aside", format!("{} to {topic}", grouped(counts.dead_letters))));
    }
    if counts.write_failures > 0 {
        let times = grouped(counts.write_failures);
        lines.push(row(
            "unwritten",
            format!("{times} times that the brokers acknowledged nothing; each was tried again"),
        ));
    }
    lines.extend(partitions(status));
    lines.iter().map(|line| escape(line).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The first line has to do for whoever looks once.
fn headline(status: &HostStatus) -> String {
    let mut line = format!("{}: {} for {}", status.pipeline, status.state, span(status.state_for_ms));
    if status.paused && status.state != "paused" {
        line.push_str(", paused");
    }
    if let Some(detail) = &status.detail {
        line.push_str(&format!(": {detail}"));
    }
    line
}

fn row(name: &str, words: impl std::fmt::Display) -> String {
    format!("  {name:<10}  {words}")
}

fn held_rows(held: &HeldStatus) -> Vec<String> {
    let place = match (&held.topic, held.partition) {
        (Some(topic), Some(partition)) => format!("{topic}/{partition}: "),
        _ => "everything: ".to_owned(),
    };
    let positions = held.positions.as_ref().map(|positions| format!(" ({positions})")).unwrap_or_default();
    let mut rows = vec![row("held", format!("{place}{}{positions}, for {}", held.reason, span(held.for_ms)))];
    rows.extend(
        held.release.iter().flat_map(|it| [row("", format!("{}:", it.when)), row("", format!("  {}", it.command))]),
    );
    rows
}

fn batch_words(batch: &BatchStatus) -> String {
    let stands = match batch.stands.as_str() {
        "out" => "with the plugin",
        "writes" => "what it made is being written",
        _ => "waits",
    };
    let noun = if batch.records == 1 { "record" } else { "records" };
    let mut words = format!(
        "{}, attempt {}, {} {noun} ({}): {stands} for {}",
        batch.batch,
        batch.attempt,
        grouped(batch.records),
        batch.positions,
        span(batch.for_ms)
    );
    if let Some(next) = batch.next_attempt_in_ms {
        words.push_str(&format!(", next attempt in {}", span(next)));
    }
    if let Some(failing) = batch.failing_for_ms {
        words.push_str(&format!(", failing for {}", span(failing)));
    }
    if let Some(reason) = &batch.reason {
        words.push_str(&format!(": {reason}"));
    }
    words
}

/// A table, each column as wide as its widest cell.
fn partitions(status: &HostStatus) -> Vec<String> {
    if status.partitions.is_empty() {
        return Vec::new();
    }
    let number = |offset: Option<i64>| offset.map_or_else(|| "?".to_owned(), |offset| offset.to_string());
    let mut rows = vec![["partition", "committed", "end", "lag", "no progress for"].map(str::to_owned)];
    rows.extend(status.partitions.iter().map(|it| {
        [
            format!("{}/{}", it.topic, it.partition),
            number(it.committed),
            number(it.end),
            it.lag.map_or_else(|| "?".to_owned(), grouped),
            if it.progress_age_ms == 0 { "-".to_owned() } else { span(it.progress_age_ms) },
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3), width(4)];
    let line = |row: &[String; 5]| {
        let [name, rest @ ..] = row;
        let cells = rest.iter().zip(&widths[1..]).map(|(cell, width)| format!("  {cell:>width$}"));
        format!("  {name:<width$}{}", cells.collect::<String>(), width = widths[0].max(10))
    };
    rows.iter().map(line).collect()
}

/// A time as people read it: tenths of a second, then seconds, then the two largest units.
pub(super) fn span(ms: u64) -> String {
    match ms {
        0..10_000 => format!("{}.{} s", ms / 1_000, ms / 100 % 10),
        10_000..60_000 => format!("{} s", ms / 1_000),
        _ => {
            let words = humantime::format_duration(Duration::from_secs(ms / 1_000)).to_string();
            words.split(' ').take(2).collect::<Vec<_>>().join(" ")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::control::{PartitionStatus, ReleaseStatus, host_status::PluginStatus};
    use crate::status::Counts;

    use super::*;

    fn status() -> HostStatus {
        HostStatus {
            pipeline: "orders".to_owned(),
            pid: 4_711,
            version: "0.1.0".to_owned(),
            socket: "/run/user/7/gristmill/orders.sock".to_owned(),
            uptime_ms: 7_380_000,
            state: "running".to_owned(),
            state_for_ms: 61_000,
            detail: None,
            paused: false,
            group: "orders".to_owned(),
            topics: vec!["orders".to_owned(), "returns".to_owned()],
            dead_letter_topic: None,
            plugin: PluginStatus {
                file: "orders.wasm".to_owned(),
                digest: Some("sha256:852edbc595d9f00d".to_owned()),
                profile: Vec::new(),
            },
            held: Vec::new(),
            batches: Vec::new(),
            filling: 250,
            lag: Some(4_210),
            partitions: vec![PartitionStatus {
                topic: "orders".to_owned(),
                partition: 0,
                committed: Some(120),
                end: Some(4_330),
                lag: Some(4_210),
                progress_age_ms: 0,
            }],
            counts: Counts { committed: 1_204_332, handed_over: 1_204_832, redelivered: 500, ..Counts::default() },
        }
    }

    #[test]
    fn a_running_host_is_shown_in_a_few_lines() {
        let wanted = "\
orders: running for 1m 1s
  plugin      852edbc595d9 orders.wasm
  group       orders, topics orders, returns
  process     4711 for 2h 3m, gristmill 0.1.0, /run/user/7/gristmill/orders.sock
  records     1,204,332 committed, 1,204,832 handed over, 500 of them again; 250 wait for the next batch
  answers     0 ok, 0 retryable, 0 faults
  partition   committed   end    lag  no progress for
  orders/0          120  4330  4,210                -";
        assert_eq!(render(&status()), wanted);
    }

    #[test]
    fn what_is_held_stands_there_with_the_commands_that_release_it() {
        let release = ReleaseStatus {
            command: "gristmill retry --socket /x.sock".to_owned(),
            when: "once its cause is corrected".to_owned(),
        };
        let held = HeldStatus {
            kind: "fatal".to_owned(),
            topic: None,
            partition: None,
            positions: Some("orders/0 120..149".to_owned()),
            reason: "the plugin said fatal: no table".to_owned(),
            for_ms: 182_000,
            release: vec![release],
        };
        let partition = HeldStatus {
            topic: Some("orders".to_owned()),
            partition: Some(3),
            positions: None,
            reason: "offset 2 is not in the log".to_owned(),
            release: Vec::new(),
            ..held.clone()
        };
        let text = render(&HostStatus { state: "held".to_owned(), held: vec![held, partition], ..status() });
        let wanted = "
  held        everything: the plugin said fatal: no table (orders/0 120..149), for 3m 2s
              once its cause is corrected:
                gristmill retry --socket /x.sock
  held        orders/3: offset 2 is not in the log, for 3m 2s
";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn a_batch_says_where_it_stands_and_why() {
        let batch = BatchStatus {
            batch: 17,
            stands: "waits".to_owned(),
            for_ms: 1_250,
            attempt: 4,
            records: 30,
            positions: "orders/0 120..149".to_owned(),
            next_attempt_in_ms: Some(3_200),
            failing_for_ms: Some(20_000),
            reason: Some("the database is down".to_owned()),
        };
        let words = batch_words(&batch);
        let wanted = "17, attempt 4, 30 records (orders/0 120..149): waits for 1.2 s, next attempt in 3.2 s, failing for \
                      20 s: the database is down";
        assert_eq!(words, wanted);
        let out = BatchStatus {
            stands: "out".to_owned(),
            records: 1,
            next_attempt_in_ms: None,
            failing_for_ms: None,
            reason: None,
            ..batch
        };
        assert_eq!(batch_words(&out), "17, attempt 4, 1 record (orders/0 120..149): with the plugin for 1.2 s");
    }

    #[test]
    fn words_of_others_cannot_move_the_cursor_or_add_a_line() {
        let detail = Some("\u{1b}[2J\nheld".to_owned());
        let odd = HostStatus { detail, pipeline: "a\rb".to_owned(), ..status() };
        let text = render(&odd);
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
        assert_eq!(text.lines().count(), render(&status()).lines().count());
    }

    #[test]
    fn what_is_not_known_is_no_zero() {
        let mut unknown = status();
        unknown.partitions[0] =
            PartitionStatus { committed: None, end: None, lag: None, ..unknown.partitions[0].clone() };
        assert!(render(&unknown).contains("  ?"), "{}", render(&unknown));
    }

    #[test]
    fn a_time_is_as_exact_as_people_need_it() {
        for (ms, words) in [
            (0, "0.0 s"),
            (9_960, "9.9 s"),
            (59_999, "59 s"),
            (60_000, "1m"),
            (3_661_000, "1h 1m"),
            (90_061_000, "1day 1h"),
        ] {
            assert_eq!(span(ms), words, "{ms}");
        }
    }
}
