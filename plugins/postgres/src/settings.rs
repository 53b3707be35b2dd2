//! The plugin's settings, read once into what can only be legal.
//!
//! It must not know how anything is written to a database.

use crate::cell::Kind;
use crate::place::Place;

/// What a setting's name begins with when it is a column.
const COLUMN: &str = "column.";

/// How many records one statement writes, unless said otherwise.
const CHUNK_RECORDS: usize = 1_000;

/// What to write where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The database, as a URL. Holds a password: not to be shown.
    pub(crate) database_url: String,
    /// The table's name, with its schema's in front where there is one.
    pub(crate) table: Vec<String>,
    /// The columns, in the order of their names.
    pub(crate) columns: Vec<Column>,
    /// What makes two records the same row.
    pub(crate) mode: Mode,
    /// What a record without a value means.
    pub(crate) tombstones: Tombstones,
    /// How many records one statement writes.
    pub(crate) chunk_records: usize,
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    /// Null where the record has nothing for it; otherwise such a record is rejected.
    pub(crate) optional: bool,
}

/// What makes two records the same row. Both hold the columns of the primary key, as places in the list of columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The same key: the later one replaces the earlier one.
    Key(Vec<usize>),
    /// The same topic, partition and offset: it is written already.
    Position(Vec<usize>),
}

/// What a record without a value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tombstones {
    /// It is rejected.
    Reject,
    /// It is done.
    Skip,
    /// The row of its key is deleted.
    Delete,
}

/// The settings as they were given.
#[derive(Default)]
struct Given {
    database_url: Option<String>,
    table: Option<String>,
    mode: Option<String>,
    key: Option<String>,
    tombstones: Option<String>,
    chunk_records: Option<String>,
    columns: Vec<Column>,
}

impl Settings {
    /// Reads settings by their names.
    ///
    /// # Errors
    ///
    /// Says which setting is missing, unknown or makes no sense, and what would.
    pub fn read(settings: impl IntoIterator<Item = (String, String)>) -> Result<Self, String> {
        let mut given = Given::default();
        for (name, text) in settings {
            given.take(&name, text)?;
        }
        given.columns.sort_by(|one, other| one.name.cmp(&other.name));
        let missing = |name: &str, what: &str| format!("the setting {name} is missing: {what}");
        let columns = given.columns;
        if columns.is_empty() {
            return Err(missing("column.NAME", "which columns are written? \"column.id\" = \"/id bigint\" is one"));
        }
        let database_url = given.database_url.ok_or_else(|| {
            missing("database_url", "a secret with expose = true, as in postgres://user:password@host:5432/database")
        })?;
        let table = given.table.ok_or_else(|| missing("table", "which table is written to?"))?;
        let mode =
            given.mode.ok_or_else(|| missing("mode", "\"key\" or \"position\" makes two records the same row"))?;
        let mode = mode_of(&mode, given.key.as_deref(), &columns)?;
        let tombstones = tombstones_of(given.tombstones.as_deref(), &mode, &columns)?;
        let chunk_records = given.chunk_records.map_or(Ok(CHUNK_RECORDS), |text| chunk_records_of(&text))?;
        Ok(Self { database_url, table: table_of(&table)?, columns, mode, tombstones, chunk_records })
    }

    /// The columns of the primary key.
    pub(crate) fn key(&self) -> &[usize] {
        let (Mode::Key(key) | Mode::Position(key)) = &self.mode;
        key
    }
}

impl Given {
    fn take(&mut self, name: &str, text: String) -> Result<(), String> {
        let slot = match name {
            "database_url" => &mut self.database_url,
            "table" => &mut self.table,
            "mode" => &mut self.mode,
            "key" => &mut self.key,
            "tombstones" => &mut self.tombstones,
            "chunk_records" => &mut self.chunk_records,
            other => match other.strip_prefix(COLUMN).filter(|column| !column.is_empty()) {
                Some(column) => {
                    self.columns.push(Column::read(column, &text)?);
                    return Ok(());
                }
                None => {
                    return Err(format!(
                        "there is no setting {other}; known are database_url, table, mode, key, tombstones, \
                         chunk_records and column.NAME"
                    ));
                }
            },
        };
        *slot = Some(text);
        Ok(())
    }
}

