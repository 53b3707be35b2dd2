//! Logs: the subscriber, and the names of spans, fields and metrics, with unit and meaning.
//!
//! It does not know what happens; whoever logs does. Never a record's bytes.

mod json_lines;

use std::io;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use self::json_lines::JsonLines;

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

/// Sends logs to stderr from now on. A second call changes nothing.
///
/// # Errors
/// A filter that cannot be read.
pub fn start(format: LogFormat, filter: &str, colors: bool) -> Result<(), StartError> {
    let filter =
        EnvFilter::try_new(filter).map_err(|source| StartError::Filter { filter: filter.to_owned(), source })?;
    install(format, filter, colors, io::stderr);
    Ok(())
}

fn install<W>(format: LogFormat, filter: EnvFilter, colors: bool, writer: W)
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(colors);
    let _ = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => {
            builder.event_format(JsonLines).fmt_fields(tracing_subscriber::fmt::format::JsonFields::new()).try_init()
        }
    };
}
