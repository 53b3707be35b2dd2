//! Answers arrive as the guest gave them; answers that this version cannot carry out are faults.

use std::time::Duration;

use gristmill_core::outcome::{Answer, FaultClass, Outcome};

use crate::mill::Mill;

#[test]
fn the_three_answers_arrive_as_given() {
    let mut mill = Mill::strict();
    mill.still_works();
    let retryable = Outcome::retryable("the database is down", None);
    assert_eq!(mill.tell("retry:the database is down").answer, Answer::Outcome(retryable));
    let later = Outcome::retryable("later", Some(Duration::from_millis(1_500)));
    assert_eq!(mill.tell("retry-after:1500").answer, Answer::Outcome(later));
    assert_eq!(
        mill.tell("fatal:no such table").answer,
        Answer::Outcome(Outcome::Fatal { reason: "no such table".into() })
    );
}

#[test]
fn effects_and_completed_parts_are_contract_faults_that_name_the_missing_configuration() {
    let mut mill = Mill::strict();
    for key in ["effects", "emitted", "completed"] {
        let fault = mill.breaks(key, FaultClass::Contract);
        assert!(fault.detail.contains("need") && fault.detail.contains("configuration"), "{key}: {}", fault.detail);
        mill.still_works();
    }
}

#[test]
fn a_long_reason_is_cut_with_a_mark() {
    let reason = Mill::strict().ask(&format!("retry:{}", "é".repeat(10_000)));
    assert!(reason.len() < 4_200 && reason.ends_with("… (15904 bytes cut)"), "{}", &reason[reason.len() - 40..]);
}

#[test]
fn a_reason_cannot_forge_a_log_line() {
    assert_eq!(Mill::strict().ask("retry:a\nERROR b\u{1b}[2J"), r"a\nERROR b\u{1b}[2J");
}

/// T-09: an answer of megabytes is not read.
#[test]
fn an_answer_larger_than_it_may_be_is_a_contract_fault() {
    let mut mill = Mill::strict();
    assert!(mill.ask("verbose:3").ends_with("bytes cut)"));
    mill.breaks("verbose:5", FaultClass::Contract);
    mill.still_works();
}
