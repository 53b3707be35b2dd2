//! What Protobuf becomes: the canonical JSON of proto3, compact.
//!
//! | Protobuf | JSON |
//! | --- | --- |
//! | field names | in lowerCamelCase, or the `json_name` of the schema |
//! | int32, uint32, fixed32 … | a number |
//! | int64, uint64, fixed64 … | a string: `"9007199254740993"` |
//! | float, double | a number; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | bytes | a string in base64 |
//! | enum | the name of its value; the number, where the schema has no name for it |
//! | repeated, map | array, object |
//! | Timestamp, Duration | `"2026-01-31T12:00:00Z"`, `"1.500s"` |
//! | Struct, Value, ListValue | the JSON that they stand for |
//! | wrappers (Int32Value …) | the value alone; one that is no finite number becomes null |
//! | Any | its message with `"@type"` in front, if the schema holds its type; else the record does not decode |
//!
//! A field that is not set, or that has its default value and no presence of its own, is left out, as the mapping says. So are
//! fields that the schema does not know. Proto2 and editions are read as well.
//!
//! The crate `prost-reflect` decodes and writes; `protox` compiles what a registry hands out, which is source text.

mod file;
mod message;

pub(crate) use file::MessageFile;
pub(crate) use message::{MessageType, decode};