impl Column {
    /// Reads `PLACE TYPE` or `PLACE TYPE optional`. Only the place may hold blanks.
    fn read(name: &str, text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("the setting {COLUMN}{name} {why}");
        let (rest, optional) = match text.trim().strip_suffix(" optional") {
            Some(rest) => (rest.trim(), true),
            None => (text.trim(), false),
        };
        let (place, kind) = rest
            .rsplit_once(' ')
            .ok_or_else(|| wrong("needs a place and a type, as in \"/id bigint\" or \"/note text optional\""))?;
        let kinds = Kind::ALL.map(|(name, _)| name).join(", ");
        let kind = Kind::read(kind).ok_or_else(|| wrong(&format!("has no type {kind}; known are {kinds}")))?;
        let place = Place::read(place.trim()).map_err(|error| wrong(&format!("names no place: {error}")))?;
        Ok(Self { name: name.to_owned(), place, kind, optional })
    }
}

/// A name, or a schema's and a table's.
fn table_of(text: &str) -> Result<Vec<String>, String> {
    let parts: Vec<String> = text.split('.').map(str::to_owned).collect();
    if parts.len() > 2 || parts.iter().any(String::is_empty) {
        return Err(format!(
            "the setting table is {text:?}; write a name, or a schema and a name with a dot between them"
        ));
    }
    Ok(parts)
}

fn chunk_records_of(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=100_000).contains(number));
    number.ok_or_else(|| format!("the setting chunk_records is {text:?}, no number from 1 to 100000"))
}

fn mode_of(mode: &str, key: Option<&str>, columns: &[Column]) -> Result<Mode, String> {
    match (mode, key) {
        ("key", None) => {
            Err("mode = \"key\" needs the setting key: the columns of the primary key, as in \"id\"".to_owned())
        }
        ("key", Some(key)) => {
            let key: Result<Vec<usize>, String> = key.split(',').map(|name| key_column(name.trim(), columns)).collect();
            Ok(Mode::Key(key?))
        }
        ("position", Some(_)) => {
            Err("mode = \"position\" takes no setting key: topic, partition and offset are it".to_owned())
        }
        ("position", None) => {
            let key: Result<Vec<usize>, String> = [Place::Topic, Place::Partition, Place::Offset]
                .iter()
                .map(|place| {
                    let column = columns.iter().position(|column| column.place == *place);
                    column.ok_or_else(|| {
                        format!("mode = \"position\" needs a column for {place}, as in \"{place} {}\"", usual(place))
                    })
                })
                .collect();
            Ok(Mode::Position(key?))
        }
        (other, _) => Err(format!("the setting mode is {other:?}; write \"key\" or \"position\"")),
    }
}

/// The type that a column for such a place usually has.
fn usual(place: &Place) -> &'static str {
    if *place == Place::Topic { Kind::Text.name() } else { Kind::Bigint.name() }
}

fn key_column(name: &str, columns: &[Column]) -> Result<usize, String> {
    let found = columns.iter().position(|column| column.name == name);
    let at =
        found.ok_or_else(|| format!("the setting key names {name:?}, for which there is no setting {COLUMN}{name}"))?;
    let column = &columns[at];
    if column.optional {
        return Err(format!("the setting {COLUMN}{name} is optional, but a primary key has no null"));
    }
    match column.kind {
        // Of these, what is the same to PostgreSQL is written the same here.
        Kind::Text | Kind::Bigint | Kind::Boolean | Kind::Timestamptz => Ok(at),
        Kind::Double | Kind::Jsonb | Kind::Numeric => {
            let kind = column.kind.name();
            Err(format!("the setting {COLUMN}{name} is {kind}: a key is text, bigint, boolean or timestamptz"))
        }
    }
}

