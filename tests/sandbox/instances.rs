//! How long an instance lives: one batch by default, many by option, never past a fault.

use std::time::Duration;

use gristmill_core::outcome::FaultClass;
use gristmill_guest::{Instances, PluginSettings};

use crate::mill::{Mill, mischief, reuse};

#[test]
fn a_fresh_instance_remembers_nothing() {
    let mut mill = Mill::strict();
    for _ in 0..3 {
        assert_eq!(mill.ask("canary"), "0");
    }
}

#[test]
fn a_reused_instance_remembers_and_is_replaced_after_its_batches() {
    let mut mill = Mill::with(&reuse(3));
    let seen: Vec<String> = (0..7).map(|_| mill.ask("canary")).collect();
    assert_eq!(seen, ["0", "1", "2", "0", "1", "2", "0"]);
}

#[test]
fn a_reused_instance_is_replaced_when_it_has_grown_too_large() {
    let mut settings = reuse(u32::MAX);
    settings.instances = Instances::Reuse { batches_max: u32::MAX, memory_bytes_max: 8 << 20 };
    let mut mill = Mill::with(&settings);
    assert_eq!(mill.ask("canary"), "0");
    assert_eq!(mill.ask("canary"), "1");
    mill.tell("grow:16");
    assert_eq!(mill.ask("canary"), "0");
}

/// B64, B65: whatever broke costs the instance, also a reused one.
#[test]
fn a_reused_instance_does_not_survive_a_fault() {
    let mut settings = reuse(u32::MAX);
    settings.limits.time = Duration::from_secs(1);
    settings.limits.memory_bytes = 16 << 20;
    let mut mill = Mill::with(&settings);
    let faults = [
        ("panic:x", FaultClass::Trap),
        ("exit0", FaultClass::Exit),
        ("spin", FaultClass::Timeout),
        ("sleep:60000", FaultClass::Timeout),
        ("grow:0", FaultClass::Memory),
        ("emit:nowhere", FaultClass::Contract),
    ];
    for (key, class) in faults {
        assert_eq!(mill.ask("canary"), "0", "before {key}");
        assert_eq!(mill.ask("canary"), "1", "before {key}");
        mill.breaks(key, class);
    }
}

/// What other records left behind in an instance is not the fault of the part that is looked at.
#[test]
fn a_part_gets_an_instance_of_its_own_though_instances_are_reused() {
    let mut mill = Mill::with(&reuse(u32::MAX));
    assert_eq!(mill.ask("canary"), "0");
    assert_eq!(mill.ask("canary"), "1");
    mill.part = true;
    for _ in 0..3 {
        assert_eq!(mill.ask("canary"), "0");
    }
    assert!(mill.ask("dump").contains(" part=true "));
}

#[test]
fn a_reused_instance_does_not_serve_another_plugin() {
    let mut mill = Mill::with(&reuse(u32::MAX));
    assert_eq!(mill.ask("canary"), "0");
    assert_eq!(mill.ask("canary"), "1");
    mill.plugin = mischief(&reuse(u32::MAX)).unwrap();
    assert_eq!(mill.ask("canary"), "0");
}

#[test]
fn facts_say_whether_an_instance_was_fresh() {
    let mut mill = Mill::with(&reuse(u32::MAX));
    let fresh: Vec<bool> = (0..3).map(|_| mill.tell("ok").facts.instance_fresh).collect();
    assert_eq!(fresh, [true, false, false]);
    assert_eq!(PluginSettings::default().instances, Instances::Fresh);
}
