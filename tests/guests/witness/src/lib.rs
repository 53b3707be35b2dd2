//! A guest that reports what it was given, as `saw PARTITION FIRST LAST ATTEMPT` for each run of consecutive offsets, and
//! answers as its settings say. The end-to-end tests read the reports out of the host's log.
//!
//! Settings: `pause_ms` is how long a batch takes. `fatal_at`, `retry_at` and `trap_at` name records as `PARTITION:OFFSET`, with
//! commas between several: the batch that holds one is answered with fatal, with retryable on its first `retry_attempts` attempts
//! (1 when unset), or not at all, because the guest traps; `spin_at` and `grow_at` are for one that computes for ever, and one that
//! takes memory without end. `suspect` names records to blame for what is retryable. `complete_to`
//! names records that are done with all before them, and makes the batch that holds one retryable; nothing of it then comes again
//! but what lies behind. `reject_at` names records to reject, `reject_every` the distance of the offsets to reject, from 0;
//! `emit_at` and `emit_every` do the same for records to be copied to the sink that `sink` names. `trap_always`
//! traps on every batch. `check_keys` traps when a record's key is not `PARTITION-OFFSET`, as the loader of the tests writes it.
//! `show` reports each record with all that it carries.

#![expect(clippy::print_stdout, reason = "the report is what this guest is for")]

use std::hint::black_box;
use std::time::Duration;

use gristmill_plugin::{Batch, Failure, OutputRecord, Record, Retry, Timestamp, fatal, handler, setting};

handler!(process);

fn process(batch: &Batch) -> Result<(), Failure> {
    witness(batch, setting, |line| println!("{line}"))
}

fn witness(
    batch: &Batch,
    setting: impl Fn(&str) -> Option<String>,
    mut report: impl FnMut(String),
) -> Result<(), Failure> {
    for (partition, first, last) in runs(batch) {
        report(format!("saw {partition} {first} {last} {}", batch.attempt()));
    }
    if setting("show").is_some() {
        batch.records().for_each(|record| report(shown(record)));
    }
    if setting("check_keys").is_some() {
        check_keys(batch);
    }
    if let Some(pause) = number(setting("pause_ms")) {
        std::thread::sleep(Duration::from_millis(pause));
    }
    assert!(setting("trap_always").is_none(), "the witness was told to trap always");
    assert!(!holds(batch, setting("trap_at")), "the witness was told to trap");
    if holds(batch, setting("spin_at")) {
        spin();
    }
    if holds(batch, setting("grow_at")) {
        grow();
    }
    if holds(batch, setting("fatal_at")) {
        return Err(fatal("the witness was told to say fatal"));
    }
    put_aside_and_emit(batch, &setting);
    let done = named(batch, setting("complete_to")).last();
    if let Some(record) = done {
        batch.done_through(record);
    }
    let attempts = number(setting("retry_attempts")).unwrap_or(1);
    let retry = holds(batch, setting("retry_at")) && u64::from(batch.attempt()) <= attempts;
    if retry || done.is_some() {
        let suspect = named(batch, setting("suspect")).next();
        let retry = suspect.map_or(Retry::now(), |record| Retry::now().suspect(record));
        return Err(retry.because("the witness was told to say retryable"));
    }
    Ok(())
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

fn grow() -> ! {
    let mut held: Vec<Vec<u8>> = Vec::new();
    loop {
        held.push(vec![1; 1 << 20]);
        black_box(&held);
    }
}

/// Rejects and emits what the settings name.
fn put_aside_and_emit(batch: &Batch, setting: &impl Fn(&str) -> Option<String>) {
    let chosen = |at: &str, every: &str| -> Vec<Record<'_>> {
        let distance = number(setting(every)).filter(|distance| *distance > 0);
        let is_due = |record: &Record<'_>| {
            distance.is_some_and(|distance| record.offset().unsigned_abs().is_multiple_of(distance))
        };
        named(batch, setting(at)).chain(batch.records().filter(is_due)).collect()
    };
    for record in chosen("reject_at", "reject_every") {
        batch.reject(record, "the witness was told to reject");
    }
    let sink = setting("sink").unwrap_or_default();
    for record in chosen("emit_at", "emit_every") {
        batch.emit(sink.as_str(), OutputRecord::copy_of(record));
    }
}

/// The runs of consecutive offsets in the batch, as partition, first and last offset, in the order in which they begin.
fn runs(batch: &Batch) -> Vec<(i32, i64, i64)> {
    let mut runs: Vec<(i32, i64, i64)> = Vec::new();
    for record in batch {
        // The latest run of that partition: records of several partitions may take turns.
        let latest = runs.iter_mut().rev().find(|(partition, ..)| *partition == record.partition());
        match latest {
            Some((_, _, last)) if *last + 1 == record.offset() => *last = record.offset(),
            _ => runs.push((record.partition(), record.offset(), record.offset())),
        }
    }
    runs
}

/// A record as `record PARTITION OFFSET TIMESTAMP KEY VALUE [NAME=VALUE,…]`.
fn shown(record: Record<'_>) -> String {
    let timestamp = match record.timestamp() {
        Timestamp::None => "none".to_owned(),
        Timestamp::CreateTime(ms) => format!("create({ms})"),
        Timestamp::LogAppendTime(ms) => format!("append({ms})"),
    };
    let headers: Vec<String> = record.headers().map(|(name, value)| format!("{name}={}", bytes(value))).collect();
    let (key, value) = (bytes(record.key()), bytes(record.value()));
    format!("record {} {} {timestamp} {key} {value} [{}]", record.partition(), record.offset(), headers.join(","))
}