fn tombstones_of(text: Option<&str>, mode: &Mode, columns: &[Column]) -> Result<Tombstones, String> {
    match (text, mode) {
        (None | Some("reject"), _) => Ok(Tombstones::Reject),
        (Some("skip"), _) => Ok(Tombstones::Skip),
        (Some("delete"), Mode::Position(_)) => {
            Err("tombstones = \"delete\" needs mode = \"key\": by position every record is a row of its own".to_owned())
        }
        (Some("delete"), Mode::Key(key)) => match key.iter().find(|at| !columns[**at].place.is_of_key()) {
            None => Ok(Tombstones::Delete),
            Some(at) => Err(format!(
                "tombstones = \"delete\" needs the key from the record's key, but {COLUMN}{} is at {}: write @key or \
                 @key/POINTER",
                columns[*at].name, columns[*at].place
            )),
        },
        (Some(other), _) => {
            Err(format!("the setting tombstones is {other:?}; write \"reject\", \"skip\" or \"delete\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(settings.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
    }

    /// Settings that are whole, but for what is changed; an empty text takes a setting away.
    fn changed(changes: &[(&str, &str)]) -> Result<Settings, String> {
        let mut settings = vec![
            ("database_url", "postgres://u:p@127.0.0.1/d"),
            ("table", "orders"),
            ("mode", "key"),
            ("key", "id"),
            ("column.id", "@key bigint"),
            ("column.note", "/a note/text text optional"),
        ];
        for (name, text) in changes {
            settings.retain(|(known, _)| known != name);
            if !text.is_empty() {
                settings.push((name, text));
            }
        }
        read(&settings)
    }

    #[test]
    fn settings_are_read() {
        let settings = changed(&[("table", "shop.orders"), ("chunk_records", "50")]).unwrap();
        assert_eq!((settings.table.join("|"), settings.chunk_records), ("shop|orders".to_owned(), 50));
        assert_eq!((settings.mode, settings.tombstones), (Mode::Key(vec![0]), Tombstones::Reject));
        let place = Place::read("/a note/text").unwrap();
        let note = Column { name: "note".to_owned(), place, kind: Kind::Text, optional: true };
        assert_eq!(settings.columns[1], note);
        assert_eq!(changed(&[("tombstones", "delete")]).unwrap().tombstones, Tombstones::Delete);
    }

    #[test]
    fn a_position_is_three_columns() {
        let position = [
            ("mode", "position"),
            ("key", ""),
            ("column.t", "@topic text"),
            ("column.p", "@partition bigint"),
            ("column.o", "@offset bigint"),
        ];
        let settings = changed(&position).unwrap();
        let names: Vec<_> = settings.key().iter().map(|at| settings.columns[*at].name.as_str()).collect();
        assert_eq!(names, ["t", "p", "o"]);
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_with_the_way_out() {
        for (changes, words) in [
            (&[("database_url", "")][..], "database_url is missing: a secret with expose = true"),
            (&[("table", "")], "the setting table is missing"),
            (&[("table", "a.b.c")], "the setting table is \"a.b.c\""),
            (&[("mode", "")], "the setting mode is missing: \"key\" or \"position\""),
            (&[("mode", "upsert")], "the setting mode is \"upsert\""),
            (&[("key", "")], "needs the setting key"),
            (&[("key", "nr")], "there is no setting column.nr"),
            (&[("key", "id, note")], "column.note is optional, but a primary key has no null"),
            (&[("column.id", "@key double")], "column.id is double: a key is text, bigint"),
            (&[("column.id", "bigint")], "needs a place and a type"),
            (&[("column.id", "@key int")], "has no type int; known are text, bigint, double"),
            (&[("column.id", "@kay bigint")], "names no place: there is no @kay"),
            (&[("mode", "position")], "takes no setting key"),
            (&[("mode", "position"), ("key", "")], "needs a column for @topic, as in \"@topic text\""),
            (&[("tombstones", "ignore")], "the setting tombstones is \"ignore\""),
            (&[("tombstones", "delete"), ("column.id", "/id bigint")], "but column.id is at /id: write @key"),
            (&[("chunk_records", "0")], "no number from 1"),
            (&[("tabel", "x")], "there is no setting tabel; known are database_url"),
            (&[("column.id", ""), ("column.note", "")], "the setting column.NAME is missing"),
        ] {
            let error = changed(changes).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
