//! Which topic's keys and values are what, with their schemas read.

use std::num::NonZeroU64;
use std::sync::Arc;

use gristmill_decode::{Decoder, FormatError, Limits, Registry, RegistryError};

use crate::config::{DecodingConfig, TopicFormats, TopicMatch};
use crate::exit::{self, Exit};

/// The decoders of every topic that has any.
#[derive(Debug)]
pub(crate) struct Formats {
    topics: Vec<(TopicMatch, Decoders)>,
    registry: Option<Arc<Registry>>,
}

/// The decoders of a topic.
#[derive(Debug)]
pub(crate) struct Decoders {
    pub(crate) key: Decoder,
    pub(crate) value: Decoder,
}

/// Why formats cannot be used: everything that is wrong with them.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub(crate) struct FormatsError(Vec<Fault>);

/// One thing that is wrong.
#[derive(Debug, thiserror::Error)]
enum Fault {
    /// With a topic's keys or values.
    #[error("topics.{topic}.{side}_format: {source}")]
    Topic { topic: String, side: &'static str, source: FormatError },
    /// With the registry's settings.
    #[error("schema_registry: {0}")]
    Registry(#[from] RegistryError),
}

impl From<FormatsError> for Exit {
    fn from(error: FormatsError) -> Self {
        Self::because(exit::MISFIT, error.to_string())
    }
}

impl Formats {
    /// Reads the schema files. The registry is not asked yet. What a key or value becomes may have `bytes_max` bytes, which is what the
    /// plugin can take: a few bytes of Avro may stand for very many. `None`: nothing is decoded.
    ///
    /// # Errors
    /// A schema file that cannot be read or used; an address or a certificate of the registry that cannot be used.
    pub(crate) fn load(config: &DecodingConfig, bytes_max: NonZeroU64) -> Result<Option<Self>, FormatsError> {
        let json_bytes_max = usize::try_from(bytes_max.get()).unwrap_or(usize::MAX);
        let limits = Limits { json_bytes_max, ..Limits::default() };
        let registry = config.registry.as_ref().map(|registry| Registry::new(registry.settings())).transpose();
        let registry = registry.map_err(|error| FormatsError(vec![error.into()]))?.map(Arc::new);
        let (mut topics, mut faults) = (Vec::new(), Vec::new());
        for TopicFormats { topics: about, key, value } in &config.topics {
            let mut decoder = |side, format| {
                let named = |source| Fault::Topic { topic: about.to_string(), side, source };
                Decoder::new(format, registry.as_ref(), limits).map_err(|source| faults.push(named(source))).ok()
            };
            if let (Some(key), Some(value)) = (decoder("key", key), decoder("value", value)) {
                topics.push((about.clone(), Decoders { key, value }));
            }
        }
        if !faults.is_empty() {
            return Err(FormatsError(faults));
        }
        Ok((!topics.is_empty()).then_some(Self { topics, registry }))
    }

    /// The registry, where one of the formats needs it.
    pub(crate) fn registry(&self) -> Option<&Arc<Registry>> {
        let asks = |decoders: &Decoders| decoders.key.asks_registry() || decoders.value.asks_registry();
        self.registry.as_ref().filter(|_| self.topics.iter().any(|(_, decoders)| asks(decoders)))
    }

    /// The decoders of a topic. `None`: its records are handed over as they are.
    pub(crate) fn of(&self, topic: &str) -> Option<&Decoders> {
        self.topics.iter().find(|(topics, _)| topics.is(topic)).map(|(_, decoders)| decoders)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Instant;

    use super::*;
    use crate::config;

    /// What a configuration with this at its end says about decoding.
    pub(in crate::decoding) fn config(more: &str) -> DecodingConfig {
        let text = format!(
            "[kafka]\nbootstrap_servers = \"localhost:9092\"\ngroup_id = \"g\"\nauto_offset_reset = \"earliest\"\n\
             topics = [\"^orders\\\\..*\", \"^.*\\\\.new$\", \"orders\", \"orders.old\"]\n[plugin]\npath = \"p.wasm\"\n{more}"
        );
        config::load_toml(&text, "g.toml").unwrap_or_else(|error| panic!("{error}")).config.decoding
    }

    /// The formats of a configuration.
    pub(in crate::decoding) fn load(config: &DecodingConfig) -> Result<Option<Formats>, FormatsError> {
        Formats::load(config, NonZeroU64::MIN.saturating_add(1 << 20))
    }

    #[test]
    fn a_topic_has_the_formats_of_its_name_then_those_of_the_first_pattern_that_it_matches() {
        let formats = load(&config(
            "[topics.\"orders.old\"]\nkey_format = \"json\"\n[topics.\"^.*\\\\.new$\"]\nvalue_format = \"utf8\"\n\
             [topics.\"^orders\\\\..*\"]\nvalue_format = \"json\"",
        ));
        let formats = formats.unwrap().unwrap();
        assert!(formats.of("orders.old").unwrap().value.is_raw());
        let takes = |topic: &str| formats.of(topic).unwrap().value.decode(b"no json", Instant::now()).is_ok();
        assert!(!takes("orders.new") && takes("bills.new"));
        assert!(formats.of("orders").is_none());
    }

    #[test]
    fn where_everything_is_raw_nothing_is_decoded() {
        assert!(load(&config("")).unwrap().is_none());
        assert!(load(&config("[topics.orders]\nvalue_format = \"raw\"")).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_used_names_the_topic_or_the_registry() {
        let told = |more: &str| load(&config(more)).unwrap_err().to_string();
        let missing = told("[topics.orders]\nvalue_format = \"avro\"\nvalue_schema = \"no/such.avsc\"");
        assert!(missing.starts_with("topics.orders.value_format: cannot read the schema no/such.avsc: "), "{missing}");
        let both = told(
            "[topics.orders]\nkey_format = \"avro\"\nkey_schema = \"a\"\nvalue_format = \"avro\"\nvalue_schema = \"b\"",
        );
        assert!(both.contains("key_format") && both.contains("; topics.orders.value_format: "), "{both}");
        let authorities = told(
            "[topics.orders]\nvalue_format = \"avro\"\n[schema_registry]\nurl = \"http://localhost:8081\"\nca_file = \"no/such.pem\"",
        );
        assert!(authorities.starts_with("schema_registry: cannot read the certificates "), "{authorities}");
    }
}
