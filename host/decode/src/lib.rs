//! Turns the bytes of a key or value into what a plugin gets, or says why that cannot be done.
//!
//! | format | what the plugin gets | what is checked |
//! | --- | --- | --- |
//! | raw | the bytes as they are | nothing |
//! | utf8 | the bytes as they are | that they are UTF-8 |
//! | json | the bytes as they are | that they are one JSON text (RFC 8259) |
//! | json-schema | the JSON text | that it is one, and that it follows the schema |
//! | avro | a JSON text, see [`avro`] | that the datum is one of the schema, and that nothing is left over |
//! | protobuf | a JSON text, see [`protobuf`] | that it is a message of that type |
//!
//! Schemas come from a file, or from a schema registry ([`Registry`]) by the id that stands in front of each datum. A [`Decoder`]
//! is shared by threads and may keep its caller waiting for the registry, within bounds: it is no use on a thread that others
//! wait for.
//!
//! **Null is never given to a decoder.** A record without a value is not a record that cannot be decoded: its caller hands it on as
//! it is. The empty value is not null, and is decoded: it is not JSON, but it is a Protobuf message without fields.
//!
//! Nobody here knows records, topics, Kafka clients, plugins or what becomes of a record that does not decode.

#![forbid(unsafe_code)]

pub mod avro;
mod contain;
mod decoder;
mod failure;
mod format;
mod json;
mod json_schema;
mod json_text;
mod limits;
pub mod protobuf;
mod registry;
mod schema_file;
mod stack;
mod wire;

pub use decoder::Decoder;
pub use failure::{Failure, REASON_BYTES_MAX, Reason};
pub use format::{Format, FormatError, MessageSource, Source};
pub use limits::Limits;
pub use registry::{ReachError, Registry, RegistryAuth, RegistryError, RegistrySettings, Secret};
pub use stack::STACK_BYTES;
