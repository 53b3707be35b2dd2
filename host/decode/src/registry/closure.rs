//! A schema with all that it refers to, fetched within bounds, and compiled.
//!
//! It does not know what was fetched before: that is what the shelf is for.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::answer::{Fault, Reference, Registered};
use super::client::Client;
use super::settings::RegistrySettings;
use crate::avro::AvroSchema;
use crate::failure::short;
use crate::json_schema::JsonSchema;
use crate::protobuf::MessageFile;
use crate::stack::{STACK_BYTES, with_stack};
use crate::wire::SchemaId;

/// How much of a name is told.
const NAME_CHARS_MAX: usize = 80;

/// A schema that data can be read with.
#[derive(Debug)]
pub(crate) enum Schema {
    JsonSchema(JsonSchema),
    Avro(AvroSchema),
    Protobuf(MessageFile),
}

impl Schema {
    /// What it is written in.
    pub(crate) fn language(&self) -> &'static str {
        match self {
            Self::JsonSchema(_) => "JSON Schema",
            Self::Avro(_) => "Avro",
            Self::Protobuf(_) => "Protobuf",
        }
    }
}

/// A schema, and how many bytes of text it was made of.
pub(super) struct Fetched {
    pub(super) schema: Schema,
    pub(super) bytes: usize,
}

/// Fetches and compiles a schema.
///
/// # Errors
/// Why there is none.
pub(super) fn fetch(client: &Client, id: SchemaId, settings: &RegistrySettings) -> Result<Fetched, Fault> {
    let until = Instant::now() + settings.answer_time_max;
    let main = client.schema(id, left(client, until)?)?;
    let mut closure = Closure { client, settings, until, others: Vec::new(), places: HashMap::new() };
    for reference in &main.references {
        closure.add(reference, 1)?;
    }
    let bytes = closure.others.iter().map(|other| other.text.len()).sum::<usize>() + main.schema.len();
    // References lead into each other, and each is nested as deeply as it may be.
    let schema = with_stack(STACK_BYTES, || compile(&main, &closure.others)).map_err(Fault::unusable)?;
    Ok(Fetched { schema, bytes })
}

/// A schema that is referred to.
struct Other {
    name: String,
    text: String,
}

/// What is being fetched.
struct Closure<'a> {
    client: &'a Client,
    settings: &'a RegistrySettings,
    until: Instant,
    /// In the order in which they are complete: each after those that it refers to.
    others: Vec<Other>,
    /// Those that were begun, by subject, version and name.
    places: HashMap<(String, i64, String), Progress>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Begun,
    Complete,
}

impl Closure<'_> {
    /// Fetches what is referred to, at the end of a chain of so many references.
    fn add(&mut self, reference: &Reference, depth: usize) -> Result<(), Fault> {
        let Reference { name, subject, version } = reference;
        let place = (subject.clone(), *version, name.clone());
        let shown = || format!("version {version} of {}", short(subject, NAME_CHARS_MAX));
        match self.places.get(&place) {
            Some(Progress::Complete) => return Ok(()),
            Some(Progress::Begun) => return Err(Fault::unusable(format_args!("it refers in a circle to {}", shown()))),
            None => {}
        }
        if depth > self.settings.reference_depth_max {
            let max = self.settings.reference_depth_max;
            return Err(Fault::unusable(format_args!("it has a chain of more than {max} references")));
        }
        if self.places.len() == self.settings.references_max {
            let max = self.settings.references_max;
            return Err(Fault::unusable(format_args!("it refers to more than {max} schemas")));
        }
        self.places.insert(place.clone(), Progress::Begun);
        let registered =
            self.client.version(subject, *version, left(self.client, self.until)?).map_err(|fault| match fault {
                // The id is there, and what it stands for does not change: asking again in a second would not help.
                Fault::Missing(reason) => Fault::unusable(format_args!("it refers to {}: {reason}", shown())),
                Fault::Unusable(_) | Fault::Unavailable { .. } => fault,
            })?;
        for inner in &registered.references {
            self.add(inner, depth + 1)?;
        }
        self.places.insert(place, Progress::Complete);
        self.others.push(Other { name: name.clone(), text: registered.schema });
        Ok(())
    }
}

/// The time that is left.
fn left(client: &Client, until: Instant) -> Result<Duration, Fault> {
    let left = until.saturating_duration_since(Instant::now());
    let late = || {
        let site = client.site();
        Fault::unavailable(format_args!("the registry at {site} took too long for a schema with all that it refers to"))
    };
    Some(left).filter(|left| !left.is_zero()).ok_or_else(late)
}

fn compile(main: &Registered, others: &[Other]) -> Result<Schema, String> {
    let named: Vec<(&str, &str)> = others.iter().map(|other| (other.name.as_str(), other.text.as_str())).collect();
    if let Some((name, _)) = named.iter().find(|(name, text)| named.iter().any(|(n, t)| n == name && t != text)) {
        return Err(format!("it refers to two schemas by the name {}", short(name, NAME_CHARS_MAX)));
    }
    match main.language.as_str() {
        "AVRO" => {
            let mut texts: Vec<&str> = named.iter().map(|(_, text)| *text).collect();
            texts.sort_unstable();
            texts.dedup();
            AvroSchema::parse(&main.schema, &texts).map(Schema::Avro)
        }
        "PROTOBUF" => MessageFile::compile(&main.schema, &named).map(Schema::Protobuf),
        "JSON" => JsonSchema::parse(&main.schema, &named).map(Schema::JsonSchema),
        other => Err(format!("it is written in {}, which is not read here", short(other, NAME_CHARS_MAX))),
    }
}
