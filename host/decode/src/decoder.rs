//! One format, ready for use.
//!
//! It does not know how schemas are fetched, nor what becomes of what does not decode.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::avro::{self, AvroSchema};
use crate::contain::contained;
use crate::failure::Failure;
use crate::format::{Format, FormatError, MessageSource, Source};
use crate::json;
use crate::json_schema::JsonSchema;
use crate::limits::Limits;
use crate::protobuf::{self, MessageType};
use crate::registry::{Registry, Schema};
use crate::stack::{STACK_BYTES, with_stack};
use crate::{Reason, schema_file, wire};

/// Decodes keys or values of one format. Threads may share it.
#[derive(Debug)]
pub struct Decoder {
    stage: Stage,
    limits: Limits,
}

#[derive(Debug)]
enum Stage {
    Raw,
    Utf8,
    Json,
    JsonSchema(JsonSchema),
    Avro(AvroSchema),
    Protobuf(MessageType),
    /// The schema comes with the id of each datum, and has to be one of this language.
    Registered(Arc<Registry>, Language),
}

/// What a schema is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    JsonSchema,
    Avro,
    Protobuf,
}

impl Decoder {
    /// Reads and compiles the schema file, if the format has one. The registry is asked when the first datum comes.
    ///
    /// # Errors
    /// A schema file that cannot be read or used; a format that needs a registry where there is none.
    pub fn new(format: &Format, registry: Option<&Arc<Registry>>, limits: Limits) -> Result<Self, FormatError> {
        let registered = |language| {
            let registry = registry.ok_or(FormatError::NoRegistry)?;
            Ok(Stage::Registered(Arc::clone(registry), language))
        };
        let stage = match format {
            Format::Raw => Stage::Raw,
            Format::Utf8 => Stage::Utf8,
            Format::Json => Stage::Json,
            Format::JsonSchema(Source::File(path)) => {
                Stage::JsonSchema(from_file(path, schema_file::read_text, |text| JsonSchema::parse(&text, &[]))?)
            }
            Format::Avro(Source::File(path)) => {
                Stage::Avro(from_file(path, schema_file::read_text, |text| AvroSchema::parse(&text, &[]))?)
            }
            Format::Protobuf(MessageSource::File { schema, message }) => {
                Stage::Protobuf(from_file(schema, schema_file::read, |set| MessageType::in_set(&set, message))?)
            }
            Format::JsonSchema(Source::Registry) => registered(Language::JsonSchema)?,
            Format::Avro(Source::Registry) => registered(Language::Avro)?,
            Format::Protobuf(MessageSource::Registry) => registered(Language::Protobuf)?,
        };
        Ok(Self { stage, limits })
    }

    /// True when bytes pass as they are: there is no need to call [`Self::decode`].
    #[must_use]
    pub fn is_raw(&self) -> bool {
        matches!(self.stage, Stage::Raw)
    }

    /// True when a datum may need the registry, and a caller may have to wait for it.
    #[must_use]
    pub fn asks_registry(&self) -> bool {
        matches!(self.stage, Stage::Registered(..))
    }

    /// What the plugin gets for these bytes: the bytes themselves, where the format keeps them, without a copy.
    ///
    /// `read_at` is a time at which the record was read already, as that of the fetch it came with. Whether a schema is unknown is
    /// judged by an answer that was asked for after it: one from before may be older than the schema.
    ///
    /// With a registry this may wait: for the registry's answer as long as its time limits allow, and up to a second where the id
    /// was asked for just before.
    ///
    /// # Errors
    /// What is wrong with the bytes, or why their schema cannot be had now.
    pub fn decode<'a>(&self, bytes: &'a [u8], read_at: Instant) -> Result<Cow<'a, [u8]>, Failure> {
        let kept = |checked: Result<(), String>| checked.map(|()| Cow::Borrowed(bytes));
        let decoded = match &self.stage {
            Stage::Raw => Ok(Cow::Borrowed(bytes)),
            Stage::Utf8 => kept(json::check_utf8(bytes).map(|_| ())),
            Stage::Json => kept(json::check(bytes, self.limits)),
            Stage::JsonSchema(schema) => kept(schema.check(bytes, self.limits)),
            Stage::Avro(schema) => {
                avro::decode(schema, bytes, self.limits).map(Cow::Owned).map_err(|reason| hinted(reason, bytes))
            }
            Stage::Protobuf(message) => {
                protobuf::decode(message, bytes, self.limits).map(Cow::Owned).map_err(|reason| hinted(reason, bytes))
            }
            Stage::Registered(registry, language) => {
                return self.decode_registered(registry, *language, bytes, read_at);
            }
        };
        decoded.map_err(Failure::undecodable)
    }

    fn decode_registered<'a>(
        &self,
        registry: &Registry,
        language: Language,
        bytes: &'a [u8],
        read_at: Instant,
    ) -> Result<Cow<'a, [u8]>, Failure> {
        let (id, rest) = wire::split(bytes).map_err(Failure::undecodable)?;
        let schema = registry.schema(id, read_at)?;
        let decoded = match (&*schema, language) {
            (Schema::JsonSchema(schema), Language::JsonSchema) => {
                schema.check(rest, self.limits).map(|()| Cow::Borrowed(rest))
            }
            (Schema::Avro(schema), Language::Avro) => avro::decode(schema, rest, self.limits).map(Cow::Owned),
            (Schema::Protobuf(file), Language::Protobuf) => {
                wire::split_message_indexes(rest).and_then(|(place, rest)| {
                    let message = file.message(&place)?;
                    protobuf::decode(&message, rest, self.limits).map(Cow::Owned)
                })
            }
            (Schema::JsonSchema(_) | Schema::Avro(_) | Schema::Protobuf(_), _) => {
                Err(format!("it is {}, and {} is expected", schema.language(), language.name()))
            }
        };
        decoded.map_err(|reason| Failure::undecodable(format_args!("with schema {}: {reason}", id.0)))
    }
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::JsonSchema => "JSON Schema",
            Self::Avro => "Avro",
            Self::Protobuf => "Protobuf",
        }
    }
}

/// The reason with a hint, where a schema file is what is wrong. Data of another schema may begin so as well: hence a question.
fn hinted(reason: String, bytes: &[u8]) -> String {
    if !wire::may_be_framed(bytes) {
        return reason;
    }
    format!("{reason}; it begins as what a serializer with a schema registry writes: leave the schema file out?")
}

/// Reads a schema file and makes something of it.
fn from_file<B, T>(
    path: &Path,
    read: impl FnOnce(&Path) -> std::io::Result<B>,
    parse: impl FnOnce(B) -> Result<T, String>,
) -> Result<T, FormatError> {
    let content = read(path).map_err(|source| FormatError::Read { path: path.to_owned(), source })?;
    let parsed = contained(|| with_stack(STACK_BYTES, || parse(content)))
        .unwrap_or_else(|| Err("it breaks the parser".to_owned()));
    parsed.map_err(|reason| FormatError::Schema { path: path.to_owned(), reason: Reason::new(reason) })
}
