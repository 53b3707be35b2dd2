//! The plugin `postgres` and a real PostgreSQL. Here it runs natively, the very code and the very driver, so that each answer can be
//! looked at; what came of it the database itself says.

mod hosts;
mod refusals;
mod rows;
mod servers;
mod strangers;

use gristmill_plugin::{Effects, Fixture, FixtureRecord, Outcome, run_batch};
use gristmill_postgres::{Settings, Writer};
use gristmill_tests::{shared_postgres, unique};
use xtask::postgres::Postgres;

/// A table of a test's own, and the plugin that writes to it.
struct Table<'s> {
    server: &'s Postgres,
    name: String,
    writer: Writer,
}

impl Table<'static> {
    /// A table of the shared server, by its columns as SQL has them.
    fn new(columns: &str, settings: &[(&str, &str)]) -> Self {
        Self::on(shared_postgres(), columns, settings)
    }
}

impl<'s> Table<'s> {
    fn on(server: &'s Postgres, columns: &str, settings: &[(&str, &str)]) -> Self {
        let name = unique("table");
        server.make(&format!("create table \"{name}\" ({columns})")).unwrap();
        let writer = writer(&server.url(), &name, settings);
        Self { server, name, writer }
    }

    /// The same table, written by another instance.
    fn with(&self, url: &str, settings: &[(&str, &str)]) -> Self {
        Self { server: self.server, name: self.name.clone(), writer: writer(url, &self.name, settings) }
    }

    fn write(&mut self, records: Vec<FixtureRecord>) -> Outcome {
        run_batch(|batch| self.writer.write(batch), records.into_iter().fold(Fixture::new(), Fixture::record))
    }

    /// Writes records and wants all of them done but for those that are rejected, which are returned: index and reason.
    fn done(&mut self, records: Vec<FixtureRecord>) -> Vec<(usize, String)> {
        match self.write(records) {
            Outcome::Ok(Effects { rejected, .. }) => {
                rejected.into_iter().map(|rejection| (rejection.index, rejection.reason)).collect()
            }
            other => panic!("not ok: {other:?}"),
        }
    }

    /// The rows, each as its columns with blanks between, in order.
    fn rows(&self, columns: &str) -> Vec<String> {
        let sql = format!("set timezone to 'UTC'; select {columns} from \"{}\" order by 1, 2", self.name);
        let shown = |column: Option<String>| column.unwrap_or_else(|| "null".to_owned());
        let rows = self.server.query(&sql).unwrap().into_iter();
        rows.map(|row| row.into_iter().map(shown).collect::<Vec<_>>().join(" ")).collect()
    }

    fn count(&self) -> usize {
        self.rows("1, 2").len()
    }
}

fn writer(url: &str, table: &str, settings: &[(&str, &str)]) -> Writer {
    let own = [("database_url", url), ("table", table)];
    let settings = own.iter().chain(settings).map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    Writer::new(Settings::read(settings).unwrap()).unwrap()
}

/// An order by its number, the key of the table in most of these tests.
const ORDERS: [(&str, &str); 4] =
    [("mode", "key"), ("key", "id"), ("column.id", "id bigint"), ("column.note", "note text optional")];

/// The table that goes with it.
const ORDERS_TABLE: &str = "id bigint primary key, note text";

fn order(id: i64, note: &str) -> FixtureRecord {
    FixtureRecord::new().value(format!(r#"{{"id":{id},"note":"{note}"}}"#))
}
