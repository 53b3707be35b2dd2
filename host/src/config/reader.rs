//! Reads a tree into serde types, and keeps path and place of whatever does not fit.
//!
//! It knows no key of the configuration. Text from flags and variables is read as what the type wants.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::shape::ShapeError;
use super::tree::{Entry, KeyPath, Node, Value};

/// How a list is written in a flag or variable.
const LIST: &str = "a list in TOML's notation, such as [\"a\", \"b\"] or [{ key = \"value\" }], or words as in a,b";

/// Reads one node.
pub(crate) struct Reader<'n> {
    node: &'n Node,
    path: KeyPath,
}

impl<'n> Reader<'n> {
    /// Reads a whole tree.
    pub(crate) fn new(node: &'n Node) -> Self {
        Self { node, path: KeyPath::default() }
    }

    /// What a flag or variable says, as a value: a list or a table in TOML's notation, a number, a truth, else text.
    fn loose(text: &str) -> Option<Value> {
        let text = text.trim();
        if text == "true" || text == "false" {
            return Some(Value::Bool(text == "true"));
        }
        if let Ok(number) = text.replace('_', "").parse() {
            return Some(Value::Integer(number));
        }
        text.parse().ok().map(Value::Float)
    }

    fn visit_scalar<V: Visitor<'n>>(value: &'n Value, visitor: V) -> Result<V::Value, ShapeError> {
        match value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(truth) => visitor.visit_bool(*truth),
            Value::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
                (Ok(number), _) => visitor.visit_u64(number),
                (_, Ok(number)) => visitor.visit_i64(number),
                (Err(_), Err(_)) => visitor.visit_i128(*number),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Text(text) | Value::Loose(text) => visitor.visit_str(text),
            Value::List(_) | Value::Table(_) => Err(ShapeError::wrong_kind("one value")),
        }
    }

    fn visit_entries<V: Visitor<'n>>(&self, entries: &'n [Entry], visitor: V) -> Result<V::Value, ShapeError> {
        visitor.visit_map(Entries { entries: entries.iter(), value: None, path: &self.path })
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ShapeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        let result = match &self.node.value {
            Value::List(items) => visitor.visit_seq(Items { items: items.iter().enumerate(), path: &self.path }),
            Value::Table(entries) => self.visit_entries(entries, visitor),
            scalar => Self::visit_scalar(scalar, visitor),
        };
        result.map_err(|error| error.at(&self.path, self.node))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        if self.node.value == Value::Null { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ShapeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        let result = match &self.node.value {
            Value::Text(word) | Value::Loose(word) => {
                let word: StrDeserializer<'_, ShapeError> = word.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            _ => Err(ShapeError::wrong_kind("a word")),
        };
        result.map_err(|error| error.at(&self.path, self.node))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        let Value::Loose(text) = &self.node.value else { return self.deserialize_any(visitor) };
        if text.trim_start().starts_with(['[', '{']) {
            // A list that is not closed or otherwise broken, or a table outside of one: no topic is called like that.
            return Err(ShapeError::wrong_kind(LIST).at(&self.path, self.node));
        }
        let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        let list = serde::de::value::SeqDeserializer::<_, ShapeError>::new(words.into_iter());
        // Words, where each item is a table.
        let told = |error: ShapeError| if error.wants_table() { ShapeError::wrong_kind(LIST) } else { error };
        visitor.visit_seq(list).map_err(|error| told(error).at(&self.path, self.node))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ShapeError> {
        let wanted = (&visitor as &dyn Expected).to_string();
        // Serde would take a list for a struct, field by field; nobody writes a section like that on purpose.
        if matches!(self.node.value, Value::Table(_)) {
            return self.deserialize_any(visitor);
        }
        Err(ShapeError::wrong_kind(wanted).at(&self.path, self.node))
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.number(visitor)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.number(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.number(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        self.number(visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u128 f32 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct map identifier ignored_any
    }
}

impl<'n> Reader<'n> {
    /// Reads a number or a truth, also out of the text of a flag or variable.
    fn number<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, ShapeError> {
        let Value::Loose(text) = &self.node.value else { return self.deserialize_any(visitor) };
        let result: Result<V::Value, ShapeError> = match Self::loose(text) {
            Some(Value::Bool(truth)) => visitor.visit_bool(truth),
            Some(Value::Integer(number)) => match u64::try_from(number) {
                Ok(number) => visitor.visit_u64(number),
                Err(_) => visitor.visit_i64(i64::try_from(number).unwrap_or(i64::MIN)),
            },
            Some(Value::Float(number)) => visitor.visit_f64(number),
            _ => visitor.visit_str(text),
        };
        result.map_err(|error| error.at(&self.path, self.node))
    }
}

struct Entries<'n, 'p> {
    entries: std::slice::Iter<'n, Entry>,
    value: Option<&'n Entry>,
    path: &'p KeyPath,
}

impl<'n> MapAccess<'n> for Entries<'n, '_> {
    type Error = ShapeError;

    fn next_key_seed<K: DeserializeSeed<'n>>(&mut self, seed: K) -> Result<Option<K::Value>, ShapeError> {
        self.value = self.entries.next();
        let Some(entry) = self.value else { return Ok(None) };
        let key: StrDeserializer<'n, ShapeError> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|error| error.at_key(self.path, &entry.key_origin))
    }

    fn next_value_seed<S: DeserializeSeed<'n>>(&mut self, seed: S) -> Result<S::Value, ShapeError> {
        let Some(entry) = self.value.take() else { return Err(ShapeError::wrong_kind("a value")) };
        let path = self.path.key(&entry.key);
        let error_path = path.clone();
        let reader = Reader { node: &entry.node, path };
        seed.deserialize(reader).map_err(|error| error.at(&error_path, &entry.node))
    }
}

struct Items<'n, 'p> {
    items: std::iter::Enumerate<std::slice::Iter<'n, Node>>,
    path: &'p KeyPath,
}

impl<'n> SeqAccess<'n> for Items<'n, '_> {
    type Error = ShapeError;

    fn next_element_seed<S: DeserializeSeed<'n>>(&mut self, seed: S) -> Result<Option<S::Value>, ShapeError> {
        let Some((item, node)) = self.items.next() else { return Ok(None) };
        seed.deserialize(Reader { node, path: self.path.item(item) }).map(Some)
    }
}
