//! As much of PostgreSQL's protocol as it takes to run SQL and read rows as text, for a user who needs no password.
//!
//! Its own small client, not that of the plugin: what a witness says must not depend on what it looks at. It must not know what is
//! asked.

use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A row: its columns as text, `None` for null.
pub type Row = Vec<Option<String>>;

/// A question may wait for the locks of a batch.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// Version 3.0 of the protocol.
const VERSION: u32 = 3 << 16;

/// Connects, runs SQL, and returns the rows of its last statement.
pub(super) fn query(address: &str, user: &str, database: &str, sql: &str) -> Result<Vec<Row>> {
    let mut stream = TcpStream::connect(address).with_context(|| format!("cannot reach PostgreSQL at {address}"))?;
    stream.set_read_timeout(Some(ANSWER_WITHIN)).context("cannot limit the wait")?;
    let mut begin = VERSION.to_be_bytes().to_vec();
    for text in ["user", user, "database", database, ""] {
        begin.extend_from_slice(text.as_bytes());
        begin.push(0);
    }
    send(&mut stream, None, &begin)?;
    rows(&mut stream).context("PostgreSQL does not let the witness in")?;
    send(&mut stream, Some(b'Q'), &[sql.as_bytes(), &[0]].concat())?;
    rows(&mut stream).with_context(|| format!("PostgreSQL refuses {sql}"))
}

/// Reads what comes until the server waits for more, and returns the rows of the last statement.
fn rows(stream: &mut TcpStream) -> Result<Vec<Row>> {
    let (mut rows, mut error) = (Vec::new(), None);
    loop {
        let (kind, body) = receive(stream)?;
        match kind {
            // Columns are described before each statement's rows.
            b'T' => rows.clear(),
            b'D' => rows.push(row(&body).context("a row that ends too early")?),
            b'E' => error = Some(complaint(&body)),
            b'Z' => break,
            b'R' if body != [0; 4] => bail!("it wants a password"),
            // A FATAL error is the last thing that is said, and nobody waits for more after it.
            _ => {}
        }
        if kind == b'E' && error.as_deref().is_some_and(|error| error.starts_with("FATAL")) {
            break;
        }
    }
    error.map_or(Ok(rows), |error| bail!("{error}"))
}

/// Severity and message of an error, whose fields each begin with a letter and end with a zero.
fn complaint(body: &[u8]) -> String {
    let field = |letter: u8| {
        let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&letter));
        field.map_or(String::new(), |field| String::from_utf8_lossy(&field[1..]).into_owned())
    };
    format!("{}: {} (SQLSTATE {})", field(b'V'), field(b'M'), field(b'C'))
}

fn row(mut body: &[u8]) -> Option<Row> {
    let columns = u16::from_be_bytes(take(&mut body)?);
    let mut row = Row::with_capacity(usize::from(columns));
    for _ in 0..columns {
        // A negative length is null.
        row.push(match usize::try_from(i32::from_be_bytes(take(&mut body)?)) {
            Err(_) => None,
            Ok(length) => {
                let (text, rest) = body.split_at_checked(length)?;
                body = rest;
                Some(String::from_utf8_lossy(text).into_owned())
            }
        });
    }
    Some(row)
}

fn take<const N: usize>(body: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = body.split_first_chunk()?;
    *body = rest;
    Some(*first)
}

fn send(stream: &mut TcpStream, kind: Option<u8>, body: &[u8]) -> Result<()> {
    let length = u32::try_from(body.len() + 4).context("too long for PostgreSQL")?;
    let message = [kind.as_slice(), &length.to_be_bytes(), body].concat();
    stream.write_all(&message).context("cannot write to PostgreSQL")
}

fn receive(stream: &mut TcpStream) -> Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head).context("PostgreSQL hung up")?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
    let mut body = vec![0; usize::try_from(length).unwrap_or(usize::MAX).saturating_sub(4)];
    stream.read_exact(&mut body).context("PostgreSQL hung up in the middle of a message")?;
    Ok((head[0], body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_empty_stay_apart_in_a_row() {
        let body = [&[0, 3, 0, 0, 0, 2, b'a', b'b'][..], &[0xff; 4], &[0; 4]].concat();
        assert_eq!(row(&body), Some(vec![Some("ab".to_owned()), None, Some(String::new())]));
        assert_eq!(row(&body[..6]), None);
    }

    #[test]
    fn a_complaint_is_read_from_its_fields() {
        let body = b"SFEHLER\0VERROR\0C42P01\0Mrelation \"t\" does not exist\0\0";
        assert_eq!(complaint(body), "ERROR: relation \"t\" does not exist (SQLSTATE 42P01)");
    }
}
