//! Numbers that cannot be true together. Each is refused with both numbers and the way out.
//!
//! It looks at the file as it was written; what it lets through, `parse` can turn into a `Config`.

use gristmill_guest::TICK;
use gristmill_kafka::RECORD_OVERHEAD_BYTES;

use super::file::{ConfigFile, Scope};
use super::findings::Findings;
use super::property;
use super::quantity::{Size, Span};
use super::scalar::Attempts;

/// Each has a thread and a guest of its own; more than any machine has processors was mistyped.
const WORKERS_MAX: u32 = 256;

/// Finds every contradiction.
pub(crate) fn find(file: &ConfigFile, findings: &mut Findings) {
    batches(file, findings);
    limits(file, findings);
    backoff(file, findings);
    property::refuse(file, findings);
    times(file, findings);
}

fn batches(file: &ConfigFile, findings: &mut Findings) {
    let workers = file.batch.workers;
    if workers.get() > 1 && file.batch.scope == Scope::Consumer {
        let message = format!(
            "batch.workers = {workers}: with batch.scope = \"consumer\" there is one batch at a time; write scope = \"partition\", \
             or remove it"
        );
        findings.refuse(&[&["batch", "workers"]], message);
    }
    if file.batch.scope == Scope::Partition && !file.topics.is_empty() {
        let message = "batch.scope = \"partition\" and formats in [topics]: this version decodes for batches of all partitions only, since what \
                       decoding makes is not shared out yet; write scope = \"consumer\", or let the plugin decode"
            .to_owned();
        findings.refuse(&[&["batch", "scope"]], message);
    }
    if workers.get() > WORKERS_MAX {
        let message = format!("batch.workers ({workers}) is above the most that it may be ({WORKERS_MAX})");
        findings.refuse(&[&["batch", "workers"]], message);
    }
    let (batch, memory) = (file.batch.max_bytes, file.plugin.limits.memory);
    if batch.0 == 0 {
        findings.refuse(&[&["batch", "max_bytes"]], "batch.max_bytes = 0: a batch needs room for a record".to_owned());
    }
    if batch.0.saturating_mul(2) > memory.0 {
        let message = format!(
            "batch.max_bytes ({batch}) is more than half of plugin.limits.memory ({memory}), and a plugin needs room to work \
             on what it was given; lower the first or raise the second"
        );
        findings.refuse(&[&["batch", "max_bytes"], &["plugin", "limits", "memory"]], message);
    }
}

fn limits(file: &ConfigFile, findings: &mut Findings) {
    let limits = &file.plugin.limits;
    let memory_min = Size(64 << 10);
    if limits.memory < memory_min {
        let message = format!(
            "plugin.limits.memory ({}) is less than one page of WebAssembly; write at least \"{memory_min}\"",
            limits.memory
        );
        findings.refuse(&[&["plugin", "limits", "memory"]], message);
    }
    let memory_max = Size::mib(1024);
    if limits.memory > memory_max {
        let message =
            format!("plugin.limits.memory ({}) is above the most a plugin may have ({memory_max})", limits.memory);
        findings.refuse(&[&["plugin", "limits", "memory"]], message);
    }
    let least = Span(TICK);
    for (name, limit) in [("time", Some(limits.time)), ("cpu", limits.cpu)] {
        if let Some(limit) = limit.filter(|limit| *limit < least) {
            let message = format!(
                "plugin.limits.{name} ({limit}) is shorter than the time after which a guest that computes can be interrupted \
                 ({least}), so it could not be kept to; write at least \"{least}\""
            );
            findings.refuse(&[&["plugin", "limits", name]], message);
        }
    }
    if let Some(cpu) = limits.cpu.filter(|cpu| *cpu > limits.time) {
        let message = format!("plugin.limits.cpu ({cpu}) is more than plugin.limits.time ({})", limits.time);
        findings.refuse(&[&["plugin", "limits", "cpu"], &["plugin", "limits", "time"]], message);
    }
    ceilings(file, findings);
    let record_min = Size(RECORD_OVERHEAD_BYTES);
    if let Some(record) = limits.record.filter(|record| *record < record_min) {
        let message = format!(
            "plugin.limits.record ({record}) holds no record at all, since each counts {record_min} for itself; write at least {}",
            record_min.0
        );
        findings.refuse(&[&["plugin", "limits", "record"]], message);
    }
    if let Some(record) = limits.record.filter(|record| record.0.saturating_mul(2) > limits.memory.0) {
        let message = format!(
            "plugin.limits.record ({record}) is more than half of plugin.limits.memory ({}); lower the first or raise the second",
            limits.memory
        );
        findings.refuse(&[&["plugin", "limits", "record"], &["plugin", "limits", "memory"]], message);
    }
}

