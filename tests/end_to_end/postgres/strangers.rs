//! What answers where a database should, and what becomes of connections on the way.

use std::time::Instant;

use gristmill_plugin::{FixtureRecord, Outcome};
use gristmill_tests::{load_values, shared_broker, shared_postgres};

use super::hosts::{number, pipeline, value};
use super::{ORDERS, ORDERS_TABLE, Table, order};
use crate::chance::Chance;
use crate::pipeline::{SOON, stop};
use crate::relay::Relay;

/// A table of the shared server, reached through a relay.
fn relayed() -> (Relay, Table<'static>) {
    let table = Table::new(ORDERS_TABLE, &ORDERS);
    let relay = Relay::to(&table.server.address());
    let url = table.server.url().replace(&table.server.address(), &relay.address());
    let table = table.with(&url, &ORDERS);
    (relay, table)
}

fn reason(outcome: Outcome) -> String {
    match outcome {
        Outcome::Retryable { reason, completed: None, .. } => reason,
        other => panic!("not retryable: {other:?}"),
    }
}

/// Lengths of gibibytes and messages that are too short are among what is said: they are believed by nobody.
#[test]
fn who_speaks_something_else_is_told_with_its_address_and_its_words() {
    let (relay, mut table) = relayed();
    let random = Chance::new().bytes(300);
    for (says, words) in [
        (&b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"[..], r#""HTTP/1.1 400 Bad Request\r\n"#),
        (b"SSH-2.0-OpenSSH_9.6\r\n", r#""SSH-2.0-OpenSSH_9.6\r\n""#),
        (b"\x15\x03\x01\x00\x02\x02\x46", r#""\x15\x03\x01\x00\x02\x02F""#),
        (b"R\xff\xff\xff\xff", r#""R\xff\xff\xff\xff""#),
        (b"R\x40\0\0\0\0\0\0\0", r#""R@\x00"#),
        (b"R\0\0\0\0", r#""R\x00\x00\x00\x00""#),
        (b"R\0\0\0\x04", r#""R\x00\x00\x00\x04""#),
        (b"E\0\0\0\0", r#""E\x00\x00\x00\x00""#),
        (b"N", "nothing answered at"),
        (b"", "hung up without a word"),
    ] {
        relay.lead_to(says);
        let reason = reason(table.write(vec![order(1, "a")]));
        assert!(reason.contains(words) && reason.contains(&relay.address()), "{}: {reason}", says.escape_ascii());
        assert!(!reason.contains("grind-it"), "{reason}");
    }
    relay.lead_to(&random);
    let reason = reason(table.write(vec![order(1, "a")]));
    assert!(reason.contains(&relay.address()), "{}: {reason}", random.escape_ascii());
    relay.lead_through(&table.server.address());
    assert_eq!(table.done(vec![order(1, "a")]), []);
    assert_eq!(table.rows("id, note"), ["1 a"]);
}

#[test]
fn a_kept_connection_whose_packets_vanish_is_replaced_within_the_batch() {
    let (relay, mut table) = relayed();
    assert_eq!(table.done(vec![order(1, "a")]), []);
    relay.forget();
    let begun = Instant::now();
    assert_eq!(table.done(vec![order(2, "b")]), []);
    // The whole of the batch's time is 5 s.
    assert!(begun.elapsed().as_secs() < 4, "{:?}", begun.elapsed());
    assert_eq!(table.done(vec![order(3, "c")]), []);
    assert_eq!(table.rows("id, note"), ["1 a", "2 b", "3 c"]);
}

/// In its sandbox, where an allocation too many is the end of the instance: no batch is lost to it, none becomes a dead letter. And a
/// connection that was kept there and is dead costs no attempt.
#[test]
fn a_batch_waits_while_somebody_else_answers_for_the_database() {
    let server = shared_postgres();
    let relay = Relay::to(&server.address());
    let (pipeline, table) = pipeline(server, "stranger", "reuse");
    let url = server.url().replace(&server.address(), &relay.address());
    let pipeline = pipeline.set("plugin.secrets.database_url", "value", format!("{url:?}"));
    let pipeline = pipeline.set("plugin.grants", "tcp", format!("[{:?}]", relay.address()));
    let mut loaded = pipeline.load_values(1, 100, value);
    relay.lead_to(b"R\xff\xff\xff\xff");
    let host = pipeline.run();
    let line = host.wait_for_line(&format!("what answers at {}", relay.address()), SOON);
    assert!(line.contains("does not speak PostgreSQL's protocol"), "{line}");
    for says in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"R\0\0\0\0", b"SSH-2.0-mill\r\n", b""] {
        relay.lead_to(says);
        relay.wait_until_led();
    }
    relay.lead_through(&server.address());
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    relay.forget();
    let failed = |lines: &[String]| lines.iter().filter(|line| line.contains("the batch fail")).count();
    let before = host.wait_until("lines", SOON, |lines| Some(failed(lines)));
    load_values(&shared_broker().bootstrap(), &pipeline.topic, &mut loaded, 100, "none", value);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    assert_eq!(failed(&lines), before, "{lines:?}");
    let broke: Vec<&String> = lines.iter().filter(|line| line.contains("guest broke")).collect();
    assert!(broke.is_empty(), "{broke:?}");
    assert_eq!(number(server, &format!("select count(*) from \"{table}\"")), 200);
}

/// These columns take several texts for one: the later record counts all the same, and the batch ends.
#[test]
fn records_whose_keys_the_database_takes_for_one_are_written_one_after_the_other() {
    let settings = [("mode", "key"), ("key", "id"), ("column.id", "id text"), ("column.note", "note text")];
    let record = |id: &str, note: &str| FixtureRecord::new().value(format!(r#"{{"id":"{id}","note":"{note}"}}"#));
    for id in ["char(3)", "varchar(1)", "name"] {
        let mut table = Table::new(&format!("id {id} primary key, note text"), &settings);
        // Behind a NAME's 63 bytes nothing counts.
        let (one, other) = match id {
            "name" => ("a".repeat(63), "a".repeat(64)),
            _ => ("a".to_owned(), "a ".to_owned()),
        };
        let records = vec![record(&one, "1"), record("b", "2"), record(&other, "3"), record("c", "4")];
        assert_eq!(table.done(records), [], "{id}");
        assert_eq!(table.rows("trim(note), 1"), ["2 1", "3 1", "4 1"], "{id}");
    }
}
