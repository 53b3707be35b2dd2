//! Servers that go away and come back, and connections that do.

use gristmill_plugin::Outcome;
use xtask::postgres::Postgres;

use super::{ORDERS, ORDERS_TABLE, Table, order};

/// The reason of a retryable answer.
fn retryable(outcome: Outcome) -> String {
    match outcome {
        Outcome::Retryable { reason, completed: None, .. } => reason,
        other => panic!("not retryable: {other:?}"),
    }
}

/// The processes that serve connections of the plugin with this name.
fn backends(server: &Postgres, name: &str) -> Vec<String> {
    let sql = format!("select pid from pg_stat_activity where application_name = '{name}'");
    server.query(&sql).unwrap().into_iter().flatten().flatten().collect()
}

#[test]
fn the_connection_is_kept_and_one_that_was_ended_meanwhile_is_replaced_unnoticed() {
    let table = Table::new(ORDERS_TABLE, &ORDERS);
    let name = &table.name;
    let mut table = table.with(&format!("{}?application_name={name}", table.server.url()), &ORDERS);
    assert_eq!(table.done(vec![order(1, "a")]), []);
    let first = backends(table.server, &table.name);
    assert_eq!(table.done(vec![order(2, "b")]), []);
    assert_eq!(backends(table.server, &table.name), first);
    table.server.query(&format!("select pg_terminate_backend({}, 10000)", first[0])).unwrap();
    assert_eq!(table.done(vec![order(3, "c")]), []);
    let second = backends(table.server, &table.name);
    assert!(second.len() == 1 && second != first, "{first:?} {second:?}");
    assert_eq!(table.rows("id, note"), ["1 a", "2 b", "3 c"]);
}

#[test]
fn a_server_that_is_down_is_worth_a_wait_and_nothing_is_lost_when_it_is_back() {
    let server = Postgres::start().unwrap();
    let mut table = Table::on(&server, ORDERS_TABLE, &ORDERS);
    assert_eq!(table.done(vec![order(1, "a")]), []);
    let log = server.log_tail();
    assert!(log.trim_end().ends_with("ready to accept connections"), "the look at who answers is a line: {log}");
    server.kill().unwrap();
    let reason = retryable(table.write(vec![order(2, "b")]));
    assert!(reason.contains(&format!("to the database at {}", server.address())), "{reason}");
    server.restart().unwrap();
    assert_eq!(table.done(vec![order(2, "b")]), []);
    assert_eq!(table.rows("id, note"), ["1 a", "2 b"]);
    // Killed and back between two batches: not even noticed.
    server.kill().unwrap();
    server.restart().unwrap();
    assert_eq!(table.done(vec![order(3, "c")]), []);
    assert_eq!(table.rows("id, note"), ["1 a", "2 b", "3 c"]);
}

#[test]
fn locks_that_are_not_to_be_had_and_statements_that_take_too_long_are_worth_a_wait() {
    let table = Table::new(ORDERS_TABLE, &ORDERS);
    let name = &table.name;
    let slow = format!(
        "create function \"{name}\"() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return new; end $$; \
         create trigger t before insert on \"{name}\" for each row execute function \"{name}\"()"
    );
    table.server.make(&slow).unwrap();
    // A limit of the user's own, below that of the batch, so that the test is quick.
    let url = format!("{}?options=-c%20lock_timeout%3D100ms", table.server.url());
    let mut patient = table.with(&table.server.url(), &ORDERS);
    let begun = std::time::Instant::now();
    let reason = retryable(patient.write(vec![order(1, "a")]));
    assert!(reason.contains("took longer than the batch may take"), "{reason}");
    assert!(begun.elapsed().as_secs() < 5, "the call's own limit would have ended it: {:?}", begun.elapsed());
    table.server.make(&format!("drop trigger t on \"{name}\"")).unwrap();
    assert_eq!(patient.done(vec![order(1, "a")]), []);

    // A transaction of somebody else's, kept open by a plugin that waits for it in the next statement.
    let mut impatient = table.with(&url, &ORDERS);
    let blocker = format!("begin; lock table \"{name}\"; select pg_sleep(1)");
    std::thread::scope(|scope| {
        let blocking = scope.spawn(|| table.server.query(&blocker));
        let waits = format!(
            "select count(*) from pg_locks l join pg_class c on c.oid = l.relation where c.relname = '{name}' and mode = 'AccessExclusiveLock'"
        );
        let deadline = std::time::Instant::now() + crate::pipeline::SOON;
        while table.server.query(&waits).unwrap()[0][0].as_deref() == Some("0") {
            assert!(std::time::Instant::now() < deadline, "the lock is never taken");
        }
        let reason = retryable(impatient.write(vec![order(2, "b")]));
        assert!(reason.contains("lock timeout"), "{reason}");
        blocking.join().unwrap().unwrap();
    });
    assert_eq!(impatient.done(vec![order(2, "b")]), []);
}

/// Both see the same rows and go the opposite way: PostgreSQL ends one of them. It comes again, and both are whole.
#[test]
fn batches_that_lock_each_other_out_end_as_both() {
    let server = Postgres::start().unwrap();
    server.query("alter system set deadlock_timeout = '20ms'; ").unwrap();
    server.query("select pg_reload_conf()").unwrap();
    let settings = [&ORDERS[..], &[("chunk_records", "1")]].concat();
    let table = Table::on(&server, ORDERS_TABLE, &settings);
    let (mut one, mut other) = (table.with(&server.url(), &settings), table.with(&server.url(), &settings));
    let until_done = |table: &mut Table<'_>, ids: Vec<i64>, note: &str| {
        let mut failed = 0;
        while let Outcome::Retryable { reason, .. } = table.write(ids.iter().map(|id| order(*id, note)).collect()) {
            assert!(reason.contains("deadlock detected"), "{reason}");
            failed += 1;
        }
        failed
    };
    let failed: u32 = std::thread::scope(|scope| {
        let there = scope.spawn(|| (0..20).map(|_| until_done(&mut one, (0..50).collect(), "one")).sum::<u32>());
        let back = (0..20).map(|_| until_done(&mut other, (0..50).rev().collect(), "other")).sum::<u32>();
        back + there.join().unwrap()
    });
    println!("{failed} attempts at 40 batches met a deadlock");
    assert_eq!(table.count(), 50);
    assert_eq!(table.rows("distinct note, 1").len(), 1, "the batches are mixed");
}