/// What no plugin has a use for, so that it was mistyped.
fn ceilings(file: &ConfigFile, findings: &mut Findings) {
    let limits = &file.plugin.limits;
    let sizes =
        [("file", limits.file, 256 << 20), ("output", limits.output, 64 << 20), ("random", limits.random, 16 << 20)];
    let sizes = sizes.into_iter().chain([("output_line", limits.output_line, 1 << 20)]);
    for (name, size, max) in sizes.filter(|(_, size, max)| size.0 > *max) {
        let message = format!("plugin.limits.{name} ({size}) is above the most that it may be ({})", Size(max));
        findings.refuse(&[&["plugin", "limits", name]], message);
    }
    let counts = [
        ("resources", limits.resources, 100_000),
        ("instances", limits.instances, 10_000),
        ("memories", limits.memories, 100),
        ("tables", limits.tables, 10_000),
    ];
    for (name, count, max) in counts.into_iter().filter(|(_, count, max)| count.get() > *max) {
        let message = format!("plugin.limits.{name} ({count}) is above the most that it may be ({max})");
        findings.refuse(&[&["plugin", "limits", name]], message);
    }
}

fn backoff(file: &ConfigFile, findings: &mut Findings) {
    let retry = &file.retry;
    if retry.initial < Span::millis(1) {
        let message = format!(
            "retry.initial = {}: a batch would be tried again without a pause, for ever; write at least \"1ms\"",
            retry.initial
        );
        findings.refuse(&[&["retry", "initial"]], message);
    }
    if retry.initial > retry.max {
        let message = format!("retry.initial ({}) is longer than retry.max ({})", retry.initial, retry.max);
        findings.refuse(&[&["retry", "initial"], &["retry", "max"]], message);
    }
    if !(0.0..=1.0).contains(&retry.jitter) {
        let message = format!("retry.jitter ({}) is a share and lies between 0.0 and 1.0", retry.jitter);
        findings.refuse(&[&["retry", "jitter"]], message);
    }
    if retry.then.is_some() && retry.max_attempts == Attempts::Unlimited {
        let message =
            "retry.then follows the last attempt, but retry.max_attempts = \"unlimited\" has no last attempt; \
                       remove the first or limit the second"
                .to_owned();
        findings.refuse(&[&["retry", "then"], &["retry", "max_attempts"]], message);
    }
}

/// The group's own clocks against ours.
fn times(file: &ConfigFile, findings: &mut Findings) {
    let wait = file.start.wait;
    if wait < Span::millis(100) {
        let message = format!("start.wait ({wait}) is over before any broker can answer; write at least \"100ms\"");
        findings.refuse(&[&["start", "wait"]], message);
    }
    let time = file.plugin.limits.time;
    let poll = property::millis(file, "max.poll.interval.ms", 300_000);
    if let Some(poll) = poll.filter(|poll| time.0 > *poll / 3) {
        let message = format!(
            "plugin.limits.time ({time}) is more than a third ({}) of max.poll.interval.ms ({}); lower the first or raise the \
             second",
            Span(poll / 3),
            Span(poll)
        );
        findings.refuse(&[&["plugin", "limits", "time"], &["kafka", "properties", "max.poll.interval.ms"]], message);
    }
    let grace = file.shutdown.grace;
    if grace < time {
        let message = format!(
            "shutdown.grace ({grace}) is shorter than plugin.limits.time ({time}): a stop may abandon a batch that would have \
             been finished"
        );
        findings.warn(&[&["shutdown", "grace"], &["plugin", "limits", "time"]], message);
    }
    let drain = file.kafka.drain;
    if drain < time {
        let message = format!(
            "kafka.drain ({drain}) is shorter than plugin.limits.time ({time}): a rebalance may abandon a batch that would \
             have been finished"
        );
        findings.warn(&[&["kafka", "drain"], &["plugin", "limits", "time"]], message);
    }
}
