//! The plugin in the host, in its sandbox, between a real Kafka and a real PostgreSQL.

use std::time::{Duration, Instant};

use gristmill_plugin::{Fixture, FixtureRecord, Outcome, run_batch};
use gristmill_tests::{Host, create_topic, read_topic, shared_broker, unique};
use xtask::postgres::Postgres;

use super::writer;
use crate::chance::{Chance, long};
use crate::control::command;
use crate::pipeline::{Pipeline, SOON, stop};

/// How many records a batch has.
const BATCH: u64 = 1_000;

/// The columns of a row, and who makes which. `at` is the database's own word on when a row was written.
const COLUMNS: [(&str, &str); 4] = [
    ("column.partition", "@partition bigint"),
    ("column.offset", "@offset bigint"),
    ("column.topic", "@topic text"),
    ("column.note", "/note text"),
];
const TABLE: &str = "topic text, partition int, \"offset\" bigint, note varchar(100), at timestamptz default clock_timestamp(), \
                     primary key (topic, partition, \"offset\")";

/// A pipeline into a new table of that server.
pub(super) fn pipeline(server: &Postgres, name: &str, instances: &str) -> (Pipeline<'static>, String) {
    let table = unique(name);
    server.make(&format!("create table \"{table}\" ({TABLE})")).unwrap();
    let pipeline = Pipeline::new(shared_broker(), name).plugin("gristmill-postgres").without_setting("check_keys");
    let pipeline = pipeline.setting("table", &table).setting("mode", "position");
    let pipeline =
        COLUMNS.iter().fold(pipeline, |pipeline, (column, what)| pipeline.setting(&format!("{column:?}"), what));
    let pipeline = pipeline.set("plugin", "instances", format!("{instances:?}"));
    let pipeline = pipeline.set("plugin.secrets.database_url", "value", format!("{:?}", server.url()));
    let pipeline = pipeline.set("plugin.secrets.database_url", "expose", "true");
    let pipeline = pipeline.set("plugin.grants", "tcp", format!("[{:?}]", server.address()));
    let pipeline = pipeline.set("plugin.grants", "addresses", "[\"127.0.0.1/32\"]");
    let pipeline = pipeline.set("retry", "initial", "\"50ms\"").set("retry", "max", "\"500ms\"");
    (pipeline.set("batch", "max_records", BATCH.to_string()).set("batch", "max_wait", "\"200ms\""), table)
}

pub(super) fn value(number: i64) -> Vec<u8> {
    format!("{{\"n\":{number},\"note\":\"{number:060}\"}}").into_bytes()
}

/// A number that the database tells.
pub(super) fn number(server: &Postgres, sql: &str) -> u64 {
    server.query(sql).unwrap()[0][0].as_deref().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn wait_until_rows(server: &Postgres, table: &str, rows: u64) {
    let deadline = Instant::now() + SOON;
    while number(server, &format!("select count(*) from \"{table}\"")) < rows {
        assert!(Instant::now() < deadline, "not even {rows} rows");
    }
}

/// Rows a second, by the times at which the database wrote the first and the last.
fn rows_a_second(server: &Postgres, table: &str) -> f64 {
    let sql = format!("select count(*), extract(epoch from max(at) - min(at)) from \"{table}\"");
    let row = server.query(&sql).unwrap().remove(0);
    let number =
        |column: &Option<String>| column.as_deref().and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NAN);
    number(&row[0]) / number(&row[1])
}

/// I-01: with the database killed and started again twice every record is a row, once, and all of them are committed.
#[test]
fn every_record_is_a_row_once_although_the_database_is_killed_twice() {
    let part = if long() { 17_000 } else { 4_000 };
    let server = Postgres::start().unwrap();
    let (pipeline, table) = pipeline(&server, "killed-database", "reuse");
    let mut loaded = pipeline.load_values(2, part, value);
    let host = pipeline.run();
    let mut chance = Chance::new();
    for kill in 1..=2 {
        wait_until_rows(&server, &table, part * kill);
        // The moment itself is what is tested.
        chance.let_pass(Duration::from_millis(100));
        server.kill().unwrap();
        // Whatever was done by then, there is more to do, and the plugin has to miss its database.
        let begins = loaded.end_offsets()[&0];
        pipeline.load_more_values(&mut loaded, part, |number| value(begins + number));
        // Asked for, since the log mentions a failure that goes on once a minute only.
        let deadline = Instant::now() + SOON;
        while !command(&host, &["status"]).contains(" to the database at ") {
            assert!(Instant::now() < deadline, "the plugin does not miss its database");
        }
        server.restart().unwrap();
    }
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON * 3);
    stop(host);
    assert_eq!(number(&server, &format!("select count(*) from \"{table}\"")), 6 * part);
    let wrong = format!(
        "select count(*) from \"{table}\" where note <> lpad(\"offset\"::text, 60, '0') or topic <> '{}'",
        pipeline.topic
    );
    assert_eq!(number(&server, &wrong), 0);
}

