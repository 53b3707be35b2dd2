//! One type of message, and what its bytes become.
//!
//! It does not know framing.

use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};

use crate::contain::contained;
use crate::failure::{short, with_causes};
use crate::json_text::{JsonText, SerializeInto, Shallow};
use crate::limits::Limits;
use crate::stack::{WALK_BYTES, with_stack};

/// How many types are named where one is missing.
const NAMED_MAX: usize = 8;

/// Why a message has no JSON, where it is not for its size.
const NO_JSON: &str = "it holds a well-known type out of its range, or an Any of a type that the schema does not have";

/// How much of a name is told.
const NAME_CHARS_MAX: usize = 80;

/// A type of message.
#[derive(Clone, Debug)]
pub(crate) struct MessageType(pub(super) MessageDescriptor);

impl MessageType {
    /// The type of that name in a descriptor set.
    ///
    /// # Errors
    /// Bytes that are no descriptor set; a name that is not in it.
    pub(crate) fn in_set(set: &[u8], name: &str) -> Result<Self, String> {
        let pool = DescriptorPool::decode(set)
            .map_err(|error| format!("it is not a descriptor set with all of its imports: {}", with_causes(&error)))?;
        pool.get_message_by_name(name.trim_start_matches('.')).map(Self).ok_or_else(|| {
            let is_own =
                |message: &MessageDescriptor| !message.is_map_entry() && message.package_name() != "google.protobuf";
            let named: Vec<_> = pool.all_messages().filter(is_own).collect();
            let some = named.iter().take(NAMED_MAX).map(|message| short(message.full_name(), NAME_CHARS_MAX));
            let some = some.collect::<Vec<_>>().join(", ");
            let more = if named.len() > NAMED_MAX { " …" } else { "" };
            format!("it has no message {}; it has {some}{more}", short(name, NAME_CHARS_MAX))
        })
    }
}

/// The JSON text of a message.
///
/// # Errors
/// Says what is wrong with it.
pub(crate) fn decode(message: &MessageType, bytes: &[u8], limits: Limits) -> Result<Vec<u8>, String> {
    let work = || with_stack(WALK_BYTES, || decoded(message, bytes, limits));
    contained(work).unwrap_or_else(|| Err("it breaks the decoder".to_owned()))
}

fn decoded(message: &MessageType, bytes: &[u8], limits: Limits) -> Result<Vec<u8>, String> {
    let name = || short(message.0.full_name(), NAME_CHARS_MAX);
    let dynamic = DynamicMessage::decode(message.0.clone(), bytes)
        .map_err(|error| format!("it is not a Protobuf message {}: {error}", name()))?;
    let mut text = JsonText::new(bytes.len(), limits);
    text.push_nested(&dynamic).map_err(|error| {
        // The text's own bounds. Other errors may hold what the message says, as the name of the type of an Any.
        let why = if error.is_io() { error.to_string() } else { NO_JSON.to_owned() };
        format!("its message {} is no JSON: {why}", name())
    })?;
    Ok(text.into_bytes())
}

impl SerializeInto for DynamicMessage {
    fn serialize_into(
        &self,
        serializer: &mut serde_json::Serializer<&mut JsonText, Shallow>,
    ) -> Result<(), serde_json::Error> {
        self.serialize_with_options(serializer, &SerializeOptions::new())
    }
}
