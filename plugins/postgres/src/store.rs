//! The connection to the database: opened when it is needed, kept from batch to batch, replaced when it is found dead.
//!
//! It must not know records.

use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgSslMode};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, Postgres};

use crate::cell::{Cell, Kind};
use crate::rows::Row;
use crate::trouble::Trouble;

/// What the database calls us, where the URL gives no name.
const APPLICATION: &str = "gristmill";

/// A database and, where there is one, the connection to it.
pub(crate) struct Store {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
}

/// When constraints are looked at that the table defers to the end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constraints {
    /// When the table says.
    AsDeclared,
    /// With each statement, so that it is known which record breaks one.
    AtOnce,
}

impl Store {
    /// A database by its URL. Nothing is connected yet.
    pub(crate) fn new(url: &str) -> Result<Self, String> {
        let wrong = |why: String| format!("the setting database_url {why}");
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong("does not begin with postgres://".to_owned()));
        }
        let options =
            PgConnectOptions::from_str(url).map_err(|error| wrong(format!("is no URL of a database: {error}")))?;
        if options.get_socket().is_some() {
            return Err(wrong("names a socket among files; a plugin reaches hosts only".to_owned()));
        }
        let options = match options.get_ssl_mode() {
            // What these allow where there is no TLS.
            PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer => options.ssl_mode(PgSslMode::Disable),
            _ => return Err(wrong("asks for TLS, which this plugin does not speak: write sslmode=disable and protect the way to the database otherwise".to_owned())),
        };
        let options = match options.get_application_name() {
            Some(_) => options,
            None => options.application_name(APPLICATION),
        };
        Ok(Self { options, connection: None })
    }

    /// Begins a transaction whose statements end in `limit`, on the connection that was kept or on a new one.
    pub(crate) async fn begin(&mut self, limit: Duration, constraints: Constraints) -> Result<(), Trouble> {
        let constraints = match constraints {
            Constraints::AsDeclared => "",
            Constraints::AtOnce => "; set constraints all immediate",
        };
        let begin = format!("begin; set local statement_timeout = {}{constraints}", limit.as_millis().max(1));
        if let Some(connection) = &mut self.connection {
            // A connection that died meanwhile is found out here: nothing was asked of it yet, so nothing is lost with it.
            match connection.execute(AssertSqlSafe(begin.clone())).await {
                Ok(_) => return Ok(()),
                Err(_) => self.connection = None,
            }
        }
        let mut connection = self.connect().await?;
        connection.execute(AssertSqlSafe(begin)).await.map_err(|error| Trouble::of(&error))?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Connects to the first address that takes us.
    async fn connect(&self) -> Result<PgConnection, Trouble> {
        let mut trouble = None;
        for address in self.addresses()? {
            let options = self.options.clone().host(&address.ip().to_string()).port(address.port());
            match options.connect().await {
                Ok(connection) => return Ok(connection),
                Err(error) => trouble = Some(Trouble::of(&error)),
            }
        }
        Err(trouble.unwrap_or_else(|| Trouble::Passing(format!("the name {} has no address", self.options.get_host()))))
    }

    /// The addresses of the host. Looked up here and by no runtime: those do it on a thread, of which a plugin has one.
    fn addresses(&self) -> Result<Vec<SocketAddr>, Trouble> {
        let host = self.options.get_host().trim_start_matches('[').trim_end_matches(']');
        let addresses = (host, self.options.get_port()).to_socket_addrs();
        addresses.map(Iterator::collect).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => Trouble::of(&sqlx::Error::Io(error)),
            _ => Trouble::Passing(format!("the address of {host} is not to be had: {error}")),
        })
    }

    /// Runs a statement without parameters in the transaction.
    pub(crate) async fn run(&mut self, sql: &'static str) -> Result<(), Trouble> {
        let done = self.connection()?.execute(sql).await;
        done.map(drop).map_err(|error| Trouble::of(&error))
    }

    /// Runs a statement with an array for each column of the rows.
    pub(crate) async fn run_over(&mut self, sql: &Arc<str>, kinds: &[Kind], rows: &[&Row<'_>]) -> Result<(), Trouble> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut query = sqlx::query(AssertSqlSafe(Arc::clone(sql)));
        for (column, kind) in kinds.iter().enumerate() {
            query = bind(query, column, *kind, rows);
        }
        let done = query.execute(self.connection()?).await;
        done.map(drop).map_err(|error| Trouble::of(&error))
    }

    fn connection(&mut self) -> Result<&mut PgConnection, Trouble> {
        self.connection.as_mut().ok_or_else(|| Trouble::Passing("there is no connection to the database".to_owned()))
    }

    /// Gives the transaction up. The connection is kept where the database still answers, and dropped where it does not.
    pub(crate) async fn roll_back(&mut self) {
        if self.run("rollback").await.is_err() {
            self.drop_connection();
        }
    }

    /// Lets go of the connection, and of a transaction that was begun on it.
    pub(crate) fn drop_connection(&mut self) {
        self.connection = None;
    }
}

/// Adds a column of the rows to a statement, as an array.
fn bind<'q>(
    query: Query<'q, Postgres, PgArguments>,
    column: usize,
    kind: Kind,
    rows: &[&'q Row<'_>],
) -> Query<'q, Postgres, PgArguments> {
    let cells = rows.iter().map(|row| &row.cells[column]);
    match kind {
        Kind::Text | Kind::Timestamptz | Kind::Jsonb | Kind::Numeric => query
            .bind(cells.map(|cell| if let Cell::Text(text) = cell { Some(&**text) } else { None }).collect::<Vec<_>>()),
        Kind::Bigint => query.bind(
            cells.map(|cell| if let Cell::Bigint(number) = cell { Some(*number) } else { None }).collect::<Vec<_>>(),
        ),
        Kind::Double => query.bind(
            cells.map(|cell| if let Cell::Double(number) = cell { Some(*number) } else { None }).collect::<Vec<_>>(),
        ),
        Kind::Boolean => query
            .bind(cells.map(|cell| if let Cell::Boolean(yes) = cell { Some(*yes) } else { None }).collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_meant_is_refused_without_being_shown() {
        for (url, words) in [
            ("mysql://u:secret@db/d", "does not begin with postgres://"),
            ("postgres://u:secret@db:port/d", "is no URL of a database"),
            ("postgres://u:secret@db/d?sslmode=require", "asks for TLS"),
            ("postgres://u:secret@db/d?sslmode=verify-full", "asks for TLS"),
            ("postgres://u:secret@db/d?sslmode=secret", "is no URL of a database"),
            ("postgres://u:secret@%2Fvar%2Frun/d", "names a socket among files"),
        ] {
            let error = Store::new(url).err().expect("refused");
            assert!(error.contains(words), "{error}");
            assert!(!error.contains("u:secret"), "{error}");
        }
        for url in ["postgres://u@db/d", "postgresql://u@[::1]:5433/d?sslmode=prefer&application_name=a"] {
            assert!(Store::new(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn an_address_needs_no_name_service() {
        for (url, address) in
            [("postgres://u@[::1]:5433/d", "[::1]:5433"), ("postgres://u@127.0.0.1/d", "127.0.0.1:5432")]
        {
            assert_eq!(Store::new(url).unwrap().addresses().unwrap(), [address.parse().unwrap()]);
        }
    }
}
