//! The SQL that writes and deletes rows, many with one statement: each column goes along as an array.
//!
//! It must not know the rows.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::cell::Kind;
use crate::settings::{Mode, Settings, Tombstones};

/// The statements of a table.
#[derive(Clone, Debug)]
pub(crate) struct Statements {
    /// Writes rows: a parameter for each column.
    pub(crate) write: Arc<str>,
    /// Deletes rows: a parameter for each column of the key. `None`: nothing is ever deleted.
    pub(crate) delete: Option<Arc<str>>,
}

impl Statements {
    pub(crate) fn of(settings: &Settings) -> Self {
        let delete = settings.tombstones == Tombstones::Delete;
        Self { write: write(settings).into(), delete: delete.then(|| delete_from(settings).into()) }
    }
}

fn write(settings: &Settings) -> String {
    let all: Vec<usize> = (0..settings.columns.len()).collect();
    let name = |at: &usize| quoted(&settings.columns[*at].name);
    let list = |columns: &[usize]| columns.iter().map(name).collect::<Vec<_>>().join(", ");
    let values: Vec<_> = all.iter().enumerate().map(|(nth, at)| value(nth, settings.columns[*at].kind)).collect();
    let mut sql = format!("insert into {} ({}) select {}", table(settings), list(&all), values.join(", "));
    let _ = write!(sql, " from {} on conflict ({})", rows(settings, &all), list(settings.key()));
    let others: Vec<usize> = all.into_iter().filter(|at| !settings.key().contains(at)).collect();
    match settings.mode {
        Mode::Key(_) if !others.is_empty() => {
            let set: Vec<_> = others.iter().map(|at| format!("{0} = excluded.{0}", name(at))).collect();
            let _ = write!(sql, " do update set {}", set.join(", "));
        }
        Mode::Key(_) | Mode::Position(_) => sql.push_str(" do nothing"),
    }
    sql
}

fn delete_from(settings: &Settings) -> String {
    let is_it = |(nth, at): (usize, &usize)| {
        let column = &settings.columns[*at];
        format!("t.{} = {}", quoted(&column.name), value(nth, column.kind))
    };
    let is_it: Vec<_> = settings.key().iter().enumerate().map(is_it).collect();
    let rows = rows(settings, settings.key());
    format!("delete from {} as t using {rows} where {}", table(settings), is_it.join(" and "))
}

/// The parameters as a table, one row for each place in the arrays.
fn rows(settings: &Settings, columns: &[usize]) -> String {
    let array = |(nth, at): (usize, &usize)| format!("${}::{}[]", nth + 1, sent_as(settings.columns[*at].kind));
    let arrays: Vec<_> = columns.iter().enumerate().map(array).collect();
    let names: Vec<_> = (0..columns.len()).map(|nth| format!("c{nth}")).collect();
    format!("unnest({}) as x({})", arrays.join(", "), names.join(", "))
}

/// The value of a column as its own type.
fn value(nth: usize, kind: Kind) -> String {
    match kind {
        Kind::Text | Kind::Bigint | Kind::Double | Kind::Boolean => format!("x.c{nth}"),
        Kind::Timestamptz | Kind::Jsonb | Kind::Numeric => format!("x.c{nth}::{}", kind.name()),
    }
}

/// The type in which a column's values go along.
fn sent_as(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Timestamptz | Kind::Jsonb | Kind::Numeric => "text",
        Kind::Bigint => "bigint",
        Kind::Double => "double precision",
        Kind::Boolean => "boolean",
    }
}

fn table(settings: &Settings) -> String {
    settings.table.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".")
}

/// A name as SQL takes it, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(settings: &[(&str, &str)]) -> Statements {
        let url = ("database_url".to_owned(), "postgres://u@127.0.0.1/d".to_owned());
        let settings = settings.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Statements::of(&Settings::read(settings.chain([url])).unwrap())
    }

    #[test]
    fn a_key_is_written_over() {
        let settings = [
            ("table", "shop.orders"),
            ("mode", "key"),
            ("key", "id"),
            ("column.id", "@key bigint"),
            ("column.at", "/at timestamptz"),
            ("column.ok", "/ok boolean"),
            ("column.total", "/total double"),
            ("tombstones", "delete"),
        ];
        let Statements { write, delete } = statements(&settings);
        assert_eq!(
            &*write,
            "insert into \"shop\".\"orders\" (\"at\", \"id\", \"ok\", \"total\") \
             select x.c0::timestamptz, x.c1, x.c2, x.c3 \
             from unnest($1::text[], $2::bigint[], $3::boolean[], $4::double precision[]) as x(c0, c1, c2, c3) \
             on conflict (\"id\") do update set \"at\" = excluded.\"at\", \"ok\" = excluded.\"ok\", \"total\" = excluded.\"total\""
        );
        let deleted = "delete from \"shop\".\"orders\" as t using unnest($1::bigint[]) as x(c0) where t.\"id\" = x.c0";
        assert_eq!(delete.as_deref(), Some(deleted));
    }

    #[test]
    fn a_position_is_written_once() {
        let settings = [
            ("table", "t"),
            ("mode", "position"),
            ("column.t", "@topic text"),
            ("column.p", "@partition bigint"),
            ("column.o", "@offset bigint"),
            ("column.v", "@value jsonb"),
        ];
        let Statements { write, delete } = statements(&settings);
        assert!(write.ends_with("on conflict (\"t\", \"p\", \"o\") do nothing"), "{write}");
        assert!(write.contains("x.c3::jsonb"), "{write}");
        assert_eq!(delete, None);
    }

    #[test]
    fn nothing_but_a_key_needs_no_update() {
        let settings =
            [("table", "t"), ("mode", "key"), ("key", "a, b"), ("column.a", "a text"), ("column.b", "b timestamptz")];
        let write = statements(&settings).write;
        assert!(write.ends_with("on conflict (\"a\", \"b\") do nothing"), "{write}");
    }

    #[test]
    fn names_cannot_end_the_quotes_around_them() {
        let settings =
            [("table", "a\"; drop table b; --"), ("mode", "key"), ("key", "x\"y"), ("column.x\"y", "a text")];
        let write = statements(&settings).write;
        assert!(write.starts_with("insert into \"a\"\"; drop table b; --\" (\"x\"\"y\") select"), "{write}");
    }
}
