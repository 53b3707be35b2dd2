//! From the file as written to a `Config` that can only hold legal combinations.

use std::hash::{BuildHasher, RandomState};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::Path;
use std::time::Duration;

use gristmill_core::policy::{self, Attempts, Backoff, BatchLimits, CommitPolicy, Policy};
use gristmill_guest::Limits;
use gristmill_kafka::{RangePolicy, ResetPolicy, TopicFault, check_pattern, check_topic};

use super::bootstrap;
use super::cache;
use super::contradictions;
use super::control;
use super::decoding;
use super::file::{self, ConfigFile};
use super::findings::Findings;
use super::grants;
use super::paths;
use super::property;
use super::secret::Secret;
use super::writing;
use super::{Config, KafkaConfig, PluginConfig, StartConfig};

/// Waits between tries of a commit: short, since the plugin is not called again meanwhile (C2).
const COMMIT_BACKOFF: Backoff =
    Backoff { initial: Duration::from_millis(100), max: Duration::from_secs(5), jitter_permille: 200 };

/// Parses, and finds every contradiction on the way. Nothing where something was refused, now or before.
/// `runtime` is the usual folder of control sockets.
pub(crate) fn parse(file: ConfigFile, folder: &Path, runtime: &Path, findings: &mut Findings) -> Option<Config> {
    contradictions::find(&file, findings);
    names(&file, findings);
    let digest = digest(&file, findings);
    let bytes_max = NonZeroU64::new(file.batch.max_bytes.0);
    let limits = limits(&file);
    let kafka = kafka(&file.kafka, buffer_bytes_max(&file));
    let control = control::parse(&file, folder, runtime, findings);
    property::refuse_contradictions(&kafka, findings);
    let writing = writing::parse(&file, &kafka, findings);
    let decoding = decoding::parse(&file, folder, findings);
    let grants = grants::parse(&file.plugin, folder, findings);
    let cache = cache::parse(&file.plugin.cache, folder, findings);
    let path = paths::parse(&["plugin", "path"], &file.plugin.path, folder, findings);
    let bytes_max = bytes_max.filter(|_| findings.is_empty())?;
    let warnings = std::mem::take(&mut findings.warnings);
    let policy = policy(&file, bytes_max);
    let pipeline = file.pipeline_name().to_owned();
    let plugin = PluginConfig {
        path,
        digest,
        cache,
        reuse: file.plugin.instances == file::Instances::Reuse,
        deterministic: file.plugin.deterministic,
        settings: grants::settings(&file.plugin),
        secrets: grants::places(&file.plugin, findings),
        grants,
        limits,
    };
    let start = StartConfig {
        wait: file.start.wait.0,
        missing_topics_end: file.start.missing_topics == file::MissingTopics::Exit,
        confine: file.start.confine,
    };
    Some(Config { pipeline, policy, kafka, decoding, plugin, writing, start, control, warnings })
}

/// Names that must not be empty, or must be what they stand for.
fn names(file: &ConfigFile, findings: &mut Findings) {
    let texts: [(&[&str], &str); 2] = [
        (&["pipeline"], file.pipeline.as_deref().unwrap_or("unnamed")),
        (&["kafka", "group_id"], &file.kafka.group_id),
    ];
    for (path, text) in texts {
        if text.trim().is_empty() {
            findings.refuse(&[path], format!("{} is empty", path.join(".")));
        }
    }
    for fault in bootstrap::faults(&file.kafka.bootstrap_servers) {
        findings.refuse(&[&["kafka", "bootstrap_servers"]], fault);
    }
    topics(&file.kafka.topics, findings);
}

/// Topics that no broker can have, and those that are named twice, each at its own place.
fn topics(topics: &[String], findings: &mut Findings) {
    let path = ["kafka", "topics"];
    if topics.is_empty() {
        findings.refuse(&[&path], "kafka.topics needs the name of at least one topic".to_owned());
    }
    for (item, topic) in topics.iter().enumerate() {
        if let Err(fault) = check_topic(topic).and_then(|()| check_pattern(topic)) {
            let advice = match fault {
                TopicFault::Character(_) => "; correct it, or begin it with ^ if it is a pattern",
                TopicFault::Empty | TopicFault::TooLong { .. } | TopicFault::Dots | TopicFault::Pattern => "",
            };
            findings.refuse_item(&path, item, format!("kafka.topics: {topic:?}: {fault}{advice}"));
        } else if topics[..item].contains(topic) {
            findings.refuse_item(&path, item, format!("kafka.topics: {topic:?} is named twice; remove one"));
        }
    }
}

/// The pinned digest as `inspect` prints digests.
fn digest(file: &ConfigFile, findings: &mut Findings) -> Option<String> {
    let written = file.plugin.digest.as_deref()?;
    let digits = written.strip_prefix("sha256:").unwrap_or_default();
    if digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Some(written.to_ascii_lowercase());
    }
    let message = format!(
        "plugin.digest = \"{written}\": wanted \"sha256:\" and 64 hexadecimal digits, as gristmill inspect prints them"
    );
    findings.refuse(&[&["plugin", "digest"]], message);
    None
}

/// What the budget of fetched bytes leaves over for chunks that are not full and for rows of headers.
const BUFFER_SLACK_BYTES: u64 = 16 << 20;

