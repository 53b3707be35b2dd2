//! A guest that cannot start is refused at load, and says why.

use std::time::{Duration, Instant};

use gristmill_core::outcome::FaultClass;
use gristmill_guest::LoadError;

use crate::mill::{Mill, mischief, with_settings};

/// Loads mischief with an `init` that fails, and gives the text.
fn refused_at_start(init: &str) -> String {
    let mut settings = with_settings(&[("init", init)]);
    settings.limits.time = Duration::from_secs(1);
    settings.limits.memory_bytes = 16 << 20;
    let error = mischief(&settings).unwrap_err();
    match &error {
        LoadError::Start { fault, .. } => assert_eq!(fault.class, FaultClass::Start),
        other => panic!("{init}: {other}"),
    }
    error.to_string()
}

#[test]
fn an_init_that_says_no_is_heard() {
    let text = refused_at_start("error:no table named");
    assert!(text.starts_with("cannot load plugin mischief: it does not start: in init: "), "{text}");
    assert!(text.contains("no table named"), "{text}");
}

#[test]
fn an_init_that_breaks_is_told_with_its_cause() {
    let cases = [
        ("panic:no luck", "no luck"),
        ("exit0", "called exit, with success, instead of answering"),
        ("spin", "wall-clock time"),
        ("grow:0", "memory limit 16777216 bytes, asked "),
    ];
    for (init, wanted) in cases {
        let began = Instant::now();
        let text = refused_at_start(init);
        assert!(text.contains("in init: ") && text.contains(wanted), "{init}: {text}");
        assert!(began.elapsed() < Duration::from_secs(10), "{init}: {:?}", began.elapsed());
    }
}

#[test]
fn a_plugin_without_init_loads_and_one_with_init_runs_it_per_instance() {
    Mill::with(&with_settings(&[("init", "")])).still_works();
}
