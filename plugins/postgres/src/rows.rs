//! What records want done to the table.
//!
//! It must not know SQL.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;

use gristmill_plugin::Record;

use crate::cell::{Cell, cell};
use crate::place::{self, Place};
use crate::settings::{Column, Mode, Settings, Tombstones};

/// What one record wants done.
#[derive(Clone)]
pub(crate) struct Row<'a> {
    pub(crate) record: Record<'a>,
    pub(crate) wish: Wish,
    /// The cells of all columns, or where the row is to be deleted, those of the key.
    pub(crate) cells: Vec<Cell<'a>>,
    /// What makes it the same row as another one. Empty where none is.
    key: String,
}

/// What is to happen to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Write,
    Delete,
}

/// The row of a record; `None`: there is nothing to do for it. An error is why it is rejected.
pub(crate) fn row<'a>(settings: &Settings, record: Record<'a>) -> Result<Option<Row<'a>>, String> {
    if !record.is_tombstone() {
        let all: Vec<&Column> = settings.columns.iter().collect();
        let cells = cells(&all, record)?;
        let key = match &settings.mode {
            Mode::Key(key) => written(key.iter().map(|at| &cells[*at])),
            Mode::Position(_) => String::new(),
        };
        return Ok(Some(Row { record, wish: Wish::Write, cells, key }));
    }
    match settings.tombstones {
        Tombstones::Reject => {
            Err("it has no value (a tombstone), and the setting tombstones says neither skip nor delete".into())
        }
        Tombstones::Skip => Ok(None),
        Tombstones::Delete => {
            let key: Vec<&Column> = settings.key().iter().map(|at| &settings.columns[*at]).collect();
            let cells = cells(&key, record)?;
            let key = written(cells.iter());
            Ok(Some(Row { record, wish: Wish::Delete, cells, key }))
        }
    }
}

fn cells<'a>(columns: &[&Column], record: Record<'a>) -> Result<Vec<Cell<'a>>, String> {
    let places: Vec<&Place> = columns.iter().map(|column| &column.place).collect();
    let found = place::find(record, &places)?;
    let cells = columns.iter().zip(found).map(|(column, found)| {
        let Column { place, kind, .. } = column;
        match cell(*kind, found) {
            Ok(Cell::Null) if !column.optional => Err(format!("it has nothing at {place}, or null")),
            made => made.map_err(|error| format!("{place} {error}")),
        }
    });
    cells.collect()
}

/// A key as text that is the same for equal keys only.
fn written<'c>(cells: impl Iterator<Item = &'c Cell<'c>>) -> String {
    let mut key = String::new();
    for cell in cells {
        let part: Cow<'_, str> = match cell {
            Cell::Null => "".into(),
            Cell::Text(text) => text.as_ref().into(),
            Cell::Bigint(number) => number.to_string().into(),
            Cell::Double(number) => number.to_string().into(),
            Cell::Boolean(yes) => yes.to_string().into(),
        };
        // Its length in front, so that no two parts can be read as one.
        let _ = write!(key, "{}:{part}", part.len());
    }
    key
}