/// Bytes of fetched records that may be in the process. Must hold for each worker one batch with the guest and one that fills, each with
/// room for buffers that are not full, or a batch could wait for ever for its last record (I-33).
fn buffer_bytes_max(file: &ConfigFile) -> u64 {
    let batches = file.batch.max_bytes.0.saturating_mul(4).saturating_mul(file.batch.workers.get().into());
    let records = record_bytes_max(file).saturating_mul(2);
    batches.saturating_add(records).saturating_add(BUFFER_SLACK_BYTES)
}

fn kafka(section: &file::KafkaSection, buffer_bytes_max: u64) -> KafkaConfig {
    let properties = section.properties.iter().map(|(name, value)| (name.clone(), Secret::new(value.0.clone())));
    KafkaConfig {
        bootstrap_servers: section.bootstrap_servers.clone(),
        group_id: section.group_id.clone(),
        topics: section.topics.clone(),
        reset: match section.auto_offset_reset {
            file::Reset::Earliest => ResetPolicy::Earliest,
            file::Reset::Latest => ResetPolicy::Latest,
            file::Reset::Error => ResetPolicy::Error,
        },
        on_out_of_range: match section.on_out_of_range {
            file::OutOfRange::Hold => RangePolicy::Hold,
            file::OutOfRange::Earliest => RangePolicy::Earliest,
            file::OutOfRange::Latest => RangePolicy::Latest,
        },
        drain: section.drain.0,
        buffer_bytes_max,
        properties: properties.collect(),
    }
}

fn limits(file: &ConfigFile) -> Limits {
    let limits = &file.plugin.limits;
    Limits {
        memory_bytes: limits.memory.0,
        time: limits.time.0,
        cpu: file.cpu().0,
        emitted_records: limits.emitted_records as usize,
        emitted_bytes: limits.emitted_bytes.0,
        file_bytes: limits.file.0,
        output_bytes_per_second: limits.output.0,
        output_line_bytes: usize::try_from(limits.output_line.0).unwrap_or(usize::MAX),
        random_bytes: limits.random.0,
        resources: limits.resources.get() as usize,
        instances: limits.instances.get() as usize,
        memories: limits.memories.get() as usize,
        tables: limits.tables.get() as usize,
        ..Limits::STRICT
    }
}

/// The largest record that is ever handed over.
fn record_bytes_max(file: &ConfigFile) -> u64 {
    file.record().0.max(1)
}

fn policy(file: &ConfigFile, bytes_max: NonZeroU64) -> Policy {
    let retry = &file.retry;
    let backoff = Backoff { initial: retry.initial.0, max: retry.max.0, jitter_permille: permille(retry.jitter) };
    Policy {
        scope: match file.batch.scope {
            file::Scope::Consumer => policy::Scope::Consumer,
            file::Scope::Partition => policy::Scope::Partition {
                workers: file.batch.workers,
                lanes_bytes_max: NonZeroU64::MIN.saturating_add(buffer_bytes_max(file) - 1),
            },
        },
        batch: BatchLimits {
            records_max: file.batch.max_records,
            bytes_max,
            wait_max: file.batch.max_wait.0,
            record_bytes_max: NonZeroU64::MIN.saturating_add(record_bytes_max(file) - 1),
        },
        retry: policy::RetryPolicy {
            backoff,
            attempts: match file.last_attempt() {
                Some((max, then)) => Attempts::Limited { max, then: exhausted(then) },
                None => Attempts::Unlimited,
            },
            redeliver: match retry.redeliver {
                file::Redeliver::Memory => policy::Redeliver::Memory,
                file::Redeliver::Seek => policy::Redeliver::Seek,
            },
            after_min: retry.initial.0,
            after_max: retry.max.0,
        },
        fault: policy::FaultPolicy {
            attempts_max: file.fault.max_attempts,
            isolate: file.isolate(),
            then: exhausted(file.fault_then()),
            backoff,
        },
        fatal: match file.fatal.then {
            file::Fatal::Exit => policy::FatalPolicy::Exit,
            file::Fatal::Hold => policy::FatalPolicy::Hold,
        },
        commit: CommitPolicy { backoff: COMMIT_BACKOFF, tries_max: NonZeroU32::MIN.saturating_add(9) },
        dead_letters: file.dead_letter.as_ref().map(|section| dead_letters(&section.stop_when)),
        shutdown_grace: file.shutdown.grace.0,
        jitter_seed: RandomState::new().hash_one(std::process::id()),
    }
}

fn exhausted(then: file::Exhausted) -> policy::Exhausted {
    match then {
        file::Exhausted::Stop => policy::Exhausted::Stop,
        file::Exhausted::Hold => policy::Exhausted::Hold,
        file::Exhausted::DeadLetter => policy::Exhausted::DeadLetter,
    }
}

fn dead_letters(limits: &file::StopWhen) -> policy::DeadLetterPolicy {
    policy::DeadLetterPolicy {
        consecutive_max: Some(limits.consecutive),
        share_max: Some(policy::Share { permille: permille(limits.ratio), of_last: limits.of_last }),
    }
}

/// A share between 0 and 1 in thousandths.
fn permille(share: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the share was checked to lie in 0..=1"
    )]
    let permille = (share.clamp(0.0, 1.0) * 1_000.0).round() as u32;
    permille
}
