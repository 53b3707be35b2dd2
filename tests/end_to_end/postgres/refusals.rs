//! Records that the plugin or the database cannot take, and databases that are not as the settings say.

use gristmill_plugin::{FixtureRecord, Outcome};
use gristmill_tests::shared_postgres;

use super::{ORDERS, ORDERS_TABLE, Table, order};

fn places(rejected: &[(usize, String)]) -> Vec<usize> {
    rejected.iter().map(|(place, _)| *place).collect()
}

/// The reason of a fatal answer.
fn fatal(outcome: Outcome) -> String {
    match outcome {
        Outcome::Fatal { reason } => reason,
        other => panic!("not fatal: {other:?}"),
    }
}

#[test]
fn what_makes_no_row_is_rejected_and_the_rest_is_written() {
    let mut table = Table::new(ORDERS_TABLE, &ORDERS);
    let value = |value: &str| FixtureRecord::new().value(value);
    let records =
        vec![order(1, "a"), value("{"), value("{}"), value(r#"{"id":"x"}"#), FixtureRecord::new(), order(2, "b")];
    let rejected = table.done(records);
    assert_eq!(places(&rejected), [1, 2, 3, 4]);
    for ((_, reason), words) in
        rejected.iter().zip(["not JSON: EOF", "nothing at /id", "/id is no bigint", "tombstone"])
    {
        assert!(reason.contains(words), "{reason}");
    }
    assert_eq!(table.rows("id, note"), ["1 a", "2 b"]);
}

#[test]
fn the_one_record_that_the_database_refuses_is_found_among_ten_thousand() {
    let mut table = Table::new("id bigint primary key, note varchar(5)", &ORDERS);
    let note = |id: i64| if id == 7_777 { "secrets" } else { "x" };
    let rejected = table.done((0..10_000).map(|id| order(id, note(id))).collect());
    assert_eq!(places(&rejected), [7_777]);
    let reason = "the database says: value too long for type character varying(5) (SQLSTATE 22001)";
    assert_eq!(rejected[0].1, reason);
    assert_eq!(table.count(), 9_999);
}

#[test]
fn every_kind_of_refusal_is_pinned_on_its_record_without_showing_values() {
    let columns = "id bigint primary key, note text not null unique check (note <> 'bad'), n smallint, \
                   parent bigint references parents deferrable initially deferred, at inet";
    shared_postgres().make("create table parents (id bigint primary key); insert into parents values (1)").unwrap();
    let settings = [
        &ORDERS[..],
        &[
            ("column.n", "n bigint optional"),
            ("column.parent", "parent bigint optional"),
            ("column.at", "at jsonb optional"),
        ],
    ]
    .concat();
    let mut table = Table::new(&columns.replace("at inet", "at jsonb"), &settings);
    let value = |value: &str| FixtureRecord::new().value(value);
    let records = vec![
        order(1, "a"),
        order(2, "bad"),
        value(r#"{"id":3}"#),
        order(4, "a"),
        value(r#"{"id":5,"note":"e","n":70000}"#),
        value(r#"{"id":6,"note":"f","parent":9}"#),
        value(r#"{"id":7,"note":"g","parent":1,"n":7,"at":[1]}"#),
        value(r#"{"id":8,"note":"h","at":"\u0000"}"#),
    ];
    let rejected = table.done(records);
    assert_eq!(places(&rejected), [1, 2, 3, 4, 5, 7], "{rejected:#?}");
    for ((_, reason), words) in rejected.iter().zip([
        "violates check constraint",
        "null value in column \"note\"",
        "duplicate key value violates unique constraint",
        "smallint out of range",
        "violates foreign key constraint",
        "unsupported Unicode escape sequence",
    ]) {
        assert!(reason.contains(words) && !reason.contains("70000"), "{reason}");
    }
    assert_eq!(table.rows("id, note"), ["1 a", "7 g"]);
}

/// A later record that the database refuses does not take the earlier one of its key with it.
#[test]
fn of_a_key_whose_last_record_is_refused_the_one_before_is_the_row() {
    let mut table = Table::new("id bigint primary key, note varchar(3)", &ORDERS);
    let rejected = table.done(vec![order(1, "a"), order(1, "b"), order(1, "long"), order(2, "c")]);
    assert_eq!(places(&rejected), [2]);
    assert_eq!(table.rows("id, note"), ["1 b", "2 c"]);
}

#[test]
fn a_trigger_that_raises_refuses_its_record() {
    let mut table = Table::new(ORDERS_TABLE, &ORDERS);
    let name = &table.name;
    let trigger = format!(
        "create function \"{name}\"() returns trigger language plpgsql as $$ begin if new.id = 2 then raise exception \
         'no \"%\" here', new.note; end if; return new; end $$; \
         create trigger t before insert on \"{name}\" for each row execute function \"{name}\"()"
    );
    table.server.make(&trigger).unwrap();
    let rejected = table.done(vec![order(1, "a"), order(2, "secret"), order(3, "c")]);
    assert_eq!(rejected, [(1, "the database says: no \"…\" here (SQLSTATE P0001)".to_owned())]);
    assert_eq!(table.rows("id, note"), ["1 a", "3 c"]);
}

#[test]
fn a_table_or_a_column_that_is_not_there_is_fatal_and_says_what_to_do() {
    let table = Table::new(ORDERS_TABLE, &ORDERS);
    let url = table.server.url();
    let mut nowhere = Table { name: "nowhere".to_owned(), ..table.with(&url, &ORDERS) };
    nowhere.writer = super::writer(&url, "nowhere", &ORDERS);
    let reason = fatal(nowhere.write(vec![order(1, "a")]));
    assert!(reason.contains("relation \"nowhere\" does not exist") && reason.contains("create the table"), "{reason}");
    let more = [&ORDERS[..], &[("column.more", "note text")]].concat();
    let reason = fatal(table.with(&url, &more).write(vec![order(1, "a")]));
    assert!(reason.contains("column \"more\"") && reason.contains("add the column"), "{reason}");
    let other_key = [("mode", "key"), ("key", "note"), ("column.id", "id bigint"), ("column.note", "note text")];
    let reason = fatal(table.with(&url, &other_key).write(vec![order(1, "a")]));
    assert!(reason.contains("needs a primary key or a unique index"), "{reason}");
    let other_type = [&ORDERS[..3], &[("column.note", "id bigint")]].concat();
    let mut numbers = Table::new("id bigint primary key, note jsonb", &other_type);
    let reason = fatal(numbers.write(vec![order(1, "a")]));
    assert!(reason.contains("is not that of the table's column"), "{reason}");
    assert_eq!(table.count(), 0);
}

#[test]
fn a_user_without_rights_and_a_wrong_password_are_fatal() {
    let table = Table::new(ORDERS_TABLE, &ORDERS);
    let reason =
        fatal(table.with(&table.server.url().replace(":grind-it@", ":wrong@"), &ORDERS).write(vec![order(1, "a")]));
    assert!(
        reason.contains("password authentication failed") && reason.contains("check user and password"),
        "{reason}"
    );
    let elsewhere = format!("{}-not-there", table.server.url());
    let reason = fatal(table.with(&elsewhere, &ORDERS).write(vec![order(1, "a")]));
    assert!(reason.contains("check the database in database_url"), "{reason}");
    table.server.query("create role guest login password 'p'").unwrap();
    let guest = table.server.url().replace("mill:grind-it", "guest:p");
    let reason = fatal(table.with(&guest, &ORDERS).write(vec![order(1, "a")]));
    assert!(reason.contains("permission denied for table") && reason.contains("grant insert"), "{reason}");
}
