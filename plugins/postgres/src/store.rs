//! The connection to the database: opened when it is needed, kept from batch to batch, replaced when it is found dead.
//!
//! It must not know records.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgSslMode};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, Postgres};
use tokio::time::timeout;

use crate::cell::{Cell, Kind};
use crate::greeting::{Unmet, greet};
use crate::rows::Row;
use crate::trouble::Trouble;

/// What the database calls us, where the URL gives no name.
const APPLICATION: &str = "gristmill";

/// A kept connection that does not begin a transaction within so long is taken for dead: a firewall that forgot it lets packets vanish,
/// and nobody is told.
const KEPT_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Where a transaction has failed, PostgreSQL rolls it back and takes that for no error: it answers `commit` with the word ROLLBACK,
/// which the driver keeps to itself. A savepoint there is refused, and what stands behind it in the same message is not run.
const COMMIT: &str = "savepoint last; commit";

/// A database and, where there is one, the connection to it.
pub(crate) struct Store {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
    /// Host and port, as errors name them.
    at: String,
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
        let at = place(host(&options), options.get_port());
        Ok(Self { options, connection: None, at })
    }

    /// The database's host and port, as errors name them.
    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    /// Begins a transaction whose statements end before `until`, on the connection that was kept or on a new one.
    pub(crate) async fn begin(&mut self, until: Instant, constraints: Constraints) -> Result<(), Trouble> {
        if let Some(connection) = &mut self.connection {
            // A connection that died meanwhile is found out here: nothing was asked of it yet, so nothing is lost with it.
            let limit = (left(until) / 4).min(KEPT_ANSWERS_WITHIN);
            match timeout(limit, connection.execute(AssertSqlSafe(begin(until, constraints)))).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(_)) | Err(_) => self.connection = None,
            }
        }
        let mut connection = self.connect(&self.addresses()?, until).await?;
        let begun = connection.execute(AssertSqlSafe(begin(until, constraints))).await;
        begun.map_err(|error| Trouble::of(&error, &self.at))?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Connects to the first of the addresses that takes us. Each gets a share of the time, so that one from which nothing comes back
    /// leaves some to the others, and the last one some to the work.
    async fn connect(&self, addresses: &[SocketAddr], until: Instant) -> Result<PgConnection, Trouble> {
        let mut trouble = None;
        for (shares, address) in (2..=addresses.len() + 1).rev().zip(addresses) {
            let limit = left(until) / u32::try_from(shares).unwrap_or(u32::MAX);
            let at = self.place_of(*address);
            trouble = Some(match timeout(limit, self.connect_to(*address, &at)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(trouble)) => trouble,
                Err(_) => Trouble::Passing(format!("nothing answered at {at} within {}", told(limit))),
            });
        }
        Err(trouble
            .unwrap_or_else(|| Trouble::Passing(format!("the name of the database at {} has no address", self.at))))
    }

    async fn connect_to(&self, address: SocketAddr, at: &str) -> Result<PgConnection, Trouble> {
        greet(address, &self.options).await.map_err(|unmet: Unmet| Trouble::of_greeting(&unmet, at))?;
        let options = self.options.clone().host(&address.ip().to_string()).port(address.port());
        options.connect().await.map_err(|error| Trouble::of(&error, at))
    }

    /// The addresses of the host. Looked up here and by no runtime: those do it on a thread, of which a plugin has one.
    fn addresses(&self) -> Result<Vec<SocketAddr>, Trouble> {
        let addresses = (host(&self.options), self.options.get_port()).to_socket_addrs();
        addresses.map(Iterator::collect).map_err(|error| Trouble::of_look_up(&error, &self.at))
    }

    /// Host and port, and which of the host's addresses it is.
    fn place_of(&self, address: SocketAddr) -> String {
        if host(&self.options).parse::<IpAddr>().is_ok() {
            return self.at.clone();
        }
        format!("{} ({})", self.at, address.ip())
    }

    /// Runs a statement without parameters in the transaction.
    pub(crate) async fn run(&mut self, sql: &'static str) -> Result<(), Trouble> {
        let done = self.connection()?.execute(sql).await;
        done.map(drop).map_err(|error| Trouble::of(&error, &self.at))
    }

    /// Commits the transaction.
    pub(crate) async fn commit(&mut self) -> Result<(), Trouble> {
        self.run(COMMIT).await
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
        done.map(drop).map_err(|error| Trouble::of(&error, &self.at))
    }

    fn connection(&mut self) -> Result<&mut PgConnection, Trouble> {
        let none = || Trouble::Passing(format!("there is no connection to the database at {}", self.at));
        self.connection.as_mut().ok_or_else(none)
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

/// The statements with which a transaction begins whose statements end before `until`.
fn begin(until: Instant, constraints: Constraints) -> String {
    let constraints = match constraints {
        Constraints::AsDeclared => "",
        Constraints::AtOnce => "; set constraints all immediate",
    };
    format!("begin; set local statement_timeout = {}{constraints}", left(until).as_millis().max(1))
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// A time in words.
pub(crate) fn told(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The host, without the brackets that a URL has around some addresses.
fn host(options: &PgConnectOptions) -> &str {
    options.get_host().trim_start_matches('[').trim_end_matches(']')
}

fn place(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
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
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

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
            let store = Store::new(url).unwrap();
            let parsed = address.parse().unwrap();
            assert_eq!(store.addresses().unwrap(), [parsed]);
            assert_eq!((store.at(), store.place_of(parsed).as_str()), (address, address));
        }
        let store = Store::new("postgres://u:secret@db.internal/d").unwrap();
        assert_eq!(store.place_of("10.0.0.3:5432".parse().unwrap()), "db.internal:5432 (10.0.0.3)");
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind], &length.to_be_bytes()[..], body].concat()
    }

    /// The next message of the other side; the first one of a session has no kind before its length.
    fn heard(stream: &mut TcpStream, is_first: bool) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        stream.read_exact(&mut head[usize::from(is_first)..]).ok()?;
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
        let mut body = vec![0; usize::try_from(length).unwrap() - 4];
        stream.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    /// What a database that answers each query in that way says of a transaction that is begun and committed, and what it was asked.
    fn committed(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> (Result<(), Trouble>, Vec<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://u@{}/d", listener.local_addr().unwrap());
        let database = std::thread::spawn(move || {
            let mut asked = Vec::new();
            // One looks who is there, the other one stays.
            for _ in 0..2 {
                let mut stream = listener.accept().unwrap().0;
                heard(&mut stream, true).unwrap();
                stream.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat()).unwrap();
                while let Some((b'Q', query)) = heard(&mut stream, false) {
                    let query = String::from_utf8_lossy(&query).trim_end_matches('\0').to_owned();
                    stream.write_all(&answer(&query)).unwrap();
                    asked.push(query);
                }
            }
            asked
        });
        let mut store = Store::new(&url).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ended = runtime.block_on(async {
            store.begin(Instant::now() + Duration::from_secs(30), Constraints::AsDeclared).await?;
            store.commit().await
        });
        store.drop_connection();
        (ended, database.join().unwrap())
    }

    /// As PostgreSQL does: a commit of a transaction that has failed is no error, a savepoint in it is one.
    #[test]
    fn a_transaction_that_failed_without_a_word_is_not_taken_for_committed() {
        let (ended, asked) = committed(|query| match query {
            begin if begin.starts_with("begin;") => {
                [message(b'C', b"BEGIN\0"), message(b'C', b"SET\0"), message(b'Z', b"E")].concat()
            }
            savepoint if savepoint.starts_with("savepoint") => {
                let error = b"SERROR\0VERROR\0C25P02\0Mcurrent transaction is aborted\0\0";
                [message(b'E', error), message(b'Z', b"E")].concat()
            }
            _ => [message(b'C', b"ROLLBACK\0"), message(b'Z', b"I")].concat(),
        });
        assert!(
            matches!(&ended, Err(Trouble::Passing(told)) if told.ends_with("current transaction is aborted (SQLSTATE 25P02)")),
            "{ended:?}"
        );
        assert_eq!(asked[1..], [COMMIT.to_owned()]);
    }

    #[test]
    fn an_error_without_a_code_is_no_databases_word_and_worth_a_wait() {
        for (fields, words) in [
            (&b"\0"[..], "reports an error without an SQLSTATE"),
            (b"Mno\0\0", "without an SQLSTATE, in these words: no"),
            (b"Mno\0C\0\0", "without an SQLSTATE, in these words: no"),
            (b"Mno\0C28\0\0", "without an SQLSTATE, in these words: no"),
        ] {
            let (ended, _) = committed(|_| [message(b'E', fields), message(b'Z', b"I")].concat());
            assert!(matches!(&ended, Err(Trouble::Passing(told)) if told.ends_with(words)), "{ended:?}");
        }
    }

    /// Listens, and has the system take connections that nobody ever looks at.
    fn mute() -> TcpListener {
        TcpListener::bind("127.0.0.1:0").unwrap()
    }

    #[test]
    fn an_address_from_which_nothing_comes_back_leaves_time_to_the_others() {
        let (dead, alive) = (mute(), mute());
        let addresses = [dead.local_addr().unwrap(), alive.local_addr().unwrap()];
        let refusing = std::thread::spawn(move || {
            let mut stream = alive.accept().unwrap().0;
            stream.write_all(b"SSH-2.0-mill\r\n").unwrap();
            // Until the other side has read it and hangs up.
            drop(stream.read_to_end(&mut Vec::new()));
        });
        let store = Store::new("postgres://u@db.internal/d").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let begun = Instant::now();
        let connected = |addresses: &[SocketAddr]| {
            let until = Instant::now() + Duration::from_millis(900);
            runtime.block_on(store.connect(addresses, until)).map(drop).unwrap_err()
        };
        let Trouble::Passing(reason) = connected(&addresses) else { panic!("not passing") };
        let words = "what answers at db.internal:5432 (127.0.0.1) does not speak PostgreSQL's protocol";
        assert!(reason.starts_with(words) && reason.ends_with(r#"begins with "SSH-2.0-mill\r\n""#), "{reason}");
        refusing.join().unwrap();
        let Trouble::Passing(reason) = connected(&addresses[..1]) else { panic!("not passing") };
        let words = "nothing answered at db.internal:5432 (127.0.0.1) within 0.4 s";
        assert_eq!(reason, words);
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
