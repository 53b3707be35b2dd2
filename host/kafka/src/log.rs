//! librdkafka's log lines as tracing events, at a bounded rate: a broker that is down for an hour does not write a
//! million lines.

use std::time::{Duration, Instant};

/// So many lines are let through in one window.
const LINES: u32 = 20;
/// The length of a window.
const WINDOW: Duration = Duration::from_secs(10);

/// Lets a bounded number of lines through and counts the others.
#[derive(Debug, Default)]
pub(crate) struct LogGate {
    since: Option<Instant>,
    passed: u32,
    withheld: u32,
}

impl LogGate {
    /// Writes a line, or counts it.
    pub(crate) fn log(&mut self, level: i32, facility: &str, text: &str) {
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
