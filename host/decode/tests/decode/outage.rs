//! A registry that is not there, and comes back.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use gristmill_decode::{Decoder, Failure, Format, RegistrySettings, Source};
use serde_json::json;

use crate::fake_registry::{FakeRegistry, Reply, client, decoder};
use crate::{framed, text};

/// How long the record has to wait, if it has to.
fn wait(decoder: &Decoder, bytes: &[u8]) -> Option<Duration> {
    match decoder.decode(bytes, Instant::now()) {
        Ok(_) => None,
        Err(Failure::Unavailable { again_in, .. }) => Some(again_in),
        Err(Failure::Undecodable(reason)) => panic!("an outage is no reason to give a record up: {reason}"),
    }
}

#[test]
fn an_outage_is_waited_out_with_growing_pauses_and_known_schemas_are_read_meanwhile() {
    let registry = FakeRegistry::new();
    registry.answer_id(1, Reply::schema("AVRO", "\"int\""));
    let (address, url) = (registry.address(), registry.url());
    let settings = RegistrySettings { request_time_max: Duration::from_secs(2), ..RegistrySettings::new(url) };
    let decoder = decoder(&Format::Avro(Source::Registry), &client(settings));
    assert_eq!(text(&decoder, &framed(1, &[2])), "1");
    drop(registry);

    let first = wait(&decoder, &framed(2, &[2])).expect("nobody is there");
    assert_eq!(first, Duration::from_millis(500));
    assert_eq!(text(&decoder, &framed(1, &[4])), "2");
    // Until the pause is over the answer comes at once, and says how long it still lasts.
    let rest = wait(&decoder, &framed(3, &[2])).expect("the pause lasts");
    assert!(rest < first, "{rest:?}");
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut next = rest;
    while next < Duration::from_secs(1) {
        assert!(Instant::now() < deadline && next <= rest, "{next:?}");
        thread::sleep(next.min(Duration::from_millis(20)));
        next = wait(&decoder, &framed(2, &[2])).expect("nobody is there yet");
    }

    let registry = FakeRegistry::again(address);
    registry.answer_id(2, Reply::schema("AVRO", "\"int\""));
    let deadline = Instant::now() + Duration::from_secs(10);
    while let Some(again_in) = wait(&decoder, &framed(2, &[2])) {
        assert!(Instant::now() < deadline, "it is back");
        thread::sleep(again_in);
    }
    assert_eq!(registry.count("/schemas/ids/2"), 1);
    // After that pauses begin anew.
    drop(registry);
    assert_eq!(wait(&decoder, &framed(4, &[2])), Some(Duration::from_millis(500)));
}

#[test]
fn a_registry_in_trouble_is_not_asked_more_for_having_many_threads() {
    let registry = FakeRegistry::new();
    (0..8).for_each(|id| registry.answer_id(id, Reply::Plain(503, "", "")));
    let decoder = Arc::new(decoder(&Format::Avro(Source::Registry), &registry.client()));
    let first = wait(&decoder, &framed(0, &[2])).expect("it is in trouble");
    let until = Instant::now() + Duration::from_millis(1800);
    // Each thread wants another schema, so that it is not for that that they wait for each other.
    let threads = (0..8).map(|id| {
        let decoder = Arc::clone(&decoder);
        thread::spawn(move || {
            while Instant::now() < until {
                let again_in = wait(&decoder, &framed(id, &[2])).expect("it is in trouble");
                thread::sleep(again_in.min(Duration::from_millis(5)));
            }
        })
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // At 0, 500 and 1500 ms.
    assert_eq!(first, Duration::from_millis(500));
    let asked = registry.asked().len();
    assert!((2..=3).contains(&asked), "{asked}");
}

#[test]
fn questions_that_fail_together_do_not_add_up_to_a_long_pause() {
    let registry = FakeRegistry::new();
    (0..8).for_each(|id| registry.answer_id(id, Reply::Plain(503, "", "")));
    let decoder = Arc::new(decoder(&Format::Avro(Source::Registry), &registry.client()));
    let begun = Arc::new(Barrier::new(8));
    let threads = (0..8).map(|id| {
        let (decoder, begun) = (Arc::clone(&decoder), Arc::clone(&begun));
        thread::spawn(move || {
            begun.wait();
            wait(&decoder, &framed(id, &[2])).expect("it is in trouble")
        })
    });
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        assert!(thread.join().unwrap() <= Duration::from_secs(1));
    }
}

#[test]
fn threads_that_want_one_schema_ask_for_it_once() {
    let registry = FakeRegistry::new();
    let (begun, answer) = (Arc::new(Barrier::new(9)), Arc::new(Barrier::new(2)));
    registry.answer_id(1, Reply::After(Arc::clone(&answer), json!({ "schema": "\"int\"" })));
    let decoder = Arc::new(decoder(&Format::Avro(Source::Registry), &registry.client()));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (decoder, begun) = (Arc::clone(&decoder), Arc::clone(&begun));
            thread::spawn(move || {
                begun.wait();
                text(&decoder, &framed(1, &[2]))
            })
        })
        .collect();
    begun.wait();
    // The answer is held back until the question is there; whoever else has come by then finds it asked.
    answer.wait();
    threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), "1"));
    assert_eq!(registry.count("/schemas/ids/1"), 1);
}