/// The rows that are left when of each key the last one counts: those to write, and those to delete. No key is in both.
pub(crate) fn last_of_each<'r, 'a>(rows: &'r [Row<'a>]) -> (Vec<&'r Row<'a>>, Vec<&'r Row<'a>>) {
    let mut last = HashMap::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| !row.key.is_empty()) {
        last.insert(row.key.as_str(), at);
    }
    let counts = |at: usize, row: &Row<'_>| last.get(row.key.as_str()).is_none_or(|last| *last == at);
    let left = rows.iter().enumerate().filter(|(at, row)| counts(*at, row));
    left.map(|(_, row)| row).partition(|row| row.wish == Wish::Write)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use gristmill_plugin::{Batch, Fixture, FixtureRecord, run_batch};

    use super::*;

    fn settings(more: &[(&str, &str)]) -> Settings {
        let own = [("database_url", "postgres://u@127.0.0.1/d"), ("table", "t")];
        let settings = own.iter().chain(more).map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Settings::read(settings).unwrap()
    }

    fn keyed() -> Settings {
        settings(&[
            ("mode", "key"),
            ("key", "a, b"),
            ("tombstones", "delete"),
            ("column.a", "@key/0 text"),
            ("column.b", "@key/1 bigint"),
            ("column.v", "/v bigint"),
        ])
    }

    /// What records come to, as offsets: written, deleted, rejected with the reason.
    fn done(settings: &Settings, records: &[FixtureRecord]) -> (Vec<i64>, Vec<i64>, Vec<String>) {
        let done = RefCell::default();
        let look = |batch: &Batch| {
            let (mut rows, mut rejected) = (Vec::new(), Vec::new());
            for record in batch {
                match row(settings, record) {
                    Ok(row) => rows.extend(row),
                    Err(reason) => rejected.push(reason),
                }
            }
            let (write, delete) = last_of_each(&rows);
            let offsets = |rows: Vec<&Row<'_>>| rows.iter().map(|row| row.record.offset()).collect();
            *done.borrow_mut() = (offsets(write), offsets(delete), rejected);
        };
        run_batch(look, records.iter().cloned().fold(Fixture::new(), Fixture::record));
        done.into_inner()
    }

    fn keyed_record(key: &str) -> FixtureRecord {
        FixtureRecord::new().key(key)
    }

    #[test]
    fn of_each_key_the_last_record_counts() {
        let written = |key| keyed_record(key).value(r#"{"v":1}"#);
        let records = [
            written(r#"["a","1"]"#),
            written(r#"["a",2]"#),
            written(r#"["a",1]"#),
            keyed_record(r#"["a",2]"#),
            keyed_record(r#"["b",1]"#),
            written(r#"["b",1]"#),
            written(r#"["a1",1]"#),
        ];
        assert_eq!(done(&keyed(), &records), (vec![2, 5, 6], vec![3], vec![]));
    }

    #[test]
    fn a_record_that_is_rejected_does_not_stand_for_its_key() {
        let records =
            [keyed_record(r#"["a",1]"#).value(r#"{"v":1}"#), keyed_record(r#"["a",1]"#).value(r#"{"v":"x"}"#)];
        assert_eq!(done(&keyed(), &records), (vec![0], vec![], vec!["/v is no bigint".to_owned()]));
    }

    #[test]
    fn by_position_every_record_is_a_row() {
        let settings = settings(&[
            ("mode", "position"),
            ("tombstones", "skip"),
            ("column.t", "@topic text"),
            ("column.p", "@partition bigint"),
            ("column.o", "@offset bigint"),
            ("column.v", "/v bigint optional"),
        ]);
        let records = [FixtureRecord::new().value("{}"), FixtureRecord::new(), FixtureRecord::new().value("{}")];
        assert_eq!(done(&settings, &records), (vec![0, 2], vec![], vec![]));
    }

    #[test]
    fn why_a_record_is_rejected_is_told() {
        let settings = settings(&[("mode", "key"), ("key", "id"), ("column.id", "/id text")]);
        let values = ["{}", r#"{"id":null}"#, r#"{"id":[]}"#, "{"];
        let mut records: Vec<_> = values.iter().map(|value| FixtureRecord::new().value(*value)).collect();
        records.push(FixtureRecord::new());
        let (_, _, rejected) = done(&settings, &records);
        assert_eq!(
            rejected[..3],
            ["it has nothing at /id, or null", "it has nothing at /id, or null", "/id is a list, no text"]
        );
        assert!(rejected[3].starts_with("its value is not JSON: EOF"), "{}", rejected[3]);
        assert!(rejected[4].starts_with("it has no value (a tombstone)"), "{}", rejected[4]);
    }
}
