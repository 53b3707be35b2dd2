//! What went wrong at the database, and what follows from it for the batch.
//!
//! It must not know what was being done.

use std::io::{self, ErrorKind};

use gristmill_plugin::{Failure, Retry, fatal};
use sqlx::postgres::PgDatabaseError;

use crate::greeting::Unmet;

/// How much of the database's own words is told.
const WORDS_CHARS_MAX: usize = 300;

/// What went wrong, in words for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Time may help.
    Passing(String),
    /// Somebody has to change something.
    Lasting(String),
    /// It is about what was written: some record is to blame.
    Data(String),
}

impl Trouble {
    /// What an error of the driver means. `at` is the database's host and port.
    pub(crate) fn of(error: &sqlx::Error, at: &str) -> Self {
        match error {
            sqlx::Error::Database(error) => {
                let postgres = error.try_downcast_ref::<PgDatabaseError>();
                let hint = postgres.and_then(PgDatabaseError::hint);
                let code = error.code().filter(|code| is_sqlstate(code));
                code.map_or_else(
                    || Self::without_code(error.message(), at),
                    |code| Self::by_code(&code, error.message(), hint, at),
                )
            }
            sqlx::Error::Io(error) if error.kind() == ErrorKind::PermissionDenied => Self::denied(at),
            sqlx::Error::Io(error) => Self::Passing(format!("the connection to the database at {at} broke: {error}")),
            sqlx::Error::Configuration(error) => {
                Self::Lasting(format!("the setting database_url makes no sense: {error}"))
            }
            sqlx::Error::Tls(error) => {
                Self::Lasting(format!("the database at {at} wants TLS, which this plugin does not speak: {error}"))
            }
            other => Self::Passing(format!("the database at {at} was not understood: {other}")),
        }
    }

    /// Why there was no database at `at`. All but a denial may pass: something else answers for a database that moves or starts, too.
    pub(crate) fn of_greeting(unmet: &Unmet, at: &str) -> Self {
        match unmet {
            Unmet::Io(error) if error.kind() == ErrorKind::PermissionDenied => Self::denied(at),
            Unmet::Io(error) => Self::Passing(format!("there is no connection to the database at {at}: {error}")),
            Unmet::Mute => Self::Passing(format!(
                "what answers at {at} hung up without a word: if that is no PostgreSQL, correct host and port in database_url"
            )),
            Unmet::Foreign(words) => Self::Passing(format!(
                "what answers at {at} does not speak PostgreSQL's protocol, correct host and port in database_url; what it says \
                 begins with \"{words}\""
            )),
        }
    }

    /// Why the addresses of a host are not to be had.
    pub(crate) fn of_look_up(error: &io::Error, at: &str) -> Self {
        match error.kind() {
            ErrorKind::PermissionDenied => Self::denied(at),
            _ => Self::Passing(format!("the address of the database at {at} is not to be had: {error}")),
        }
    }

    fn denied(at: &str) -> Self {
        Self::Lasting(format!(
            "the host does not let this plugin reach the database at {at}: name its host and port in tcp of [plugin.grants], and \
             its range in addresses where that is a private one"
        ))
    }

    /// Every error of PostgreSQL has a code, so that this is somebody else's, or broken.
    fn without_code(message: &str, at: &str) -> Self {
        let words = if message.is_empty() { String::new() } else { format!(", in these words: {}", short(message)) };
        Self::Passing(format!(
            "the database at {at} was not understood: it reports an error without an SQLSTATE{words}"
        ))
    }

    /// By the five characters of an SQLSTATE, the first two of which are its class.
    fn by_code(code: &str, message: &str, hint: Option<&str>, at: &str) -> Self {
        let class = code.get(..2).unwrap_or_default();
        let told = |words: &str| format!("the database at {at} says: {} (SQLSTATE {code})", short(words));
        // The reason of a record goes to others than those who run this, and every database would refuse it.
        let of_record = |words: &str| format!("the database says: {} (SQLSTATE {code})", short(words));
        match (class, code) {
            (_, "57014") => Self::Passing(format!(
                "the database took longer than the batch may take: a smaller batch or a longer time in [plugin.limits] helps \
                 where that is no passing load; {}",
                told(message)
            )),
            // Lost connections, conflicts of transactions, resources, an operator, the system; a standby after a failover; a
            // transaction that has failed or is gone, and nobody said so.
            ("08" | "40" | "53" | "57" | "58" | "XX" | "26", _)
            | (_, "55P03" | "55006" | "25006" | "25P01" | "25P02" | "25P03" | "25P04") => Self::Passing(told(message)),
            // Values may stand in these words, in quotes.
            ("22" | "P0", _) => Self::Data(of_record(&without_quotes(message))),
            ("21" | "23" | "44" | "54", _) => Self::Data(of_record(message)),
            _ => Self::Lasting(format!("{}{}", told(message), way_out(class, code, hint))),
        }
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Passing(reason) => Retry::now().because(reason),
            Trouble::Lasting(reason) => fatal(reason),
            Trouble::Data(reason) => fatal(format!("no single record is to blame: {reason}")),
        }
    }
}

