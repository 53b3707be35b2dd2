//! Ids that the registry does not have: given up one by one, and not asked for more than once a second.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gristmill_decode::{Failure, Format, Source};

use crate::fake_registry::{FakeRegistry, Reply, decoder};
use crate::{framed, text, undecodable};

#[test]
fn an_unknown_id_is_given_up_with_the_registrys_own_words() {
    let registry = FakeRegistry::new();
    let decoder = decoder(&Format::Avro(Source::Registry), &registry.client());
    let reason = undecodable(&decoder, &framed(9, &[2]));
    assert_eq!(reason, "schema 9: the registry does not have it: Schema not found (40403)");
}

#[test]
fn records_that_were_read_before_the_answer_was_asked_for_share_it() {
    let registry = FakeRegistry::new();
    let decoder = decoder(&Format::Avro(Source::Registry), &registry.client());
    let read_at = Instant::now();
    for _ in 0..10_000 {
        let failure = decoder.decode(&framed(9, &[2]), read_at).unwrap_err();
        assert!(matches!(failure, Failure::Undecodable(_)), "{failure}");
    }
    assert_eq!(registry.asked().len(), 1);
}

#[test]
fn many_threads_ask_for_an_unknown_id_once_a_second_between_them() {
    let registry = FakeRegistry::new();
    let decoder = Arc::new(decoder(&Format::Avro(Source::Registry), &registry.client()));
    let until = Instant::now() + Duration::from_millis(2500);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let decoder = Arc::clone(&decoder);
            thread::spawn(move || {
                while Instant::now() < until {
                    undecodable(&decoder, &framed(9, &[2]));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let times: Vec<Instant> = registry.asked().iter().map(|asked| asked.at).collect();
    assert!(times.len() >= 2, "{}", times.len());
    // The seconds are measured where it is asked; the ways to the registry may differ by a little.
    let seconds = Duration::from_secs(times.len() as u64 - 1);
    let between = times[times.len() - 1] - times[0];
    assert!(between + Duration::from_millis(500) >= seconds, "{} in {between:?}", times.len());
}

#[test]
fn a_record_whose_schema_was_registered_just_after_its_id_was_unknown_is_not_given_up() {
    let registry = FakeRegistry::new();
    let decoder = decoder(&Format::Avro(Source::Registry), &registry.client());
    undecodable(&decoder, &framed(9, &[2]));
    registry.answer_id(9, Reply::schema("AVRO", "\"int\""));
    // Well within the second in which it is not asked for again.
    let begun = Instant::now();
    assert_eq!(text(&decoder, &framed(9, &[2])), "1");
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(registry.asked().len(), 2);
}

#[test]
fn a_flood_of_unknown_ids_costs_a_question_each_and_no_more_than_so_many_a_second() {
    let registry = FakeRegistry::new();
    let decoder = decoder(&Format::Avro(Source::Registry), &registry.client());
    let read_at = Instant::now();
    let mut held = 0;
    for id in 0..1500 {
        match decoder.decode(&framed(id, &[2]), read_at) {
            Err(Failure::Undecodable(_)) => {}
            Err(Failure::Unavailable { again_in, .. }) => {
                assert!(again_in <= Duration::from_secs(1));
                held += 1;
            }
            Ok(_) => panic!("there is no schema {id}"),
        }
    }
    assert_eq!(registry.asked().len() + held, 1500);
    // Where the thousand took longer than a second nobody has to wait; ids are then forgotten one by one.
    assert!(registry.asked().len() >= 1000);
    registry.answer_id(7000, Reply::schema("AVRO", "\"int\""));
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Err(failure) = decoder.decode(&framed(7000, &[2]), Instant::now()) {
        let Failure::Unavailable { again_in, .. } = failure else { panic!("{failure}") };
        assert!(Instant::now() < deadline, "there is room again");
        thread::sleep(again_in);
    }
}
