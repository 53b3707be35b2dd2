//! Looks at what answers at an address before the driver does. The driver asks for as much memory as the first length says that it
//! reads, and stumbles over messages that are too short: a server that speaks something else would be the end of the instance, not of
//! a connection.
//!
//! It must not know what the database is wanted for.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use sqlx::postgres::PgConnectOptions;
use tokio::net::TcpStream;

/// What a database says first is a question for a password or an error about the start: some hundred bytes.
const FIRST_MESSAGE_BYTES_MAX: usize = 16 << 10;

/// How much is told of what somebody else says.
const TOLD_BYTES_MAX: usize = 60;

/// Version 3.0 of the protocol.
const VERSION: u32 = 3 << 16;

/// Ends a session.
const TERMINATE: [u8; 5] = [b'X', 0, 0, 0, 4];

/// Why there is no database.
#[derive(Debug)]
pub(crate) enum Unmet {
    /// There is no connection.
    Io(io::Error),
    /// There is one, and it was ended before a word was said.
    Mute,
    /// Somebody says what no database says. How that begins, escaped.
    Foreign(String),
}

/// What an answer is, by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// There is too little of it to know.
    Open,
    /// A database's, which lets us in at once.
    Welcome,
    /// A database's.
    Database,
    /// Somebody else's.
    Foreign,
}

/// Begins a session as the driver will, reads the first message, and hangs up: a database makes no word of that.
pub(crate) async fn greet(address: SocketAddr, options: &PgConnectOptions) -> Result<(), Unmet> {
    let stream = TcpStream::connect(address).await.map_err(Unmet::Io)?;
    // Who is no database may have hung up, and have said why before.
    drop(write(&stream, &startup(options)).await);
    let mut heard = Vec::new();
    loop {
        match beginning(&heard) {
            Beginning::Open => {}
            Beginning::Welcome => {
                // So that it does not look like a session that was lost.
                drop(write(&stream, &TERMINATE).await);
                return Ok(());
            }
            Beginning::Database => return Ok(()),
            Beginning::Foreign => return Err(foreign(&heard)),
        }
        // Who hangs up before it has read what we said, resets the connection: that is an error, not an end.
        match (read(&stream, &mut heard).await, heard.is_empty()) {
            (Ok(1..), _) => {}
            (Ok(0) | Err(_), false) => return Err(foreign(&heard)),
            (Ok(0) | Err(_), true) => return Err(Unmet::Mute),
        }
    }
}

fn foreign(heard: &[u8]) -> Unmet {
    Unmet::Foreign(heard[..heard.len().min(TOLD_BYTES_MAX)].escape_ascii().to_string())
}

async fn write(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads what there is behind what was heard. 0: there will be no more.
async fn read(stream: &TcpStream, heard: &mut Vec<u8>) -> io::Result<usize> {
    let mut piece = [0; 1024];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut piece) {
            Ok(count) => {
                heard.extend_from_slice(&piece[..count]);
                return Ok(count);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// The message with which a session begins.
fn startup(options: &PgConnectOptions) -> Vec<u8> {
    let user = options.get_username();
    let pairs = [
        ("user", Some(user)),
        ("database", Some(options.get_database().unwrap_or(user))),
        ("application_name", options.get_application_name()),
    ];
    let mut body = VERSION.to_be_bytes().to_vec();
    for (name, value) in pairs {
        let Some(value) = value else { continue };
        for text in [name, value] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    // The length counts itself.
    let length = u32::try_from(body.len() + 4).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), body.as_slice()].concat()
}

fn beginning(bytes: &[u8]) -> Beginning {
    let Some((kind, rest)) = bytes.split_first() else { return Beginning::Open };
    // How to prove who we are, an error, a notice.
    let body_bytes_min = match kind {
        b'R' => 4,
        b'E' | b'N' => 1,
        _ => return Beginning::Foreign,
    };
    let Some((length, body)) = rest.split_first_chunk() else { return Beginning::Open };
    // The length counts itself.
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if !(4 + body_bytes_min..=FIRST_MESSAGE_BYTES_MAX).contains(&length) {
        return Beginning::Foreign;
    }
    let Some(body) = body.get(..length - 4) else { return Beginning::Open };
    let sound = match (kind, body) {
        (b'R', [0, 0, 0, 0]) => return Beginning::Welcome,
        // With MD5 comes a salt.
        (b'R', [0, 0, 0, 5, rest @ ..]) => rest.len() == 4,
        (b'R', [0, 0, 0, 10, rest @ ..]) => rest.ends_with(&[0, 0]),
        (b'R', [0, 0, 0, _, ..]) => true,
        (b'R', _) => false,
        // Errors and notices are texts, the last of which is empty.
        (_, body) => body.ends_with(&[0]),
    };
    if sound { Beginning::Database } else { Beginning::Foreign }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind], &length.to_be_bytes()[..], body].concat()
    }

    #[test]
    fn what_a_database_says_first_is_known() {
        let scram = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        let error = message(b'E', b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0");
        for (whole, is) in [
            (scram, Beginning::Database),
            (message(b'R', b"\0\0\0\x03"), Beginning::Database),
            (message(b'R', b"\0\0\0\x05salt"), Beginning::Database),
            (message(b'R', b"\0\0\0\0"), Beginning::Welcome),
            (error, Beginning::Database),
            (message(b'N', b"SNOTICE\0\0"), Beginning::Database),
        ] {
            for end in 0..whole.len() {
                assert_eq!(beginning(&whole[..end]), Beginning::Open, "{end} of {}", whole.escape_ascii());
            }
            assert_eq!(beginning(&whole), is, "{}", whole.escape_ascii());
            assert_eq!(beginning(&[&whole, &b"S\0\0"[..]].concat()), is, "{}", whole.escape_ascii());
        }
    }

    #[test]
    fn what_no_database_says_is_somebody_else() {
        for bytes in [
            &b"HTTP/1.1 400 Bad Request\r\n"[..],
            b"SSH-2.0-OpenSSH_9.6\r\n",
            b"\x15\x03\x01\x00\x02\x02\x46",
            b"220 mail.example.com ESMTP\r\n",
            b"J\0\0\0\n8.0.36\0",
            b"R\xff\xff\xff\xff",
            b"R\0\0\0\0",
            b"R\0\0\0\x04",
            b"R\0\0\0\x07\0\0\0",
            b"R\0\0\0\x08\x01\0\0\0",
            b"R\0\0\0\x08\0\0\0\x05",
            b"R\0\0\0\x0c\0\0\0\x0aSCRA",
            b"RTSP/1.0 400 Bad Request\r\n",
            b"E\0\0\0\x04",
            b"E\0\0\0\x06ab",
            b"Error: what do you want?\n",
            b"N\x7f\xff\xff\xff",
        ] {
            assert_eq!(beginning(bytes), Beginning::Foreign, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_session_begins_with_who_wants_in_and_without_the_password() {
        let options: PgConnectOptions = "postgres://u:secret@127.0.0.1/d?application_name=a".parse().unwrap();
        let expected = b"\0\0\0\x2e\0\x03\0\0user\0u\0database\0d\0application_name\0a\0\0";
        assert_eq!(startup(&options).escape_ascii().to_string(), expected.escape_ascii().to_string());
    }
}