/// D1: what the database refuses is a dead letter with its reason, and everything else is a row; with a fresh instance for each batch,
/// so a connection for each, too.
#[test]
fn what_the_database_refuses_is_a_dead_letter_and_the_rest_is_written() {
    let server = gristmill_tests::shared_postgres();
    let (pipeline, table) = pipeline(server, "refused-rows", "fresh");
    let letters = format!("{}.dead", pipeline.topic);
    create_topic(&shared_broker().bootstrap(), &letters, 1);
    let pipeline = pipeline.set("dead_letter", "topic", format!("{letters:?}"));
    let too_long =
        |number: i64| format!("{{\"note\":\"{}\"}}", "x".repeat(if number % 1_000 == 500 { 101 } else { 100 }));
    let loaded = pipeline.load_values(1, 3_000, |number| match number % 1_000 {
        700 => b"no JSON".to_vec(),
        _ => too_long(number).into_bytes(),
    });
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    assert_eq!(number(server, &format!("select count(*) from \"{table}\"")), 2_994);
    let found = read_topic(&shared_broker().bootstrap(), &letters);
    let told = |name: &str| -> Vec<String> {
        found.iter().map(|letter| letter.header(&format!("gristmill.{name}")).unwrap_or_default()).collect()
    };
    let mut offsets = told("origin.offset");
    offsets.sort_by_key(|offset| offset.parse::<i64>().unwrap());
    assert_eq!(offsets, ["500", "700", "1500", "1700", "2500", "2700"]);
    for (reason, offset) in told("failure.reason").iter().zip(told("origin.offset")) {
        let words = if offset.ends_with("500") {
            "value too long for type character varying(100)"
        } else {
            "its value is not JSON"
        };
        assert!(reason.contains(words), "{offset}: {reason}");
    }
}

/// A table that is not there stops the host, which says what to do; nothing is committed.
#[test]
fn a_table_that_is_not_there_ends_the_host_with_the_way_out() {
    let server = gristmill_tests::shared_postgres();
    let (pipeline, table) = pipeline(server, "no-table", "reuse");
    server.query(&format!("drop table \"{table}\"")).unwrap();
    let _ = pipeline.load_values(1, 10, value);
    let (code, lines) = pipeline.run().wait_for_end(SOON);
    assert_eq!(code, 65);
    let last = lines.last().unwrap();
    assert!(last.contains("does not exist") && last.contains("create the table"), "{last}");
    assert_eq!(pipeline.committed()[&0], 0);
}

/// R7: a batch that takes longer than a call may is not tried as a whole for ever: it is done in parts.
#[test]
fn a_batch_that_takes_longer_than_a_call_may_is_done_in_parts() {
    let server = gristmill_tests::shared_postgres();
    let (pipeline, table) = pipeline(server, "slow-rows", "reuse");
    let slow = format!(
        "create function \"{table}\"() returns trigger language plpgsql as $$ begin perform pg_sleep(0.002); return new; end $$; \
         create trigger t before insert on \"{table}\" for each row execute function \"{table}\"()"
    );
    server.make(&slow).unwrap();
    let pipeline = pipeline.set("plugin.limits", "time", "\"1s\"").setting("chunk_records", "100");
    let loaded = pipeline.load_values(1, BATCH, value);
    let host = pipeline.run();
    host.wait_for_line("the database", SOON);
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    stop(host);
    assert_eq!(number(server, &format!("select count(*) from \"{table}\"")), BATCH);
}

/// Ten thousand records of eight mebibytes in all, the most that the usual batch has, within the memory that a plugin usually has.
#[test]
fn the_largest_usual_batch_fits_into_the_usual_memory() {
    let server = gristmill_tests::shared_postgres();
    let (pipeline, table) = pipeline(server, "large-rows", "reuse");
    server.make(&format!("alter table \"{table}\" add body jsonb")).unwrap();
    let pipeline = pipeline.setting("\"column.body\"", "@value jsonb");
    let pipeline = pipeline.set("batch", "max_records", "10_000").set("batch", "max_wait", "\"1s\"");
    let large = |number: i64| format!("{{\"note\":\"{number}\",\"text\":\"{}\"}}", "x".repeat(700)).into_bytes();
    let loaded = pipeline.load_values(1, 20_000, large);
    let host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON);
    let lines = stop(host);
    let failed: Vec<&String> = lines.iter().filter(|line| line.contains("the batch failed")).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(number(server, &format!("select count(*) from \"{table}\"")), 20_000);
}

/// How fast rows are written: by the host, its sandbox and Kafka in between, and by the same code and driver natively. Printed, since
/// no other machine has these numbers; what is checked is that all rows are there.
#[test]
fn rows_a_second_in_the_sandbox_and_natively_are_told() {
    let records: u64 = if long() { 200_000 } else { 20_000 };
    let server = gristmill_tests::shared_postgres();
    let batch = if long() { 10_000 } else { 1_000 };
    let (pipeline, table) = pipeline(server, "sandboxed-rows", "reuse");
    let pipeline = pipeline.set("batch", "max_records", batch.to_string());
    let loaded = pipeline.load_values(1, records, value);
    let host: Host = pipeline.run();
    pipeline.wait_until_committed(&loaded.end_offsets(), SOON * 2);
    stop(host);

    let native = unique("native-rows");
    server.make(&format!("create table \"{native}\" ({TABLE})")).unwrap();
    let settings = [&COLUMNS[..], &[("mode", "position")]].concat();
    let mut writer = writer(&server.url(), &native, &settings);
    let numbers: Vec<i64> = (0..i64::try_from(records).unwrap()).collect();
    for numbers in numbers.chunks(batch) {
        let record = |number: &i64| FixtureRecord::new().at(&pipeline.topic, 0, *number).value(value(*number));
        let fixture = numbers.iter().map(record).fold(Fixture::new(), Fixture::record);
        assert_eq!(run_batch(|batch| writer.write(batch), fixture), Outcome::OK);
    }
    for table in [&table, &native] {
        assert_eq!(number(server, &format!("select count(*) from \"{table}\"")), records);
    }
    println!(
        "{records} rows in batches of {batch}: {:.0} rows/s in the host, {:.0} rows/s natively",
        rows_a_second(server, &table),
        rows_a_second(server, &native)
    );
}
