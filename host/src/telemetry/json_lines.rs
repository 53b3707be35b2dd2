//! Log lines for machines: one JSON object each, with `ts`, `level`, `msg`, `target` first and the fields beside them.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Formats events as JSON lines. Fields of the surrounding spans are merged in; the event's own win.
#[derive(Debug)]
pub(super) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let metadata = event.metadata();
        let mut line = begin(&metadata.level().as_str().to_ascii_lowercase(), "", metadata.target());
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let fields =
                extensions.get::<FormattedFields<N>>().map(|fields| fields.fields.as_str()).unwrap_or_default();
            if let Ok(Value::Object(fields)) = serde_json::from_str(fields) {
                line.extend(fields);
            }
        }
        event.record(&mut Fields(&mut line));
        writeln!(writer, "{}", Value::Object(line))
    }
}

/// A line of this form for what is said beside the log, with a line break. `level` as in a log line.
pub(crate) fn json_line(level: &str, msg: &str, more: impl IntoIterator<Item = (&'static str, Value)>) -> String {
    let mut line = begin(level, msg, env!("CARGO_PKG_NAME"));
    line.extend(more.into_iter().map(|(name, value)| (name.to_owned(), value)));
    format!("{}\n", Value::Object(line))
}

/// The four keys that every line has.
fn begin(level: &str, msg: &str, target: &str) -> Map<String, Value> {
    let mut time = String::new();
    // Writing to a text does not fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    let keys = [("ts", time.as_str()), ("level", level), ("msg", msg), ("target", target)];
    keys.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// Takes the fields of an event into the line. The message goes under `msg`.
struct Fields<'l>(&'l mut Map<String, Value>);

impl Fields<'_> {
    fn put(&mut self, field: &Field, value: Value) {
        let name = if field.name() == "message" { "msg" } else { field.name() };
        self.0.insert(name.to_owned(), value);
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}