fn is_sqlstate(code: &str) -> bool {
    code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// What somebody can do about it.
fn way_out(class: &str, code: &str, hint: Option<&str>) -> String {
    let known = match (class, code) {
        ("28", _) => "check user and password in database_url, and what pg_hba.conf lets in",
        (_, "3D000") => "check the database in database_url",
        (_, "42P01") | ("3F", _) => {
            "create the table, or check the setting table: names count as they are written, capitals included"
        }
        (_, "42703") => {
            "add the column, or check the settings column.NAME: names count as they are written, capitals included"
        }
        (_, "42501") => "grant insert, update, select and, where rows are deleted, delete on the table to the user",
        (_, "42P10") => "the table needs a primary key or a unique index over just the columns of the key",
        (_, "42804") => "the type of a setting column.NAME is not that of the table's column",
        _ => hint.unwrap_or_default(),
    };
    if known.is_empty() { String::new() } else { format!("; {known}") }
}

/// Leaves out what stands in quotes, the first to the last.
fn without_quotes(message: &str) -> String {
    match (message.find('"'), message.rfind('"')) {
        (Some(first), Some(last)) if first < last => format!("{}\"…\"{}", &message[..first], &message[last + 1..]),
        _ => message.to_owned(),
    }
}

fn short(words: &str) -> String {
    match words.char_indices().nth(WORDS_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    const AT: &str = "db:5432";

    #[test]
    fn what_time_may_heal_is_passing() {
        for code in [
            "08006", "40001", "40P01", "53300", "57P01", "57P03", "57014", "58030", "55P03", "25006", "25P01", "25P02",
            "XX000",
        ] {
            assert!(matches!(Trouble::by_code(code, "m", None, AT), Trouble::Passing(_)), "{code}");
        }
        let broken = sqlx::Error::Io(io::Error::from(ErrorKind::ConnectionReset));
        assert!(
            matches!(Trouble::of(&broken, AT), Trouble::Passing(reason) if reason.contains("the connection to the database at db:5432 broke"))
        );
    }

    #[test]
    fn what_a_record_is_to_blame_for_is_data_and_its_values_are_not_shown() {
        for code in ["22003", "22P02", "23502", "23505", "23514", "21000", "54000", "P0001"] {
            assert!(matches!(Trouble::by_code(code, "m", None, AT), Trouble::Data(_)), "{code}");
        }
        let Trouble::Data(told) =
            Trouble::by_code("22P02", "invalid input syntax for type inet: \"sec\"ret\"", None, AT)
        else {
            panic!("no data")
        };
        assert_eq!(told, "the database says: invalid input syntax for type inet: \"…\" (SQLSTATE 22P02)");
        assert!(
            matches!(Trouble::by_code("23514", "violates \"c\"", None, AT), Trouble::Data(told) if told.contains("\"c\""))
        );
    }

    #[test]
    fn what_somebody_has_to_change_names_the_way_out() {
        for (code, words) in [
            ("28P01", "check user and password"),
            ("3D000", "check the database"),
            ("42P01", "create the table"),
            ("42703", "add the column"),
            ("42501", "grant insert"),
            ("42P10", "unique index"),
            ("42883", "; try a cast"),
        ] {
            let trouble = Trouble::by_code(code, "m", Some("try a cast"), AT);
            assert!(
                matches!(&trouble, Trouble::Lasting(told) if told.contains(words) && told.contains(AT)),
                "{trouble:?}"
            );
        }
        let denied = sqlx::Error::Io(io::Error::from(ErrorKind::PermissionDenied));
        assert!(
            matches!(Trouble::of(&denied, AT), Trouble::Lasting(told) if told.contains("db:5432: name its host and port in tcp of [plugin.grants]"))
        );
    }

    #[test]
    fn who_is_no_database_is_told_by_its_place_and_its_own_words() {
        let foreign = Trouble::of_greeting(&Unmet::Foreign("SSH-2.0".to_owned()), AT);
        let words = "what answers at db:5432 does not speak PostgreSQL's protocol, correct host and port in database_url; what it \
                     says begins with \"SSH-2.0\"";
        assert_eq!(foreign, Trouble::Passing(words.to_owned()));
        for unmet in [Unmet::Mute, Unmet::Io(io::Error::from(ErrorKind::ConnectionRefused))] {
            let trouble = Trouble::of_greeting(&unmet, AT);
            assert!(matches!(&trouble, Trouble::Passing(told) if told.contains(AT)), "{trouble:?}");
        }
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        for trouble in [Trouble::of_look_up(&denied, AT), Trouble::of_greeting(&Unmet::Io(denied), AT)] {
            assert!(matches!(&trouble, Trouble::Lasting(told) if told.contains("[plugin.grants]")), "{trouble:?}");
        }
    }

    #[test]
    fn long_words_are_cut() {
        let Trouble::Lasting(told) = Trouble::by_code("42601", &"x".repeat(10_000), None, AT) else {
            panic!("not lasting")
        };
        assert!(told.len() < 400, "{}", told.len());
    }
}
