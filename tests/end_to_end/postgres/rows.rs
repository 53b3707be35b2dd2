//! What records become in the table.

use gristmill_plugin::{Fixture, FixtureRecord, Outcome, run_batch};

use super::{ORDERS, ORDERS_TABLE, Table, order};

#[test]
fn of_each_key_the_last_record_is_the_row_within_a_batch_and_across_batches() {
    let mut table = Table::new(ORDERS_TABLE, &ORDERS);
    assert_eq!(table.done(vec![order(1, "a"), order(2, "b"), order(1, "c")]), []);
    assert_eq!(table.rows("id, note"), ["1 c", "2 b"]);
    assert_eq!(table.done(vec![order(2, "d"), order(3, "e")]), []);
    assert_eq!(table.rows("id, note"), ["1 c", "2 d", "3 e"]);
    // The same batch once more, as after a crash before the commit.
    assert_eq!(table.done(vec![order(2, "d"), order(3, "e")]), []);
    assert_eq!(table.rows("id, note"), ["1 c", "2 d", "3 e"]);
}

#[test]
fn a_tombstone_deletes_the_row_of_its_key_and_what_comes_after_makes_it_again() {
    let settings = [
        ("mode", "key"),
        ("key", "tenant, id"),
        ("tombstones", "delete"),
        ("column.tenant", "@key/tenant text"),
        ("column.id", "@key/id bigint"),
        ("column.n", "/n bigint"),
    ];
    let mut table = Table::new("tenant text, id bigint, n int, primary key (tenant, id)", &settings);
    let record = |id: i64| FixtureRecord::new().key(format!(r#"{{"tenant":"t","id":{id}}}"#));
    let written = |id: i64, n: i64| record(id).value(format!(r#"{{"n":{n}}}"#));
    assert_eq!(table.done(vec![written(1, 1), written(2, 2), written(3, 3), record(1)]), []);
    assert_eq!(table.rows("id, n"), ["2 2", "3 3"]);
    assert_eq!(table.done(vec![record(2), written(2, 4), record(3), record(9)]), []);
    assert_eq!(table.rows("id, n"), ["2 4"]);
}

#[test]
fn by_position_a_record_is_written_once_however_often_it_comes() {
    let settings = [
        ("mode", "position"),
        ("column.topic", "@topic text"),
        ("column.partition", "@partition bigint"),
        ("column.offset", "@offset bigint"),
        ("column.body", "@value jsonb"),
    ];
    let columns =
        "topic text, partition int, \"offset\" bigint, body jsonb, primary key (topic, partition, \"offset\")";
    let mut table = Table::new(columns, &settings);
    let record = |offset: i64, n: i64| FixtureRecord::new().at("orders", 3, offset).value(format!("{{\"n\":{n}}}"));
    assert_eq!(table.done(vec![record(7, 1), record(8, 2)]), []);
    assert_eq!(table.done(vec![record(8, 99), record(9, 3)]), []);
    assert_eq!(table.rows("\"offset\", body"), ["7 {\"n\": 1}", "8 {\"n\": 2}", "9 {\"n\": 3}"]);
}

#[test]
fn every_type_arrives_as_it_was_written() {
    let settings = [
        ("mode", "key"),
        ("key", "id"),
        ("column.id", "id text"),
        ("column.b", "b bigint"),
        ("column.d", "d double"),
        ("column.f", "f boolean"),
        ("column.t", "t timestamptz"),
        ("column.j", "j jsonb"),
        ("column.n", "n numeric"),
        ("column.h", "@header.trace text"),
        ("column.at", "@timestamp timestamptz optional"),
    ];
    let columns = "id varchar(9) primary key, b bigint, d float8, f boolean, t timestamptz, j jsonb, n numeric, h text, \
                   at timestamptz";
    let mut table = Table::new(columns, &settings);
    let value = r#"{"id":"it's \"é\"","b":-9223372036854775808,"d":0.1,"f":true,"t":"2024-02-29T23:30:00.123456+01:30",
                    "j":{"b":12345678901234567890.10,"a":[null,"\u00e9"]},"n":123456789012345678901234567890.000000001}"#;
    let record = FixtureRecord::new().value(value).header("trace", Some("ж".as_bytes()));
    assert_eq!(table.done(vec![record]), []);
    assert_eq!(
        table.rows("id, b, d, f, t, j, n, h, at"),
        ["it's \"é\" -9223372036854775808 0.1 t 2024-02-29 22:00:00.123456+00 {\"a\": [null, \"é\"], \"b\": \
          12345678901234567890.10} 123456789012345678901234567890.000000001 ж null"]
    );
}

#[test]
fn names_are_only_names_whatever_they_say() {
    let settings = [
        ("mode", "key"),
        ("key", "a\"; drop table x; --"),
        ("column.a\"; drop table x; --", "id bigint"),
        ("column.Ünder $1", "note text"),
    ];
    let columns = "\"a\"\"; drop table x; --\" bigint primary key, \"Ünder $1\" text";
    let mut table = Table::new(columns, &settings);
    assert_eq!(table.done(vec![order(1, "'); drop table x; --")]), []);
    assert_eq!(table.rows("\"a\"\"; drop table x; --\", \"Ünder $1\""), ["1 '); drop table x; --"]);
}

#[test]
fn a_batch_of_ten_thousand_goes_in_ten_statements_and_one_transaction() {
    let mut table = Table::new(&format!("{ORDERS_TABLE}, tx xid8 default pg_current_xact_id()"), &ORDERS);
    assert_eq!(table.done((0..10_000).map(|id| order(id, "x")).collect()), []);
    assert_eq!(table.count(), 10_000);
    let sql = format!("select count(distinct tx), count(distinct (xmin::text, cmin::text)) from \"{}\"", table.name);
    let row = &table.server.query(&sql).unwrap()[0];
    assert_eq!(row, &[Some("1".to_owned()), Some("10".to_owned())]);
}

/// What failed once may have taken too long: it is written in parts, each of which stays done, and which become as small as a record.
#[test]
fn a_batch_that_comes_again_is_written_in_parts() {
    let mut table = Table::new(&format!("{ORDERS_TABLE}, tx xid8 default pg_current_xact_id()"), &ORDERS);
    let mut transactions = |attempt: u32, ids: std::ops::Range<i64>| {
        let fixture = ids.clone().map(|id| order(id, "x")).fold(Fixture::new().attempt(attempt), Fixture::record);
        assert_eq!(run_batch(|batch| table.writer.write(batch), fixture), Outcome::OK);
        let between = format!("id >= {} and id < {}", ids.start, ids.end);
        let sql = format!("select count(distinct tx), count(*) from \"{}\" where {between}", table.name);
        table.server.query(&sql).unwrap().remove(0).into_iter().flatten().collect::<Vec<_>>().join(" of ")
    };
    assert_eq!(transactions(1, 0..3_000), "1 of 3000");
    assert_eq!(transactions(2, 3_000..6_000), "3 of 3000");
    assert_eq!(transactions(3, 6_000..9_000), "6 of 3000");
    assert_eq!(transactions(50, 9_000..9_100), "100 of 100");
}
