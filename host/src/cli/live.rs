//! The live line of `run` on a terminal: state, rate, lag, how full the next batch is.
//!
//! Pure: from a snapshot and a width to a text. Who feeds it and when is not its business.

use std::time::Duration;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::console::escape;

/// What the line shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshot {
    /// The state's word.
    pub(crate) state: &'static str,
    /// What the state is about: the attempt and the reason of a wait, the reason of a hold, what is waited for.
    pub(crate) detail: Option<String>,
    /// Until something happens by itself: the next attempt.
    pub(crate) next_in: Option<Duration>,
    /// Records that are with the plugin, and how long they are, when that is worth a word.
    pub(crate) out: Option<(u64, Duration)>,
    /// Partitions that this member has.
    pub(crate) partitions: usize,
    /// Records committed per second, lately.
    pub(crate) records_per_second: f64,
    /// Records between committed and end, where known.
    pub(crate) lag: Option<u64>,
    /// Records waiting for the next hand-over.
    pub(crate) filling: u64,
    /// Records that close a batch.
    pub(crate) records_max: u32,
    /// Records committed since the start.
    pub(crate) committed: u64,
}

/// Cells of the bar.
const BAR: u64 = 10;

/// Renders the line in at most `width` columns: what matters least is left out first, then the end is cut.
pub(crate) fn render(snapshot: &Snapshot, width: usize) -> String {
    let mut parts = vec![state(snapshot)];
    parts.push(format!("{} rec/s", short(snapshot.records_per_second)));
    parts.push(snapshot.lag.map_or_else(|| "lag ?".to_owned(), |lag| format!("lag {}", grouped(lag))));
    parts.push(batch(snapshot));
    parts.push(format!("committed {}", grouped(snapshot.committed)));
    parts.push(match snapshot.partitions {
        1 => "1 partition".to_owned(),
        count => format!("{count} partitions"),
    });
    while parts.len() > 1 && length(&parts) > width {
        parts.pop();
    }
    let line = parts.join(SEPARATOR);
    if line.width() <= width { line } else { cut(&line, width) }
}

/// As much of the line as goes into so many columns with a mark behind it.
pub(super) fn cut(line: &str, width: usize) -> String {
    let mut text = String::new();
    let mut left = width.saturating_sub(1);
    for c in line.chars() {
        let Some(rest) = left.checked_sub(c.width().unwrap_or(0)) else { break };
        left = rest;
        text.push(c);
    }
    if width > 0 {
        text.push('…');
    }
    text
}

const SEPARATOR: &str = " · ";

fn length(parts: &[String]) -> usize {
    let text: usize = parts.iter().map(|part| part.width()).sum();
    text + SEPARATOR.width() * (parts.len() - 1)
}

fn state(snapshot: &Snapshot) -> String {
    let mut text = snapshot.state.to_owned();
    if let Some(next_in) = snapshot.next_in {
        text.push_str(&format!(", next in {:.1} s", next_in.as_secs_f64()));
    }
    if let Some(detail) = &snapshot.detail {
        text.push_str(&format!(": {}", escape(detail)));
    }
    text
}

fn batch(snapshot: &Snapshot) -> String {
    if let Some((records, age)) = snapshot.out {
        let noun = if records == 1 { "record" } else { "records" };
        return format!("batch {} {noun} out for {:.1} s", grouped(records), age.as_secs_f64());
    }
    let max = u64::from(snapshot.records_max).max(1);
    let full = (snapshot.filling.min(max) * BAR / max) as usize;
    let bar: String = (0..BAR as usize).map(|cell| if cell < full { '█' } else { '░' }).collect();
    format!("batch {bar} {}/{}", grouped(snapshot.filling), grouped(max))
}

/// A rate in at most five characters.
fn short(rate: f64) -> String {
    match rate {
        rate if rate >= 1_000_000.0 => format!("{:.1}M", rate / 1_000_000.0),
        rate if rate >= 1_000.0 => format!("{:.1}k", rate / 1_000.0),
        rate => format!("{rate:.0}"),
    }
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            state: "running",
            detail: None,
            next_in: None,
            out: None,
            partitions: 6,
            records_per_second: 12_345.0,
            lag: Some(4_210),
            filling: 250,
            records_max: 500,
            committed: 1_204_332,
        }
    }

    #[test]
    fn a_wide_terminal_shows_everything() {
        let line = render(&snapshot(), 200);
        let wanted =
            "running · 12.3k rec/s · lag 4,210 · batch █████░░░░░ 250/500 · committed 1,204,332 · 6 partitions";
        assert_eq!(line, wanted);
    }

    #[test]
    fn a_narrow_terminal_drops_what_matters_least() {
        assert_eq!(render(&snapshot(), 40), "running · 12.3k rec/s · lag 4,210");
        assert_eq!(render(&snapshot(), 5), "runn…");
        for width in 0..120 {
            assert!(render(&snapshot(), width).width() <= width, "at width {width}");
        }
    }

    #[test]
    fn characters_that_take_two_columns_are_counted_as_two() {
        let detail = Some("データベースが落ちています".to_owned());
        let held = Snapshot { state: "held", detail, ..snapshot() };
        assert_eq!(render(&held, 12), "held: デー…");
        for width in 0..60 {
            assert!(render(&held, width).width() <= width, "at width {width}");
        }
    }

    #[test]
    fn a_wait_says_when_and_why() {
        let detail = Some("attempt 4 failed: the database is down".to_owned());
        let waiting = Snapshot { state: "waiting", detail, next_in: Some(Duration::from_millis(3_200)), ..snapshot() };
        assert_eq!(render(&waiting, 70), "waiting, next in 3.2 s: attempt 4 failed: the database is down");
    }

    #[test]
    fn a_batch_that_is_out_is_no_empty_batch() {
        let out = Some((500, Duration::from_millis(4_100)));
        let busy = Snapshot { records_per_second: 0.0, filling: 0, out, ..snapshot() };
        assert_eq!(render(&busy, 70), "running · 0 rec/s · lag 4,210 · batch 500 records out for 4.1 s");
        let one = Snapshot { out: Some((1, Duration::from_secs(1))), ..busy };
        assert!(render(&one, 200).contains(" · batch 1 record out for 1.0 s · "));
    }

    #[test]
    fn a_plugins_words_cannot_move_the_cursor() {
        let detail = Some("\u{1b}[2J\nboo".to_owned());
        let held = Snapshot { state: "held", detail, ..snapshot() };
        assert!(!render(&held, 200).chars().any(char::is_control));
    }

    #[test]
    fn an_unknown_lag_is_no_zero() {
        assert!(render(&Snapshot { lag: None, ..snapshot() }, 200).contains("lag ?"));
    }
}
