//! Moments as people write and read them: a date, or an age.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::config::{Span, SpanError};

/// A moment that somebody named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Milliseconds since 1970.
    At(i64),
    /// So long ago.
    Ago(Duration),
}

/// A text that names no moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no time; write one such as 2026-01-31T12:00:00Z, or an age such as 2h")]
pub(crate) struct NoTime;

impl FromStr for When {
    type Err = NoTime;

    fn from_str(text: &str) -> Result<Self, NoTime> {
        if let Ok(time) = humantime::parse_rfc3339_weak(text) {
            return Ok(Self::At(millis(time.duration_since(UNIX_EPOCH).unwrap_or_default())));
        }
        match text.parse() {
            Ok(Span(age)) => Ok(Self::Ago(age)),
            Err(SpanError::NoTime | SpanError::TooLong) => Err(NoTime),
        }
    }
}

impl When {
    /// In milliseconds since 1970, `now_ms` being the same of now.
    pub(crate) fn millis(self, now_ms: i64) -> i64 {
        match self {
            Self::At(ms) => ms,
            Self::Ago(age) => now_ms.saturating_sub(millis(age)),
        }
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The last moment that is shown as a date.
const LAST_SHOWN_MS: u64 = 253_402_300_799_999;

/// A moment as a date; what lies before 1970 or behind the year 9999 as its number.
pub(crate) fn shown(ms: i64) -> String {
    match u64::try_from(ms) {
        Ok(ms) if ms <= LAST_SHOWN_MS => {
            let time: SystemTime = UNIX_EPOCH + Duration::from_millis(ms);
            humantime::format_rfc3339_millis(time).to_string()
        }
        Ok(_) | Err(_) => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_date_or_an_age() {
        assert_eq!("2023-11-14T22:13:20Z".parse(), Ok(When::At(1_700_000_000_000)));
        assert_eq!("2023-11-14 22:13:20".parse(), Ok(When::At(1_700_000_000_000)));
        let age: When = "2h".parse().expect("an age");
        assert_eq!(age.millis(10_000_000), 2_800_000);
        for text in ["", "yesterday", "12", "2023-13-14T22:13:20Z"] {
            assert_eq!(text.parse::<When>(), Err(NoTime), "{text}");
        }
    }

    #[test]
    fn every_number_can_be_shown() {
        assert_eq!(shown(1_700_000_000_001), "2023-11-14T22:13:20.001Z");
        assert_eq!((shown(-1).as_str(), shown(i64::MAX).as_str()), ("-1 ms", "9223372036854775807 ms"));
        assert_eq!(shown(253_402_300_799_999), "9999-12-31T23:59:59.999Z");
    }
}
