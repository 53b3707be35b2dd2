//! A batch on its way into the table: all at once, and where the database refuses a record, so that only that one is rejected.
//!
//! It must not know how the database is reached.

use std::time::Duration;

use gristmill_plugin::{Batch, Failure, Record, Retry};
use tokio::runtime::Runtime;

use crate::cell::Kind;
use crate::rows::{self, Row};
use crate::settings::Settings;
use crate::statement::Statements;
use crate::store::{Constraints, Store};
use crate::trouble::Trouble;

/// How many records are written and committed at once while records to blame are looked for. Even if all of them are to blame,
/// they fit into the time of a call.
const SUSPECT_RECORDS: usize = 100;

/// Writes batches to one table.
pub struct Writer {
    settings: Settings,
    statements: Statements,
    /// The types of all columns, and those of the key.
    kinds: (Vec<Kind>, Vec<Kind>),
    store: Store,
    runtime: Runtime,
}

impl Writer {
    /// Prepares everything, and connects to nothing.
    ///
    /// # Errors
    ///
    /// When the database's URL makes no sense.
    pub fn new(settings: Settings) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot make a runtime: {error}"))?;
        let kinds = |columns: &[usize]| columns.iter().map(|at| settings.columns[*at].kind).collect();
        let kinds = (settings.columns.iter().map(|column| column.kind).collect(), kinds(settings.key()));
        let (store, statements) = (Store::new(&settings.database_url)?, Statements::of(&settings));
        Ok(Self { settings, statements, kinds, store, runtime })
    }

    /// Writes a batch. What is committed to the database when this returns is whole: all of it or, where the answer says so, a
    /// beginning.
    ///
    /// # Errors
    ///
    /// Retryable for what time may heal, fatal for what somebody has to change.
    pub fn write(&mut self, batch: &Batch) -> Result<(), Failure> {
        let Self { settings, statements, kinds, store, runtime } = self;
        let mut job = Job { batch, settings, statements, kinds, store };
        let limit = batch.time_left() * 9 / 10;
        let ended = runtime.block_on(async { tokio::time::timeout(limit, job.write()).await });
        ended.unwrap_or_else(|_| {
            // Dropped in the middle of a statement: the connection is of no use any more.
            store.drop_connection();
            Err(Retry::now().because(format!("the database did not answer within {limit:?}")))
        })
    }
}

/// One batch and all that is needed to write it.
struct Job<'w> {
    batch: &'w Batch,
    settings: &'w Settings,
    statements: &'w Statements,
    kinds: &'w (Vec<Kind>, Vec<Kind>),
    store: &'w mut Store,
}

impl<'w> Job<'w> {
    async fn write(&mut self) -> Result<(), Failure> {
        let trouble = match self.write_all().await {
            Ok(()) => return Ok(()),
            Err(trouble) => trouble,
        };
        self.store.roll_back().await;
        match trouble {
            Trouble::Data(_) => self.write_one_by_one().await,
            Trouble::Passing(_) | Trouble::Lasting(_) => Err(trouble.into()),
        }
    }

    /// Writes all records in one transaction.
    async fn write_all(&mut self) -> Result<(), Trouble> {
        let records: Vec<Record<'w>> = self.batch.records().collect();
        let mut begun = false;
        for chunk in records.chunks(self.settings.chunk_records) {
            let rows = self.rows(chunk);
            if !rows.is_empty() && !begun {
                self.store.begin(self.time_left(), Constraints::AsDeclared).await?;
                begun = true;
            }
            self.write_rows(&rows).await?;
            if self.batch.is_cancelled() {
                return Err(Trouble::Passing("the host does not want the answer any more".to_owned()));
            }
        }
        if begun { self.store.run("commit").await } else { Ok(()) }
    }

    /// Writes few records at a time, each few in a transaction of their own, and rejects those that the database refuses.
    async fn write_one_by_one(&mut self) -> Result<(), Failure> {
        let records: Vec<Record<'w>> = self.batch.records().collect();
        for few in records.chunks(SUSPECT_RECORDS) {
            let little_is_left = self.time_left() < self.batch.time_limit() / 4;
            if few[0].index() > 0 && (little_is_left || self.batch.is_cancelled()) {
                return Err(Retry::now().because("looking for the records to blame takes longer than one call may"));
            }
            if let Err(trouble) = self.write_few(few).await {
                self.store.roll_back().await;
                return Err(trouble.into());
            }
            if let Some(last) = few.last() {
                self.batch.done_through(*last);
            }
        }
        Ok(())
    }

    async fn write_few(&mut self, records: &[Record<'w>]) -> Result<(), Trouble> {
        let rows = self.rows(records);
        if rows.is_empty() {
            return Ok(());
        }
        self.store.begin(self.time_left(), Constraints::AtOnce).await?;
        // What is still to be written, the first on top; halved until what is refused is one row.
        let mut left = vec![rows.as_slice()];
        while let Some(rows) = left.pop() {
            self.store.run("savepoint part").await?;
            match self.write_rows(rows).await {
                Ok(()) => self.store.run("release savepoint part").await?,
                Err(Trouble::Data(reason)) => {
                    self.store.run("rollback to savepoint part").await?;
                    match rows {
                        [row] => self.batch.reject(row.record, reason),
                        _ => {
                            let (first, second) = rows.split_at(rows.len() / 2);
                            left.extend([second, first]);
                        }
                    }
                }
                Err(other) => return Err(other),
            }
        }
        self.store.run("commit").await
    }

    /// The rows of records; those that make none are rejected.
    fn rows(&self, records: &[Record<'w>]) -> Vec<Row<'w>> {
        let mut rows = Vec::with_capacity(records.len());
        for record in records {
            match rows::row(self.settings, *record) {
                Ok(row) => rows.extend(row),
                Err(reason) => self.batch.reject(*record, reason),
            }
        }
        rows
    }

    async fn write_rows(&mut self, rows: &[Row<'_>]) -> Result<(), Trouble> {
        let (write, delete) = rows::last_of_each(rows);
        let (all, key) = self.kinds;
        if let Some(sql) = &self.statements.delete {
            self.store.run_over(sql, key, &delete).await?;
        }
        self.store.run_over(&self.statements.write, all, &write).await
    }

    /// What a statement may take: less than what the call may, so that the database gives up before we do.
    fn time_left(&self) -> Duration {
        self.batch.time_left() * 8 / 10
    }
}