/// Null, empty, short and long bytes, each in its own way.
fn bytes(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "null".to_owned(),
        Some(bytes) if bytes.len() > 200 => {
            let sum = bytes.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
            format!("<{} bytes, sum {sum}>", bytes.len())
        }
        Some(bytes) => format!("'{}'", bytes.escape_ascii()),
    }
}

fn check_keys(batch: &Batch) {
    for record in batch {
        let wanted = format!("{}-{}", record.partition(), record.offset());
        assert_eq!(record.key(), Some(wanted.as_bytes()), "the key of {}", record.idempotency_key());
    }
}

fn holds(batch: &Batch, places: Option<String>) -> bool {
    named(batch, places).next().is_some()
}

/// The records of the batch at these places, in the order of the batch.
fn named(batch: &Batch, places: Option<String>) -> impl Iterator<Item = Record<'_>> {
    let places = places.unwrap_or_default();
    batch.records().filter(move |record| {
        let own = format!("{}:{}", record.partition(), record.offset());
        places.split(',').any(|place| place == own)
    })
}

fn number(text: Option<String>) -> Option<u64> {
    text?.parse().ok()
}

#[cfg(test)]
mod tests {
    use gristmill_plugin::{Fixture, FixtureRecord, Outcome, Timestamp, run_batch};

    use super::witness;

    fn run(fixture: Fixture, settings: &'static [(&str, &str)]) -> (Outcome, Vec<String>) {
        let setting =
            move |name: &str| settings.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let mut lines = Vec::new();
        let outcome = run_batch(|batch| witness(batch, setting, |line| lines.push(line)), fixture);
        (outcome, lines)
    }

    fn record(partition: i32, offset: i64) -> FixtureRecord {
        FixtureRecord::new().at("t", partition, offset).key(format!("{partition}-{offset}"))
    }

    #[test]
    fn runs_are_reported_even_when_partitions_take_turns_and_offsets_have_gaps() {
        let fixture =
            Fixture::new().record(record(0, 5)).record(record(1, 1)).record(record(0, 6)).record(record(0, 9));
        let (outcome, lines) = run(fixture, &[("check_keys", "yes")]);
        assert_eq!(outcome, Outcome::OK);
        assert_eq!(lines, ["saw 0 5 6 1", "saw 1 1 1 1", "saw 0 9 9 1"]);
    }

    #[test]
    fn the_answer_is_what_the_settings_say() {
        let fixture = || Fixture::new().record(record(0, 5)).record(record(0, 6));
        assert!(matches!(run(fixture(), &[("fatal_at", "0:6")]).0, Outcome::Fatal { .. }));
        assert!(matches!(run(fixture(), &[("retry_at", "0:5")]).0, Outcome::Retryable { .. }));
        assert_eq!(run(fixture().attempt(2), &[("retry_at", "0:5")]).0, Outcome::OK);
        assert_eq!(run(fixture(), &[("fatal_at", "1:6"), ("retry_at", "0:55")]).0, Outcome::OK);
    }

    #[test]
    fn records_are_rejected_and_emitted_where_the_settings_say() {
        let fixture = || (4..9).fold(Fixture::new(), |fixture, offset| fixture.record(record(0, offset)));
        let settings = &[("reject_at", "0:5,0:7"), ("reject_every", "4"), ("emit_at", "0:5"), ("sink", "out")];
        let Outcome::Ok(effects) = run(fixture(), settings).0 else { panic!("not ok") };
        let rejected: Vec<usize> = effects.rejected.iter().map(|rejection| rejection.index).collect();
        assert_eq!(rejected, [0, 1, 3, 4]);
        let emitted = &effects.emitted;
        assert_eq!((emitted.len(), emitted[0].sink.as_str(), emitted[0].source), (1, "out", Some(1)));
        assert_eq!(emitted[0].key.as_deref(), Some(&b"0-5"[..]));
    }

    #[test]
    fn a_part_is_completed_and_the_rest_is_done_when_it_comes_again() {
        let settings = &[("complete_to", "0:5"), ("suspect", "0:6"), ("emit_every", "1"), ("sink", "out")];
        let fixture = Fixture::new().record(record(0, 4)).record(record(0, 5)).record(record(0, 6));
        let Outcome::Retryable { completed: Some(done), suspect, .. } = run(fixture, settings).0 else {
            panic!("no part")
        };
        assert_eq!((done.records, done.effects.emitted.len(), suspect), (2, 2, Some(2)));
        let rest = run(Fixture::new().record(record(0, 6)).attempt(2), settings).0;
        assert!(matches!(rest, Outcome::Ok(_)), "{rest:?}");
    }

    #[test]
    fn a_record_is_shown_with_all_that_it_carries() {
        let odd = FixtureRecord::new().at("t", 1, 2).value([0xFF, b'x']).timestamp(Timestamp::CreateTime(-7));
        let odd = odd.header("a", Some(b"1")).header("a", None).header("", Some(b""));
        let (_, lines) = run(Fixture::new().record(odd).record(record(1, 3).value(vec![1; 201])), &[("show", "yes")]);
        assert_eq!(lines[1], r"record 1 2 create(-7) null '\xffx' [a='1',a=null,='']");
        assert!(lines[2].contains("'1-3' <201 bytes, sum "), "{}", lines[2]);
    }

    #[test]
    #[should_panic(expected = "told to trap")]
    fn a_trap_is_a_trap_on_every_attempt() {
        run(Fixture::new().record(record(0, 5)).attempt(9), &[("trap_at", "0:5")]);
    }

    #[test]
    #[should_panic(expected = "the key of t/0/7")]
    fn a_record_with_another_records_key_is_noticed() {
        run(Fixture::new().record(record(0, 8).at("t", 0, 7)), &[("check_keys", "yes")]);
    }
}
