//! A batch on its way into the table: all at once, or where that does not do, in parts that stay done.
//!
//! It must not know how the database is reached.

use std::time::Instant;

use gristmill_plugin::{Batch, Failure, Record, Retry};
use tokio::runtime::Runtime;

use crate::cell::Kind;
use crate::rows::{self, Row};
use crate::settings::Settings;
use crate::statement::Statements;
use crate::store::{self, Constraints, Store};
use crate::trouble::Trouble;

/// How many records are written and committed at once while records to blame are looked for. Where even these take longer than a call
/// may, the next attempts take fewer.
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
            let (at, limit) = (store.at(), store::told(limit));
            Err(Retry::now().because(format!("the database at {at} did not answer within {limit}")))
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
        if self.batch.attempt() > 1 {
            // All at once it may have taken longer than a call may, and would again.
            let records = (self.settings.chunk_records >> (self.batch.attempt() - 2).min(16)).max(1);
            return self.write_in_parts(records).await;
        }
        let trouble = match self.write_all().await {
            Ok(()) => return Ok(()),
            Err(trouble) => trouble,
        };
        self.store.roll_back().await;
        match trouble {
            Trouble::Data(_) => self.write_in_parts(SUSPECT_RECORDS).await,
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
                self.store.begin(self.until(), Constraints::AsDeclared).await?;
                begun = true;
            }
            self.write_rows(&rows).await?;
            if self.batch.is_cancelled() {
                return Err(Trouble::Passing("the host does not want the answer any more".to_owned()));
            }
        }
        if begun { self.store.commit().await } else { Ok(()) }
    }

    /// Writes so many records at a time, each part in a transaction of its own, and rejects those that the database refuses. What is
    /// done when the time is over stays done.
    async fn write_in_parts(&mut self, records_max: usize) -> Result<(), Failure> {
        let records: Vec<Record<'w>> = self.batch.records().collect();
        for part in records.chunks(records_max) {
            let little_is_left = self.batch.time_left() < self.batch.time_limit() / 4;
            if part[0].index() > 0 && (little_is_left || self.batch.is_cancelled()) {
                return Err(Retry::now().because("the rest of the batch does not fit into the time of this call"));
            }
            if let Err(trouble) = self.write_part(part).await {
                self.store.roll_back().await;
                return Err(trouble.into());
            }
            if let Some(last) = part.last() {
                self.batch.done_through(*last);
            }
        }
        Ok(())
    }

    /// Writes a part in one transaction, but for the records that the database refuses, which are rejected.
    async fn write_part(&mut self, records: &[Record<'w>]) -> Result<(), Trouble> {
        let rows = self.rows(records);
        if rows.is_empty() {
            return Ok(());
        }
        self.store.begin(self.until(), Constraints::AtOnce).await?;
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
        self.store.commit().await
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

    /// When statements have to end: before the call has to, so that the database gives up before we do.
    fn until(&self) -> Instant {
        Instant::now() + self.batch.time_left() * 8 / 10
    }
}
