//! On a deterministic engine the same batch always gets the same answer.

use std::time::{Duration, Instant};

use gristmill_core::outcome::FaultClass;
use gristmill_guest::{Engine, EngineSettings, LoadError, Plugin, PluginSettings, Refusal, Timestamp};

use crate::caller::{caller, deterministic_caller, grants};
use crate::journal;
use crate::mill::{Batch, Mill, Record, guest_bytes, reason, with_limits};

/// Two records, the newer one first; the first tells the guest to say what time it is and what chance gives.
fn batch(offset: i64) -> Batch {
    let newer =
        Record { key: Some("now".into()), timestamp: Timestamp::CreateTime(1_700_000_000_123), ..Record::at(offset) };
    let older = Record { timestamp: Timestamp::LogAppendTime(1_600_000_000_000), ..Record::at(offset + 1) };
    Batch(vec![newer, older])
}

fn said(mill: &mut Mill, offset: i64) -> String {
    reason(mill.run(batch(offset)).answer)
}

#[test]
fn the_same_batch_finds_the_same_time_and_the_same_chance() {
    let mut mill = deterministic_caller();
    let first = said(&mut mill, 7);
    assert!(first.starts_with("1700000000123 "), "the newest record's time: {first}");
    assert_eq!(said(&mut mill, 7), first);
    assert_ne!(said(&mut mill, 8), first, "another batch has another chance");
    assert_eq!(said(&mut deterministic_caller(), 7), first, "on another worker as well");
}

#[test]
fn otherwise_a_guest_finds_the_machine_s_time_and_chance() {
    let mut mill = caller(grants());
    let (first, again) = (said(&mut mill, 7), said(&mut mill, 7));
    assert!(!first.starts_with("1700000000123 ") && first != again, "{first}, {again}");
}

/// A grant would be refused beside `plugin.deterministic`, so none is advised.
#[test]
fn a_plugin_that_wants_the_network_is_told_at_once_that_a_deterministic_one_has_none() {
    journal::listen();
    let engine = Engine::new(&EngineSettings { deterministic: true, ..EngineSettings::default() }).unwrap();
    let settings = PluginSettings::default();
    let error = Plugin::load(&engine, "caller", &guest_bytes("gristmill_caller"), &settings).err().unwrap();
    let LoadError::Refused { refusal: Refusal::Deterministic { import, .. }, .. } = &error else { panic!("{error}") };
    assert!(import.starts_with("wasi:http/"), "{import}");
    let told = error.to_string();
    assert!(told.contains("remove plugin.deterministic") && !told.contains("plugin.grants"), "{told}");
    let plugin = Plugin::load(&engine, "mischief", &guest_bytes("gristmill_mischief"), &settings).unwrap();
    let told = Mill::of(plugin).ask("connect:127.0.0.1:9");
    assert!(told.starts_with("refused"), "{told}");
    journal::event_with("a TCP connection: with plugin.deterministic a plugin has no network", "plugin was denied");
}

/// The same number of instructions on every machine, however busy: the guest that spins says how fast this one is.
#[test]
fn processor_time_is_counted_in_instructions() {
    let engine = Engine::new(&EngineSettings { deterministic: true, ..EngineSettings::default() }).unwrap();
    let settings = with_limits(|limits| {
        limits.cpu = Duration::from_millis(500);
        limits.time = Duration::from_secs(25);
    });
    let plugin = Plugin::load(&engine, "mischief", &guest_bytes("gristmill_mischief"), &settings).unwrap();
    let mut mill = Mill::of(plugin);
    let began = Instant::now();
    let fault = mill.breaks("spin", FaultClass::Timeout);
    println!("500,000,000 instructions took {:?}", began.elapsed());
    assert!(fault.detail.contains("all of its 500000000 instructions"), "{}", fault.detail);
    mill.still_works();
}

#[test]
fn the_time_that_is_left_is_told_as_if_none_had_passed() {
    let engine = Engine::new(&EngineSettings { deterministic: true, ..EngineSettings::default() }).unwrap();
    let settings = PluginSettings::default();
    let plugin = Plugin::load(&engine, "mischief", &guest_bytes("gristmill_mischief"), &settings).unwrap();
    assert_eq!(Mill::of(plugin).ask("time-left"), "5000");
}
