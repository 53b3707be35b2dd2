//! A file of message types, compiled from what a registry hands out: its source, or its descriptor in base64, as some serializers
//! register it.
//!
//! It does not know registries: sources are handed in, under the names by which they import each other.

use std::collections::HashMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use prost_reflect::FileDescriptor;
use prost_reflect::prost::Message as _;
use prost_reflect::prost_types::FileDescriptorProto;
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use super::message::MessageType;
use crate::failure::{short, with_causes};

/// How deeply brackets of a source may be nested: messages to 32 levels, and options in them. Deeper ones are refused before the
/// compiler sees them, since it follows some of them down.
const NESTING_MAX: usize = 64;

/// The name under which a source is compiled that others do not import.
const MAIN_FILE: &str = "gristmill/registered.proto";

/// What serializers of Confluent import without saying so.
const CONFLUENT_FILES: [(&str, &str); 2] = [
    ("confluent/meta.proto", include_str!("confluent/meta.proto")),
    ("confluent/type/decimal.proto", include_str!("confluent/decimal.proto")),
];

/// A compiled file.
#[derive(Debug)]
pub(crate) struct MessageFile(FileDescriptor);

impl MessageFile {
    /// Compiles a source or descriptor with those that it imports, each under its name. Google's and Confluent's own are known.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn compile(source: &str, imports: &[(&str, &str)]) -> Result<Self, String> {
        let mut sources: HashMap<String, Source> = HashMap::new();
        for (name, text) in CONFLUENT_FILES.iter().chain(imports).chain(&[(MAIN_FILE, source)]) {
            let source = match descriptor(text, name) {
                Some(descriptor) => Source::Descriptor(Box::new(descriptor)),
                None if nesting(text) > NESTING_MAX => {
                    return Err(format!("{} is nested deeper than {NESTING_MAX} levels", short(name, 80)));
                }
                None => Source::Text((*text).to_owned()),
            };
            sources.insert((*name).to_owned(), source);
        }
        let mut resolver = ChainFileResolver::new();
        resolver.add(Sources(sources));
        resolver.add(GoogleFileResolver::new());
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.include_imports(true);
        let compiled = compiler.open_file(MAIN_FILE).map(|compiler| compiler.descriptor_pool());
        let pool = compiled.map_err(|error| format!("it does not compile: {}", with_causes(&error)))?;
        pool.get_file_by_name(MAIN_FILE).map(Self).ok_or_else(|| "it compiles to nothing".to_owned())
    }

    /// The type at a place: the index of a message in the file, then of one inside of it, and so on.
    ///
    /// # Errors
    /// Says which place is not there.
    pub(crate) fn message(&self, place: &[usize]) -> Result<MessageType, String> {
        let missing = || format!("there is no message at the place {place:?} of the schema");
        let (first, inner) = place.split_first().ok_or_else(missing)?;
        let outermost = self.0.messages().nth(*first);
        let found = inner.iter().fold(outermost, |outer, index| outer?.child_messages().nth(*index));
        // The entries of maps have a place as well, but nobody sends one alone.
        found.filter(|message| !message.is_map_entry()).map(MessageType).ok_or_else(missing)
    }
}

/// How many brackets are open at once at most, with those in comments and strings.
fn nesting(source: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for byte in source.bytes() {
        match byte {
            b'{' | b'[' | b'(' | b'<' => open += 1,
            // What closes without having been opened stands in a comment: `->`.
            b'}' | b']' | b')' | b'>' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

/// The descriptor that a text is in base64, under a name by which others import it. No source is base64: that has no blanks inside of
/// a line, and no semicolons.
fn descriptor(text: &str, name: &str) -> Option<FileDescriptorProto> {
    let encoded: String = text.split_ascii_whitespace().collect();
    // Nothing at all is a source, of a file without messages.
    if encoded.is_empty() || text.trim().contains(' ') {
        return None;
    }
    let bytes = BASE64_STANDARD.decode(encoded).ok()?;
    let descriptor = FileDescriptorProto::decode(bytes.as_slice()).ok()?;
    // The name that it was compiled under is one of its writer's machine.
    Some(FileDescriptorProto { name: Some(name.to_owned()), ..descriptor })
}

/// What a registry hands out.
enum Source {
    Text(String),
    Descriptor(Box<FileDescriptorProto>),
}

/// Sources by name.
struct Sources(HashMap<String, Source>);

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let source = self.0.get(name).ok_or_else(|| protox::Error::file_not_found(name))?;
        match source {
            Source::Text(text) => File::from_source(name, text),
            Source::Descriptor(descriptor) => Ok(File::from_file_descriptor_proto((**descriptor).clone())),
        }
    }
}
