//! librdkafka's log lines as tracing events, at a bounded rate: a broker that is down for an hour does not write a
//! million lines.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use crate::settings::ClientProperties;
use crate::sys::LogSink;
use crate::topics::Topics;

/// So many lines are let through in one window.
const LINES: u32 = 20;
/// The length of a window.
const WINDOW: Duration = Duration::from_secs(10);

/// Severities as syslog counts: librdkafka's default, and that of lines which `debug` asks for.
const INFO: i32 = 6;
const DEBUG: i32 = 7;

/// So many lines wait for the event thread, which a rebalance may keep from them; later ones are dropped.
pub(crate) const LINES_WAITING_MAX: usize = 1024;

/// One line.
pub(crate) struct LogLine {
    /// Severity as syslog counts: 3 and less is an error, 4 a warning.
    level: i32,
    /// librdkafka's short name for the place.
    facility: String,
    /// The line.
    text: String,
}

/// Hears a consumer's lines: learns topic ids from them at once, and leaves those that the operator wants to see for the
/// event thread.
pub(crate) fn tap(properties: &ClientProperties, topics: Arc<Topics>, lines: SyncSender<LogLine>) -> LogSink {
    let forward = forward(properties, lines);
    Box::new(move |level, facility, text| {
        if level >= DEBUG {
            topics.ids.hear(text);
        }
        forward(level, facility, text);
    })
}

/// Leaves the lines that the operator wants to see for the thread that reads them.
pub(crate) fn forward(properties: &ClientProperties, lines: SyncSender<LogLine>) -> LogSink {
    let shown = shown_level(properties);
    Box::new(move |level, facility, text| {
        if level <= shown {
            let owned = |chars: &CStr| chars.to_string_lossy().into_owned();
            // Where there is no room there are more than will be shown anyway; without the thread nobody is left to read it.
            let _ = lines.try_send(LogLine { level, facility: owned(facility), text: owned(text) });
        }
    })
}

/// For clients whose lines nobody reads.
pub(crate) fn unheard() -> LogSink {
    Box::new(|_, _, _| {})
}

/// Up to which severity lines are shown. The client gives all, since topic ids come with debug lines.
fn shown_level(properties: &ClientProperties) -> i32 {
    let asked = properties.value("log_level").and_then(|level| level.trim().parse().ok());
    if properties.debug_asked() { DEBUG } else { asked.unwrap_or(INFO) }
}

/// Lets a bounded number of lines through and counts the others.
#[derive(Debug, Default)]
pub(crate) struct LogGate {
    since: Option<Instant>,
    passed: u32,
    withheld: u32,
}

impl LogGate {
    /// Writes a line, or counts it.
    pub(crate) fn log(&mut self, line: &LogLine) {
        let LogLine { level, facility, text } = line;
        if is_told_as_error(*level, facility) {
            tracing::debug!(target: "librdkafka", facility, "{text}");
            return;
        }
        if !self.lets_through(Instant::now()) {
            return;
        }
        match level {
            ..=3 => tracing::error!(target: "librdkafka", facility, "{text}"),
            4 => tracing::warn!(target: "librdkafka", facility, "{text}"),
            5 | 6 => tracing::info!(target: "librdkafka", facility, "{text}"),
            7.. => tracing::debug!(target: "librdkafka", facility, "{text}"),
        }
    }

    fn lets_through(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= WINDOW) {
            if self.withheld > 0 {
                tracing::info!(target: "librdkafka", lines = self.withheld, "log lines were withheld");
            }
            *self = Self { since: Some(now), passed: 0, withheld: 0 };
        }
        let lets = self.passed < LINES;
        if lets {
            self.passed += 1;
        } else {
            self.withheld += 1;
        }
        lets
    }
}

/// True for lines that librdkafka writes beside an error event with the same words. The event is what the host tells.
fn is_told_as_error(level: i32, facility: &str) -> bool {
    facility == "FAIL" && level <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_lets_a_bounded_number_of_lines_through() {
        let mut gate = LogGate::default();
        let start = Instant::now();
        let passed = (0..1000).filter(|_| gate.lets_through(start)).count();
        assert_eq!(passed, LINES as usize);
        assert!(gate.lets_through(start + WINDOW));
        assert_eq!(gate.withheld, 0);
    }
}
