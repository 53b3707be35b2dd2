//! What the bytes of a topic's keys or values are, in the words of whoever sets the pipeline up.
//!
//! It does not read schemas.

use std::path::PathBuf;

/// What keys or values are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Bytes, of which nothing is asked.
    Raw,
    /// Text in UTF-8.
    Utf8,
    /// One JSON text.
    Json,
    /// One JSON text that follows a schema.
    JsonSchema(Source),
    /// An Avro datum.
    Avro(Source),
    /// A Protobuf message.
    Protobuf(MessageSource),
}

/// Where the schema is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In this file: JSON Schema, or Avro's `.avsc`. The payload is the datum and nothing else.
    File(PathBuf),
    /// In the registry, under the id that stands in front of each datum.
    Registry,
}

/// Where the type of a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageSource {
    /// In a descriptor set, as `protoc --include_imports --descriptor_set_out` and `buf build -o` write them. The payload is the
    /// message and nothing else.
    File {
        /// The descriptor set.
        schema: PathBuf,
        /// The full name of the message: `shop.v1.Order`.
        message: String,
    },
    /// In the registry, under the id and the place in the file that stand in front of each message.
    Registry,
}

/// Why a format cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The schema file cannot be read.
    #[error("cannot read the schema {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// The schema file is read, but does not serve.
    #[error("cannot use the schema {}: {reason}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: crate::Reason,
    },
    /// Schemas are to come from a registry, and there is none.
    #[error("the schemas of this format come from a registry, and none is set up; set one up or name a schema file")]
    NoRegistry,
}
