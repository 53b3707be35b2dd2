//! Walks an Avro datum and writes JSON as it goes.
//!
//! Nothing is believed before it was seen: a count of items makes no room, a length is compared with what is left, and each item
//! adds at least one byte to a text that is bounded, also where it takes none from the datum.

use std::fmt;

use super::decimal;
use super::schema::{AvroSchema, Field, Node, NodeId};
use crate::failure::short;
use crate::json::check_utf8;
use crate::json_text::{Exceeded, JsonText};
use crate::limits::Limits;
use crate::stack::{WALK_BYTES, with_stack};
use crate::wire::split_zigzag;

/// How much of the path to a value is told: its innermost steps.
const STEPS_MAX: usize = 12;

/// The JSON text of a datum.
///
/// # Errors
/// Says what is wrong with it, and at which value.
pub(crate) fn decode(schema: &AvroSchema, datum: &[u8], limits: Limits) -> Result<Vec<u8>, String> {
    let mut walk = Walk { schema, rest: datum, out: JsonText::new(datum.len(), limits) };
    with_stack(WALK_BYTES, || walk.value(schema.root(), 0))
        .map_err(|wrong| format!("it is not Avro of its schema: {wrong}"))?;
    if !walk.rest.is_empty() {
        let (left, all) = (walk.rest.len(), datum.len());
        return Err(format!("it is not Avro of its schema: {left} of {all} bytes are left over"));
    }
    Ok(walk.out.into_bytes())
}

/// What is wrong, and the steps to it, the innermost first.
struct Wrong {
    what: String,
    steps: Vec<String>,
}

impl Wrong {
    fn new(what: impl fmt::Display) -> Self {
        Self { what: what.to_string(), steps: Vec::new() }
    }

    fn inside(mut self, step: impl FnOnce() -> String) -> Self {
        if self.steps.len() < STEPS_MAX {
            self.steps.push(step());
        }
        self
    }
}

impl From<Exceeded> for Wrong {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(exceeded)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.steps.is_empty() {
            f.write_str("at ")?;
        }
        if self.steps.len() == STEPS_MAX {
            f.write_str("…")?;
        }
        self.steps.iter().rev().try_for_each(|step| f.write_str(step))?;
        write!(f, "{}{}", if self.steps.is_empty() { "" } else { ": " }, self.what)
    }
}

struct Walk<'a> {
    schema: &'a AvroSchema,
    rest: &'a [u8],
    out: JsonText,
}

impl<'a> Walk<'a> {
    /// One value, inside of `depth` others.
    fn value(&mut self, id: NodeId, depth: usize) -> Result<(), Wrong> {
        let schema = self.schema;
        match schema.node(id) {
            Node::Null => self.out.push(b"null")?,
            Node::Boolean => self.boolean()?,
            Node::Int => {
                let value = self.long()?;
                let int = i32::try_from(value).map_err(|_| Wrong::new("a number of more than 32 bits is no int"))?;
                self.out.push_scalar(&int)?;
            }
            Node::Long => {
                let value = self.long()?;
                self.out.push_scalar(&value)?;
            }
            Node::Float => {
                let value = f32::from_le_bytes(self.array()?);
                if value.is_finite() { self.out.push_scalar(&value)? } else { self.not_finite(value.into())? }
            }
            Node::Double => {
                let value = f64::from_le_bytes(self.array()?);
                if value.is_finite() { self.out.push_scalar(&value)? } else { self.not_finite(value)? }
            }
            Node::Bytes => {
                let bytes = self.bytes()?;
                self.latin1(bytes)?;
            }
            Node::String => {
                let bytes = self.bytes()?;
                let text = check_utf8(bytes).map_err(Wrong::new)?;
                self.out.push_scalar(text)?;
            }
            Node::Fixed(size) => {
                let bytes = self.take(*size)?;
                self.latin1(bytes)?;
            }
            Node::Uuid { has_length } => self.uuid(*has_length)?,
            Node::Decimal { scale, fixed } => {
                let bytes = match fixed {
                    Some(size) => self.take(*size)?,
                    None => self.bytes()?,
                };
                self.decimal(bytes, i64::try_from(*scale).map_err(Wrong::new)?)?;
            }
            Node::BigDecimal => self.big_decimal()?,
            Node::Duration => self.duration()?,
            Node::Enum(symbols) => {
                let index = self.long()?;
                let symbol = item(symbols, index).ok_or_else(|| beyond("symbol", index, symbols.len()))?;
                self.out.push(symbol)?;
            }
            Node::Union(variants) => {
                let index = self.long()?;
                let variant = item(variants, index).ok_or_else(|| beyond("variant", index, variants.len()))?;
                // No level of its own: a union holds no union, and only a record can hold itself.
                self.value(*variant, depth)?;
            }
            Node::Array(items) => self.items(*items, depth)?,
            Node::Map(values) => self.entries(*values, depth)?,
            Node::Record(fields) => self.record(fields, depth)?,
        }
        Ok(())
    }

    fn record(&mut self, fields: &'a [Field], depth: usize) -> Result<(), Wrong> {
        self.out.check_depth(depth)?;
        let mut separator = b"{".as_slice();
        for field in fields {
            self.out.push(separator)?;
            self.out.push(&field.key)?;
            self.value(field.node, depth + 1)
                .map_err(|wrong| wrong.inside(|| format!(".{}", short(&field.name, 64))))?;
            separator = b",";
        }
        self.out.push(if fields.is_empty() { b"{}" } else { b"}" })?;
        Ok(())
    }

