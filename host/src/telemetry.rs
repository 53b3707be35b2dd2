//! Logs: the subscriber, and how often what repeats is mentioned. The words of log lines stand in `docs/operating.md`, and a
//! test compares them with the code.
//!
//! It does not know what happens; whoever logs does. Never a record's bytes.

mod json_lines;
mod letter_log;
mod retry_log;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::JsonFields;

use self::json_lines::JsonLines;
pub(crate) use self::json_lines::json_line;
pub use self::letter_log::LetterLog;
pub use self::retry_log::{Mention, RetryLog};

/// A library that logs what it returns as an error as well, record for record.
const QUIET: &str = "apache_avro=off";

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line, with the keys `ts`, `level`, `msg`, `target` and the fields.
    Json,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The filter cannot be read.
    #[error("the log level \"{filter}\" cannot be read: {source}; write a level such as debug, or target=level pairs")]
    Filter {
        /// As it was written.
        filter: String,
        /// What is wrong with it.
        source: tracing_subscriber::filter::ParseError,
    },
}

/// Sends logs to `writer` from now on. A second call changes nothing.
///
/// # Errors
/// A filter that cannot be read.
pub fn start<W>(format: LogFormat, filter: &str, colors: bool, writer: W) -> Result<(), StartError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let quiet = format!("{QUIET},{filter}");
    let filter =
        EnvFilter::try_new(quiet).map_err(|source| StartError::Filter { filter: filter.to_owned(), source })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colors);
    // It would print its own errors with eprintln!, which panics where stderr cannot be written.
    let builder = builder.log_internal_errors(false);
    let _ = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.fmt_fields(JsonFields::new()).event_format(JsonLines).try_init(),
    };
    Ok(())
}
