//! Which topic's keys and values are what, with their schemas read.

use std::sync::Arc;

use gristmill_decode::{Decoder, FormatError, Limits, Registry, RegistryError};

use crate::config::{DecodingConfig, TopicFormats, TopicMatch};
use crate::exit::{self, Exit};

/// The decoders of every topic that has any.
#[derive(Debug)]
pub(crate) struct Formats {
    topics: Vec<(TopicMatch, Decoders)>,
}

/// The decoders of a topic.
#[derive(Debug)]
pub(crate) struct Decoders {
    pub(crate) key: Decoder,
    pub(crate) value: Decoder,
}

/// Why formats cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FormatsError {
    /// Those of a topic.
    #[error("topics.{topic}: {source}")]
    Topic { topic: String, source: FormatError },
    /// The registry's settings.
    #[error("schema_registry: {0}")]
    Registry(#[from] RegistryError),
}

impl From<FormatsError> for Exit {
    fn from(error: FormatsError) -> Self {
        Self::because(exit::MISFIT, error.to_string())
    }
}

impl Formats {
    /// Reads the schema files. The registry is not asked yet. `None`: nothing is decoded.
    ///
    /// # Errors
    /// A schema file that cannot be read or used; an address or a certificate of the registry that cannot be used.
    pub(crate) fn load(config: &DecodingConfig) -> Result<Option<Self>, FormatsError> {
        let registry = config.registry.as_ref().map(|registry| Registry::new(registry.settings())).transpose()?;
        let registry = registry.map(Arc::new);
        let decoders = |formats: &TopicFormats| {
            let decoder = |format| Decoder::new(format, registry.as_ref(), Limits::default());
            let named = |source| FormatsError::Topic { topic: formats.topics.to_string(), source };
            let key = decoder(&formats.key).map_err(named)?;
            let value = decoder(&formats.value).map_err(named)?;
            Ok::<_, FormatsError>((formats.topics.clone(), Decoders { key, value }))
        };
        let topics = config.topics.iter().map(decoders).collect::<Result<Vec<_>, _>>()?;
        Ok((!topics.is_empty()).then_some(Self { topics }))
    }

    /// The decoders of a topic. `None`: its records are handed over as they are.
    pub(crate) fn of(&self, topic: &str) -> Option<&Decoders> {
        self.topics.iter().find(|(topics, _)| topics.is(topic)).map(|(_, decoders)| decoders)
    }
}
