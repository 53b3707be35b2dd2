//! Answers arrive as the guest gave them, their words cut and made safe to show.

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
    let fault = mill.breaks("verbose:5", FaultClass::Contract);
    let bytes = (4 << 20) + 512;
    assert_eq!(fault.detail, format!("its answer takes more than the {bytes} bytes that it may take in the host"));
    mill.still_works();
}
