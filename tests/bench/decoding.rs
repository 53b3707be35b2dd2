//! Topics whose values are JSON or Avro: what decoding adds to a plugin that does nothing, and what a plugin adds that reads them.
//!
//! It must not know the plan.

use gristmill_tests::{Loaded, TemporaryFolder, create_topic, load_values, unique, varint};

use crate::contestant::Contestant;
use crate::course::{Course, Shape};
use crate::peer::Program;
use crate::race::race;
use crate::reading::compared;
use crate::report::Outcome;
use crate::scenario::Stage;

/// What the values of the Avro topic are.
const SCHEMA: &str =
    r#"{"type":"record","name":"Order","fields":[{"name":"number","type":"long"},{"name":"text","type":"string"}]}"#;

/// What is not text in a value of a hundred bytes.
const AROUND_BYTES: usize = 10;

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, of which nothing has to be made.
    Json,
    /// Avro, which becomes such JSON.
    Avro,
}

impl Format {
    /// How it is told.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::Json => "values in JSON, checked, and a plugin that does nothing",
            Self::Avro => "values in Avro, made JSON, and a plugin that does nothing",
        }
    }

    fn value(self, number: i64, width: usize) -> Vec<u8> {
        let text = format!("{number:0width$}");
        match self {
            Self::Json => format!(r#"{{"number":{number},"text":"{text}"}}"#).into_bytes(),
            Self::Avro => {
                [varint(number), varint(i64::try_from(width).unwrap_or_default()), text.into_bytes()].concat()
            }
        }
    }
}

/// The host without and with the format of the values.
pub(crate) fn measure(stage: &Stage<'_>, format: Format, shape: &Shape) -> Outcome {
    let course = load(stage, format, shape);
    let folder = TemporaryFolder::new();
    let schema = folder.write("schema", SCHEMA).display().to_string();
    let (name, section) = match format {
        Format::Json => ("gristmill, values in JSON, checked", "value_format = \"json\"\n".to_owned()),
        Format::Avro => {
            ("gristmill, values in Avro, made JSON", format!("value_format = \"avro\"\nvalue_schema = {schema:?}\n"))
        }
    };
    let section = format!("[topics.{:?}]\n{section}", course.topic);
    let contestants = [
        Contestant::gristmill("gristmill, values as they are", "gristmill-noop", "reuse", ""),
        Contestant::gristmill(name, "gristmill-noop", "reuse", &section),
    ];
    compared(race(&stage.track(&course), &contestants, stage.rounds), &contestants)
}

/// A native loop and the host's plugin, both of which read a field of each value.
pub(crate) fn sum(stage: &Stage<'_>, shape: &Shape) -> Outcome {
    let course = load(stage, Format::Json, shape);
    let contestants = [
        Contestant::peer("librdkafka's batch loop with serde_json", Program::own("sum")),
        Contestant::gristmill("gristmill, fresh instances", "gristmill-sum", "fresh", ""),
        Contestant::gristmill("gristmill, reused instance", "gristmill-sum", "reuse", ""),
    ];
    compared(race(&stage.track(&course), &contestants, stage.rounds), &contestants)
}

/// A topic with such values.
pub(crate) fn load(stage: &Stage<'_>, format: Format, shape: &Shape) -> Course {
    let bootstrap = stage.bootstrap();
    let topic = unique("bench");
    create_topic(&bootstrap, &topic, shape.partitions);
    let mut loaded = Loaded { partitions: (0..shape.partitions).map(|partition| (partition, 0..0)).collect() };
    let each = shape.records.div_ceil(shape.partitions.unsigned_abs().into());
    let width = shape.value_bytes - AROUND_BYTES;
    let value = |number| format.value(number, width);
    stage.cores.anywhere(|| load_values(&bootstrap, &topic, &mut loaded, each, shape.codec, value));
    Course { bootstrap, topic, loaded, batch: shape.batch, values: None, sink: None }
}
