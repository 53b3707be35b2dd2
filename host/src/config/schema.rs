//! The JSON Schema of the configuration, from the types that read it.

use super::file::ConfigFile;

/// The schema as pretty JSON.
#[must_use]
pub fn json_schema() -> String {
    format!("{:#}", schemars::schema_for!(ConfigFile).as_value())
}

/// A key of the configuration, as advice needs it.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Its path, such as `batch.max_records`.
    pub(crate) path: String,
    /// What it means, as the schema says.
    pub(crate) meaning: String,
}

/// Every key of the configuration.
pub(crate) fn keys() -> Vec<Key> {
    let schema = schemars::schema_for!(ConfigFile);
    let root = schema.as_value();
    let mut keys = Vec::new();
    collect(root, root, "", &mut keys);
    keys
}

fn collect(root: &serde_json::Value, schema: &serde_json::Value, path: &str, keys: &mut Vec<Key>) {
    let schema = resolve(root, schema);
    let Some(properties) = schema.get("properties").and_then(|value| value.as_object()) else { return };
    for (key, schema) in properties {
        let path = super::tree::join(path, key);
        let meaning = schema.get("description").and_then(|text| text.as_str()).unwrap_or_default();
        keys.push(Key { path: path.clone(), meaning: meaning.to_owned() });
        collect(root, schema, &path, keys);
    }
}

/// What may stand somewhere in the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'s> {
    root: &'s serde_json::Value,
    schema: &'s serde_json::Value,
}

impl<'s> Known<'s> {
    /// What may stand at the top level of a configuration with this schema.
    pub(crate) fn new(root: &'s serde_json::Value) -> Self {
        Self { root, schema: root }
    }

    /// What may stand at a key; nothing where there is no such key.
    pub(crate) fn key(self, key: &str) -> Option<Self> {
        self.forms()
            .find_map(|form| form["properties"].get(key).or(form.get("additionalProperties")))
            .and_then(|schema| schema.is_object().then_some(Self { schema, ..self }))
    }

    /// What may stand in a list; nothing where no list may stand.
    pub(crate) fn item(self) -> Option<Self> {
        self.forms().find_map(|form| form.get("items")).map(|schema| Self { schema, ..self })
    }

    /// Each form that it may have.
    fn forms(self) -> impl Iterator<Item = &'s serde_json::Value> {
        let schema = resolve(self.root, self.schema);
        let any = schema["anyOf"].as_array().map_or(&[][..], Vec::as_slice);
        std::iter::once(schema).chain(any.iter().map(move |form| resolve(self.root, form)))
    }
}

/// Follows a reference to a named type.
fn resolve<'s>(root: &'s serde_json::Value, schema: &'s serde_json::Value) -> &'s serde_json::Value {
    let reference = schema.get("$ref").and_then(|value| value.as_str()).and_then(|text| text.strip_prefix('#'));
    reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}
