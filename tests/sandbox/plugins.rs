//! The plugins that come with gristmill, as components.

use gristmill_core::outcome::{Answer, FaultClass, Outcome};
use gristmill_guest::{Plugin, PluginSettings};

use crate::journal;
use crate::mill::{Batch, Mill, Record, engine, guest_bytes, reason, with_settings};

fn mill(name: &str, settings: &PluginSettings) -> Mill {
    Mill::of(Plugin::load(engine(), name, &guest_bytes(name), settings).unwrap())
}

fn entry(offset: i64, key: &str, amount: i64) -> Record {
    let value = Some(format!(r#"{{"amount": {amount}}}"#).into_bytes());
    Record { key: Some(key.into()), value, ..Record::at(offset) }
}

#[test]
fn echo_prints_every_record_and_says_ok() {
    journal::listen();
    let mut mill = mill("gristmill_echo", &PluginSettings::default());
    let answered = mill.run(Batch(vec![entry(41, "k", 7), Record::at(42)]));
    assert_eq!(answered.answer, Answer::Outcome(Outcome::OK));
    assert!(answered.facts.instance_fresh && answered.facts.guest_memory_bytes > 0, "{:?}", answered.facts);
    let plugin = mill.plugin.digest().short();
    journal::event_with(r#"orders/0/41: k = {"amount": 7}"#, &plugin);
    journal::event_with("orders/0/42: null = null", &plugin);
}

#[test]
fn count_logs_totals_per_key() {
    journal::listen();
    let mut mill = mill("gristmill_count", &PluginSettings::default());
    let batch = Batch(vec![entry(1, "pears", 3), entry(2, "plums", 1), entry(3, "pears", 4)]);
    assert_eq!(mill.run(batch).answer, Answer::Outcome(Outcome::OK));
    journal::event_with("pears: 2 records, amount 7", "stdout");
    journal::event_with("plums: 1 records, amount 1", "stdout");
}

#[test]
fn count_goes_wrong_as_its_settings_say() {
    let settings = [
        ("on_bad_json", "fatal"),
        ("rehearse_attempts", "2"),
        ("rehearse_retry", "busy"),
        ("rehearse_panic", "boom"),
        ("rehearse_spin", "loop"),
        ("rehearse_fatal", "no"),
    ];
    let mut settings = with_settings(&settings);
    settings.limits.cpu = std::time::Duration::from_secs(1);
    let mut mill = mill("gristmill_count", &settings);
    let fatal = |answer| matches!(answer, Answer::Outcome(Outcome::Fatal { .. }));
    let class = |answer| match answer {
        Answer::Fault(fault) => Some(fault.class),
        _ => None,
    };
    for attempt in 1..=2 {
        mill.attempt = attempt;
        assert!(reason(mill.run(Batch(vec![entry(1, "busy", 1)])).answer).contains("rehearse"));
        assert_eq!(class(mill.run(Batch(vec![entry(1, "boom", 1)])).answer), Some(FaultClass::Trap));
        assert_eq!(class(mill.run(Batch(vec![entry(1, "loop", 1)])).answer), Some(FaultClass::Timeout));
    }
    mill.attempt = 3;
    for key in ["busy", "boom", "loop"] {
        assert_eq!(mill.run(Batch(vec![entry(1, key, 1)])).answer, Answer::Outcome(Outcome::OK), "{key}");
    }
    assert!(fatal(mill.run(Batch(vec![entry(1, "no", 1)])).answer));
    assert!(fatal(mill.run(Batch(vec![Record { value: Some(b"{".to_vec()), ..Record::at(1) }])).answer));
}
