//! Topics whose values are JSON or Avro, to measure what decoding them costs.

use gristmill_tests::{Loaded, TemporaryFolder, create_topic, load_values, unique, varint};

use crate::PARTITIONS;

/// What the values of the Avro topic are.
const SCHEMA: &str =
    r#"{"type":"record","name":"Order","fields":[{"name":"number","type":"long"},{"name":"text","type":"string"}]}"#;

/// The length of the text in each value.
const TEXT_BYTES: usize = 90;

/// A topic, what was put there, and the section that says what its values are.
pub(crate) struct Encoded {
    pub(crate) topic: String,
    pub(crate) loaded: Loaded,
    pub(crate) section: String,
    /// Where the schema lies.
    _folder: TemporaryFolder,
}

/// Values in JSON, of which nothing has to be made.
pub(crate) fn json(bootstrap: &str, each: u64) -> Encoded {
    let value = |number: i64| format!(r#"{{"number":{number},"text":"{number:0TEXT_BYTES$}"}}"#).into_bytes();
    encoded(bootstrap, each, "json", "", value)
}

/// Values in Avro, which become such JSON.
pub(crate) fn avro(bootstrap: &str, each: u64) -> Encoded {
    let value = |number: i64| {
        let text = format!("{number:0TEXT_BYTES$}");
        let mut datum = varint(number);
        datum.extend(varint(text.len() as i64));
        datum.extend(text.into_bytes());
        datum
    };
    encoded(bootstrap, each, "avro", "value_schema", value)
}

fn encoded(bootstrap: &str, each: u64, format: &str, key: &str, value: impl Fn(i64) -> Vec<u8>) -> Encoded {
    let topic = unique(&format!("bench-{format}"));
    create_topic(bootstrap, &topic, PARTITIONS);
    let mut loaded = Loaded { partitions: (0..PARTITIONS).map(|partition| (partition, 0..0)).collect() };
    load_values(bootstrap, &topic, &mut loaded, each, "none", value);
    let folder = TemporaryFolder::new();
    let path = folder.write("schema", SCHEMA).display().to_string();
    let schema = if key.is_empty() { String::new() } else { format!("{key} = {path:?}\n") };
    let section = format!("[topics.{topic:?}]\nvalue_format = {format:?}\n{schema}");
    Encoded { topic, loaded, section, _folder: folder }
}
