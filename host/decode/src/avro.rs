//! What Avro becomes: a JSON text, compact, with fields in the order of the schema.
//!
//! The bytes are read with the schema that they were written with: the one of the file, or the one whose id stands in front. There
//! is no second schema that a reader expects, so defaults and aliases do not matter.
//!
//! | Avro | JSON |
//! | --- | --- |
//! | null, boolean, int, long, string | the same; a long keeps all of its digits |
//! | float, double | the shortest number that reads back the same; `"NaN"`, `"Infinity"`, `"-Infinity"` |
//! | bytes, fixed | a string with one character (U+0000 to U+00FF) for each byte, as in Avro's own JSON encoding |
//! | enum | its symbol |
//! | array, map, record | array, object, object; a name that the writer put twice into a map is there twice |
//! | union | the value alone: `{"age":41}`, where Avro's own JSON encoding has `{"age":{"int":41}}` |
//! | decimal, big-decimal | a string with all of its digits: `"-12.340"`; a number would lose some in most languages |
//! | uuid | `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, also where it is stored in 16 bytes |
//! | date, time, timestamp, local timestamp | the number that is stored, in the unit of the schema: nothing is rounded, no zone guessed |
//! | duration | `{"months":1,"days":2,"millis":3}` |
//! | any other logical type | what it is stored as |
//!
//! Two values of a union that look alike (`"a"` as string and as enum) are not told apart in the text.
//!
//! The crate `apache-avro` parses the schemas. It is not asked to decode: it follows a datum to any depth, and makes room for as
//! many items as one claims to have.

mod decimal;
mod read;
mod schema;

pub(crate) use read::decode;
pub(crate) use schema::AvroSchema;
