//! Reads records as JSON, adds up their `amount` per key, and logs the totals of the batch.
//!
//! ```json
//! {"amount": 12}
//! ```
//!
//! A tombstone counts as a record without an amount; a value that is not JSON of that shape is *fatal* when the setting
//! `on_bad_json` is `fatal`, and *retryable* otherwise. The settings `rehearse_retry`, `rehearse_panic`, `rehearse_spin` and
//! `rehearse_fatal` each name a record key: a batch that holds a record with that key goes wrong in that way, so that an
//! operator can watch the host deal with it. Except for fatal, it does so on the first `rehearse_attempts` attempts (1 when
//! unset).

use std::collections::BTreeMap;

use gristmill_plugin::{Batch, Failure, Retry, fatal, handler, setting};
use serde::Deserialize;

handler!(process);

#[derive(Deserialize)]
struct Entry {
    amount: i64,
}

/// What was counted under one key.
#[derive(Default)]
struct Total {
    records: u64,
    amount: i64,
}

fn process(batch: &Batch) -> Result<(), Failure> {
    count(batch, setting)
}

fn count(batch: &Batch, setting: impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
    rehearse(batch, &setting)?;
    let bad_is_fatal = setting("on_bad_json").as_deref() == Some("fatal");
    let mut totals: BTreeMap<String, Total> = BTreeMap::new();
    for record in batch {
        let key = record.key().map_or("(no key)".into(), String::from_utf8_lossy);
        let total = totals.entry(key.into_owned()).or_default();
        total.records += 1;
        if record.is_tombstone() {
            continue;
        }
        match record.value_json::<Entry>() {
            Ok(entry) => total.amount = total.amount.saturating_add(entry.amount),
            Err(error) if bad_is_fatal => return Err(fatal(error)),
            Err(error) => return Err(Retry::now().suspect(record).because(error.to_string())),
        }
    }
    report(batch, &totals);
    Ok(())
}

/// Goes wrong on purpose, where the settings ask for it.
fn rehearse(batch: &Batch, setting: &impl Fn(&str) -> Option<String>) -> Result<(), Failure> {
    let holds = |name: &str| {
        setting(name).is_some_and(|key| batch.records().any(|record| record.key() == Some(key.as_bytes())))
    };
    if holds("rehearse_fatal") {
        return Err(fatal("the settings rehearse a fatal answer"));
    }
    let attempts: u32 = setting("rehearse_attempts").and_then(|text| text.parse().ok()).unwrap_or(1);
    if batch.attempt() > attempts {
        return Ok(());
    }
    if holds("rehearse_retry") {
        return Err(Retry::now().because("the settings rehearse a retryable answer"));
    }
    assert!(!holds("rehearse_panic"), "the settings rehearse a panic");
    if holds("rehearse_spin") {
        loop {
            std::hint::spin_loop();
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a plugin's standard output becomes log lines of the host")]
fn report(batch: &Batch, totals: &BTreeMap<String, Total>) {
    println!("counted {} records under {} keys", batch.len(), totals.len());
    for (key, total) in totals {
        println!("{key}: {} records, amount {}", total.records, total.amount);
    }
}

#[cfg(test)]
mod tests {
    use gristmill_plugin::{Fixture, FixtureRecord, Outcome, run_batch};

    use super::count;

    fn run(fixture: Fixture, settings: &'static [(&str, &str)]) -> Outcome {
        let setting =
            move |name: &str| settings.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        run_batch(move |batch| count(batch, setting), fixture)
    }

    fn entry(key: &str, value: &str) -> FixtureRecord {
        FixtureRecord::new().key(key).value(value)
    }

    #[test]
    fn counted_batches_are_done() {
        let fixture = Fixture::new().record(entry("a", r#"{"amount": 1}"#)).record(FixtureRecord::new().key("a"));
        assert_eq!(run(fixture, &[]), Outcome::OK);
    }

    #[test]
    fn bad_json_is_retryable_and_blames_the_record() {
        let fixture = Fixture::new().record(entry("a", r#"{"amount": 1}"#)).record(entry("b", "{"));
        let Outcome::Retryable { reason, suspect, .. } = run(fixture, &[]) else { panic!("not retryable") };
        assert_eq!(suspect, Some(1));
        assert!(reason.contains("fixture/0/1"), "{reason}");
    }

    #[test]
    fn bad_json_is_fatal_where_the_settings_say_so() {
        let outcome = run(Fixture::new().record(entry("b", "[]")), &[("on_bad_json", "fatal")]);
        assert!(matches!(outcome, Outcome::Fatal { .. }), "{outcome:?}");
    }

    #[test]
    fn a_rehearsed_retry_ends_after_its_attempts() {
        let settings = &[("rehearse_retry", "busy"), ("rehearse_attempts", "2")];
        let fixture = || Fixture::new().record(entry("busy", r#"{"amount": 1}"#));
        assert!(matches!(run(fixture().attempt(2), settings), Outcome::Retryable { .. }));
        assert_eq!(run(fixture().attempt(3), settings), Outcome::OK);
    }

    #[test]
    fn a_rehearsed_fatal_does_not_end() {
        let fixture = Fixture::new().record(entry("no", r#"{"amount": 1}"#)).attempt(9);
        assert!(matches!(run(fixture, &[("rehearse_fatal", "no")]), Outcome::Fatal { .. }));
    }

    #[test]
    #[should_panic(expected = "rehearse a panic")]
    fn a_rehearsed_panic_panics() {
        run(Fixture::new().record(entry("boom", r#"{"amount": 1}"#)), &[("rehearse_panic", "boom")]);
    }
}