    fn items(&mut self, items: NodeId, depth: usize) -> Result<(), Wrong> {
        self.out.check_depth(depth)?;
        self.out.push(b"[")?;
        let mut at = 0_u64;
        while let Some(count) = self.block()? {
            for _ in 0..count {
                if at > 0 {
                    self.out.push(b",")?;
                }
                self.value(items, depth + 1).map_err(|wrong| wrong.inside(|| format!("[{at}]")))?;
                at += 1;
            }
        }
        self.out.push(b"]")?;
        Ok(())
    }

    fn entries(&mut self, values: NodeId, depth: usize) -> Result<(), Wrong> {
        self.out.check_depth(depth)?;
        let mut separator = b"{".as_slice();
        while let Some(count) = self.block()? {
            for _ in 0..count {
                let name =
                    check_utf8(self.bytes()?).map_err(|wrong| Wrong::new(format_args!("a name of a map: {wrong}")))?;
                self.out.push(separator)?;
                self.out.push_scalar(name)?;
                self.out.push(b":")?;
                // The name is the record's own, and is not told.
                self.value(values, depth + 1).map_err(|wrong| wrong.inside(|| "[*]".to_owned()))?;
                separator = b",";
            }
        }
        self.out.push(if separator == b"{" { b"{}" } else { b"}" })?;
        Ok(())
    }

    /// How many items follow before the next count; none at the end.
    fn block(&mut self) -> Result<Option<u64>, Wrong> {
        let count = self.long()?;
        if count < 0 {
            // The size of the block in bytes follows, for those who want to skip it.
            self.long()?;
        }
        Ok((count != 0).then_some(count.unsigned_abs()))
    }

    fn boolean(&mut self) -> Result<(), Wrong> {
        let [byte] = self.array()?;
        match byte {
            0 => self.out.push(b"false")?,
            1 => self.out.push(b"true")?,
            _ => return Err(Wrong::new("a byte other than 0 and 1 is no boolean")),
        }
        Ok(())
    }

    fn not_finite(&mut self, value: f64) -> Result<(), Wrong> {
        let text = match (value.is_nan(), value.is_sign_positive()) {
            (true, _) => "\"NaN\"",
            (false, true) => "\"Infinity\"",
            (false, false) => "\"-Infinity\"",
        };
        Ok(self.out.push(text.as_bytes())?)
    }

    /// A string with a character for each byte.
    fn latin1(&mut self, bytes: &[u8]) -> Result<(), Wrong> {
        let text: String = bytes.iter().copied().map(char::from).collect();
        Ok(self.out.push_scalar(text.as_str())?)
    }

    fn uuid(&mut self, has_length: bool) -> Result<(), Wrong> {
        let bytes = if has_length { self.bytes()? } else { self.take(16)? };
        let Ok(bytes) = <[u8; 16]>::try_from(bytes) else {
            return Err(Wrong::new(format_args!("{} bytes are no uuid", bytes.len())));
        };
        let hex = format!("{:032x}", u128::from_be_bytes(bytes));
        let text = format!("\"{}-{}-{}-{}-{}\"", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
        Ok(self.out.push(text.as_bytes())?)
    }

    fn decimal(&mut self, unscaled: &[u8], scale: i64) -> Result<(), Wrong> {
        let text = decimal::text(unscaled, scale).map_err(Wrong::new)?;
        Ok(self.out.push_scalar(text.as_str())?)
    }

    /// Bytes that hold bytes and a scale.
    fn big_decimal(&mut self) -> Result<(), Wrong> {
        let whole = self.bytes()?;
        let behind = std::mem::replace(&mut self.rest, whole);
        let unscaled = self.bytes()?;
        let scale = self.long()?;
        if !self.rest.is_empty() {
            return Err(Wrong::new("a big-decimal with something behind its scale"));
        }
        self.rest = behind;
        self.decimal(unscaled, scale)
    }

    fn duration(&mut self) -> Result<(), Wrong> {
        let [months, days, millis] = [self.array()?, self.array()?, self.array()?].map(u32::from_le_bytes);
        let text = format!("{{\"months\":{months},\"days\":{days},\"millis\":{millis}}}");
        Ok(self.out.push(text.as_bytes())?)
    }

    fn long(&mut self) -> Result<i64, Wrong> {
        let (value, rest) = split_zigzag(self.rest).ok_or_else(|| {
            let text =
                if self.rest.len() < 10 { "the bytes end within a number" } else { "a number of more than 64 bits" };
            Wrong::new(text)
        })?;
        self.rest = rest;
        Ok(value)
    }

    /// Bytes with their length in front.
    fn bytes(&mut self) -> Result<&'a [u8], Wrong> {
        let length = self.long()?;
        let size = usize::try_from(length).map_err(|_| Wrong::new(format_args!("a length of {length} bytes")))?;
        self.take(size)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Wrong> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| self.short_of(N))?;
        self.rest = rest;
        Ok(*taken)
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8], Wrong> {
        let (taken, rest) = self.rest.split_at_checked(size).ok_or_else(|| self.short_of(size))?;
        self.rest = rest;
        Ok(taken)
    }

    fn short_of(&self, size: usize) -> Wrong {
        Wrong::new(format_args!("{size} bytes should follow, and {} do", self.rest.len()))
    }
}

fn item<T>(items: &[T], index: i64) -> Option<&T> {
    usize::try_from(index).ok().and_then(|index| items.get(index))
}

fn beyond(what: &str, index: i64, count: usize) -> Wrong {
    Wrong::new(format_args!("{what} {index}; there are {count}"))
}
