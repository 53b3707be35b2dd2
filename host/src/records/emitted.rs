//! An emitted record as people read it: what of a record's line it has, in the same notation, so that it reads back as a record.

use gristmill_guest::EmittedRecord;
use serde::Serialize;

use super::json_line::{HeaderLine, Text, left_out, written};

/// Key, value, headers and partition of an emitted record.
#[derive(Serialize)]
pub struct EmittedBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    partition: Option<i32>,
    #[serde(skip_serializing_if = "left_out")]
    key: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_b64: Option<String>,
    #[serde(skip_serializing_if = "left_out")]
    value: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_b64: Option<String>,
    headers: Vec<HeaderLine>,
}

impl EmittedBody {
    /// That of this record.
    #[must_use]
    pub fn of(record: &EmittedRecord) -> Self {
        let (key, key_b64) = written(record.key.as_deref());
        let (value, value_b64) = written(record.value.as_deref());
        let headers = record.headers.iter().map(|header| HeaderLine::of(&header.name, header.value.as_deref()));
        Self { partition: record.partition, key, key_b64, value, value_b64, headers: headers.collect() }
    }

    /// As one line, without a line feed.
    #[must_use]
    pub fn to_line(&self) -> String {
        // Strings, numbers and lists of them always have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use gristmill_guest::EmittedHeader;

    use super::*;
    use crate::records::read;

    #[test]
    fn what_is_written_reads_back_as_the_same_record() {
        let header =
            |name: &[u8], value: Option<&[u8]>| EmittedHeader { name: name.to_vec(), value: value.map(<[u8]>::to_vec) };
        let headers = vec![header(b"a", None), header(b"a", Some(b"")), header(b"\xff", Some(b"\n"))];
        for (key, value) in
            [(None, Some(Vec::new())), (Some(Vec::new()), None), (Some(vec![0xff]), Some(b"v".to_vec()))]
        {
            let record = EmittedRecord {
                sink: "out".into(),
                key,
                value,
                headers: headers.clone(),
                partition: Some(3),
                source: None,
            };
            let back = read("r.jsonl", EmittedBody::of(&record).to_line().as_bytes()).unwrap().remove(0);
            assert_eq!((back.key, back.value, back.partition), (record.key, record.value, 3));
            let back: Vec<_> = back.headers.into_iter().map(|header| (header.name, header.value)).collect();
            let wanted: Vec<_> = record.headers.into_iter().map(|header| (header.name, header.value)).collect();
            assert_eq!(back, wanted);
        }
    }
}
