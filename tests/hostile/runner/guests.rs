//! The bytes of each guest, and the records that it gets.
//!
//! Must not know how it has to end.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use gristmill_guest::{BatchSource, HeaderView, RecordView, Timestamp};

use crate::batch::{Batch, Header, Record};
use crate::component::component;
use crate::corpus::{Records, Row, folder};

/// The guest of a row, as the bytes of a file.
///
/// # Panics
///
/// When it is not there or is no WebAssembly text.
pub(crate) fn bytes(row: &Row) -> Vec<u8> {
    match row.guest.as_str() {
        "mischief" => mischief(),
        "caller" => built("gristmill_caller"),
        "forger" => built("gristmill_forger"),
        "core-as-a-component" => {
            let mut bytes = assembled(&text(&row.guest));
            bytes[4..8].copy_from_slice(&[0x0d, 0, 1, 0]);
            bytes
        }
        "names-of-50-megabytes" => named(50 << 20, 1),
        "names-of-30-megabytes" => named(30 << 20, 1),
        "a-million-names" => named(24 << 20, 1_000_000),
        file => of_file(file),
    }
}

/// A file of the corpus, as a component.
pub(crate) fn of_file(name: &str) -> Vec<u8> {
    assembled(&component(&text(name)))
}

fn text(name: &str) -> String {
    let path = folder().join(name).with_extension("wat");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn assembled(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The guest that misbehaves as told.
pub(crate) fn mischief() -> Vec<u8> {
    built("gristmill_mischief")
}

/// A guest of another language than WebAssembly text.
///
/// # Panics
///
/// When it is not built.
pub(crate) fn built(name: &str) -> Vec<u8> {
    let folder = std::env::var_os("GRISTMILL_GUESTS").map_or_else(xtask::plugins::folder, PathBuf::from);
    let path = folder.join(name).with_extension("wasm");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask plugins` first", path.display()))
}

/// The ordinary guest with so many bytes of names for its functions, shared out among so many names. What a name section holds is
/// no business of the engine, which shows names in the frames of a trap.
fn named(bytes: usize, names: usize) -> Vec<u8> {
    let each = (bytes / names).saturating_sub(8).max(1);
    let mut map = leb(names);
    for index in 0..names {
        map.extend(leb(index));
        map.extend(leb(each));
        map.extend(std::iter::repeat_n(b'n', each));
    }
    // The names of functions.
    let mut section = vec![1];
    section.extend(leb(map.len()));
    section.extend(map);
    let mut escaped = String::with_capacity(bytes + bytes / 2);
    for byte in section {
        if byte == b'n' {
            escaped.push('n');
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "\\{byte:02x}");
        }
    }
    assembled(&component(&format!("(module (@custom \"name\" (after last) \"{escaped}\"))")))
}

/// A number as WebAssembly writes it.
fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        bytes.push(if number == 0 { low } else { low | 0x80 });
        if number == 0 {
            return bytes;
        }
    }
}

/// A batch that is handed over again and again without being copied.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Batch>);

impl BatchSource for Shared {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn record(&self, index: usize) -> RecordView<'_> {
        self.0.record(index)
    }

    fn headers<'a>(&'a self, index: usize, headers: &mut Vec<HeaderView<'a>>) {
        self.0.headers(index, headers);
    }
}

/// The batch of a row, whose guest is told this.
pub(crate) fn batch(row: &Row, tell: &str) -> Shared {
    Shared(Arc::new(Batch::told_with(tell, records(row.batch))))
}

/// A batch of one record with this key.
pub(crate) fn told(key: &str) -> Shared {
    Shared(Arc::new(Batch::told(key)))
}

fn records(kind: Records) -> Vec<Record> {
    let header = |name: &[u8], value: Option<&[u8]>| -> Header { (name.to_vec(), value.map(<[u8]>::to_vec)) };
    match kind {
        Records::None => Vec::new(),
        Records::Two => (1..=2).map(Record::at).collect(),
        Records::TwoThousand => (1..=2_000).map(Record::at).collect(),
        Records::Null => vec![
            Record::at(1),
            Record { key: Some(Vec::new()), value: Some(Vec::new()), ..Record::at(2) },
            Record { headers: vec![header(b"", None), header(b"", Some(b""))], ..Record::at(3) },
        ],
        Records::HundredMegabytes => vec![Record { value: Some(vec![b'v'; 100_000_000]), ..Record::at(1) }],
        Records::HundredThousandHeaders => {
            vec![Record { headers: vec![header(b"name", Some(b"value")); 100_000], ..Record::at(1) }]
        }
        Records::Wild => vec![
            Record { headers: vec![header(b"\xff\xfe\x00", Some(b"1"))], ..Record::at(i64::MAX) },
            Record { timestamp: Timestamp::CreateTime(i64::MIN), partition: i32::MAX, ..Record::at(0) },
            Record {
                timestamp: Timestamp::LogAppendTime(i64::MAX),
                topic: "\u{202e}größe".to_owned(),
                ..Record::at(1)
            },
        ],
    }
}
