//! A parsed Avro schema, made ready for reading: every name is an index, every text that will be written is JSON already.
//!
//! It does not know data.

use std::collections::HashMap;

use apache_avro::Schema;
use apache_avro::schema::{DecimalSchema, InnerDecimalSchema, Name, RecordSchema, UuidSchema};

use crate::failure::with_causes;

/// How many digits a decimal may have behind its point. A schema with more is refused: each value would be as long.
const SCALE_MAX: usize = 1024;

/// Where a type stands in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId(usize);

/// One type of a schema.
#[derive(Debug)]
pub(super) enum Node {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    /// Sixteen bytes that are shown as a uuid; with a length in front or without.
    Uuid {
        has_length: bool,
    },
    /// Fixed bytes, or bytes with a length in front.
    Decimal {
        scale: usize,
        fixed: Option<usize>,
    },
    BigDecimal,
    Duration,
    /// The symbols, as JSON.
    Enum(Box<[Box<[u8]>]>),
    Array(NodeId),
    Map(NodeId),
    Union(Box<[NodeId]>),
    Record(Box<[Field]>),
}

/// One field of a record.
#[derive(Debug)]
pub(super) struct Field {
    /// Its name.
    pub(super) name: Box<str>,
    /// Its name as JSON, with the colon.
    pub(super) key: Box<[u8]>,
    /// Its type.
    pub(super) node: NodeId,
}

/// A schema that data can be read with.
#[derive(Debug)]
pub(crate) struct AvroSchema {
    nodes: Vec<Node>,
    root: NodeId,
}

impl AvroSchema {
    /// Parses a schema, with the schemas that it refers to.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub(crate) fn parse(text: &str, references: &[&str]) -> Result<Self, String> {
        let parsed = Schema::parse_str_with_list(text, references);
        let (schema, others) = parsed.map_err(|error| format!("it is not an Avro schema: {}", with_causes(&error)))?;
        let mut building = Building::default();
        // The schemas that are referred to come first, so that their names are there; a reference can go in either direction.
        for other in &others {
            building.node(other)?;
        }
        let root = building.node(&schema)?;
        Ok(Self { nodes: building.finish()?, root })
    }

    /// The type of the whole datum.
    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    /// A type.
    pub(super) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0]
    }
}

/// A schema in the making. A name that is used before it is defined has a place already, without a type.
#[derive(Default)]
struct Building {
    nodes: Vec<Option<Node>>,
    names: HashMap<String, NodeId>,
}

impl Building {
    fn node(&mut self, schema: &Schema) -> Result<NodeId, String> {
        let node = match schema {
            Schema::Ref { name } => return Ok(self.named(name)),
            Schema::Record(record) => return self.record(record),
            Schema::Enum(of) => {
                let symbols = of.symbols.iter().map(|symbol| json(symbol)).collect::<Result<_, _>>()?;
                return Ok(self.define(&of.name, Node::Enum(symbols)));
            }
            Schema::Fixed(fixed) => return Ok(self.define(&fixed.name, Node::Fixed(fixed.size))),
            Schema::Duration(fixed) => return Ok(self.define(&fixed.name, Node::Duration)),
            Schema::Decimal(decimal) => return self.decimal(decimal),
            Schema::Uuid(UuidSchema::Fixed(fixed)) => {
                return Ok(self.define(&fixed.name, Node::Uuid { has_length: false }));
            }
            Schema::Uuid(UuidSchema::Bytes) => Node::Uuid { has_length: true },
            Schema::Array(array) => Node::Array(self.node(&array.items)?),
            Schema::Map(map) => Node::Map(self.node(&map.types)?),
            Schema::Union(union) => {
                Node::Union(union.variants().iter().map(|variant| self.node(variant)).collect::<Result<_, _>>()?)
            }
            Schema::BigDecimal => Node::BigDecimal,
            Schema::Null => Node::Null,
            Schema::Boolean => Node::Boolean,
            Schema::Int | Schema::Date | Schema::TimeMillis => Node::Int,
            Schema::Long
            | Schema::TimeMicros
            | Schema::TimestampMillis
            | Schema::TimestampMicros
            | Schema::TimestampNanos
            | Schema::LocalTimestampMillis
            | Schema::LocalTimestampMicros
            | Schema::LocalTimestampNanos => Node::Long,
            Schema::Float => Node::Float,
            Schema::Double => Node::Double,
            Schema::Bytes => Node::Bytes,
            Schema::String | Schema::Uuid(UuidSchema::String) => Node::String,
        };
        Ok(self.add(Some(node)))
    }

    fn record(&mut self, record: &RecordSchema) -> Result<NodeId, String> {
        // Its place is there before its fields are, since they may hold it again.
        let id = self.named(&record.name);
        let mut fields = Vec::with_capacity(record.fields.len());
        for field in &record.fields {
            let mut key = json(&field.name)?.into_vec();
            key.push(b':');
            fields.push(Field { name: field.name.as_str().into(), key: key.into(), node: self.node(&field.schema)? });
        }
        self.nodes[id.0] = Some(Node::Record(fields.into()));
        Ok(id)
    }

    fn decimal(&mut self, decimal: &DecimalSchema) -> Result<NodeId, String> {
        let scale = decimal.scale;
        if scale > SCALE_MAX {
            return Err(format!("it has a decimal with {scale} digits behind the point; at most {SCALE_MAX} are read"));
        }
        Ok(match &decimal.inner {
            InnerDecimalSchema::Bytes => self.add(Some(Node::Decimal { scale, fixed: None })),
            InnerDecimalSchema::Fixed(fixed) => {
                self.define(&fixed.name, Node::Decimal { scale, fixed: Some(fixed.size) })
            }
        })
    }

    fn add(&mut self, node: Option<Node>) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() - 1)
    }

    /// The place of a name.
    fn named(&mut self, name: &Name) -> NodeId {
        let name = name.fullname(None);
        if let Some(id) = self.names.get(&name) {
            return *id;
        }
        let id = self.add(None);
        self.names.insert(name, id);
        id
    }

    fn define(&mut self, name: &Name, node: Node) -> NodeId {
        let id = self.named(name);
        self.nodes[id.0] = Some(node);
        id
    }

    fn finish(self) -> Result<Vec<Node>, String> {
        if let Some((name, _)) = self.names.iter().find(|(_, id)| self.nodes[id.0].is_none()) {
            return Err(format!("it uses {name}, which is defined nowhere"));
        }
        Ok(self.nodes.into_iter().flatten().collect())
    }
}

fn json(text: &str) -> Result<Box<[u8]>, String> {
    serde_json::to_vec(text).map(Into::into).map_err(|error| error.to_string())
}
