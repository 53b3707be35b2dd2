//! Dead letters for people: one line for each, or all of one.
//!
//! Pure: from a letter to texts. Whatever comes out of a record is shown with control characters escaped.

use gristmill_guest::escape;
use gristmill_kafka::dead_letter::{Place, ToldFailure};
use unicode_width::UnicodeWidthStr;

use crate::counted::counted;
use crate::dead_letters::{Class, Letter, shown};
use crate::excerpt::short_reason;
use crate::records::FileRecord;

use super::super::live::cut;

/// How much of a key, a value or a header is shown.
const BYTES_SHOWN_MAX: usize = 4 << 10;
/// How many digits of a digest tell two plugins apart.
const DIGITS: usize = 8;

/// A table whose rows come one after the other, from a topic of any size: a column is as wide as its widest cell so far.
pub(super) struct Table {
    columns: Option<usize>,
    widths: [usize; 7],
}

impl Table {
    /// An empty one, whose lines are no longer than `columns`, where there is a bound.
    pub(super) fn new(columns: Option<usize>) -> Self {
        // A time is always as long as this one.
        Self { columns, widths: [4, "2026-01-31T12:00:00Z".len(), 8, 6, 5, 5, DIGITS] }
    }

    /// What stands above the rows. Asked for behind the first of them, it stands where that one does.
    pub(super) fn heading(&mut self) -> String {
        self.line(["at", "failed at", "class", "origin", "tried", "fails", "plugin"].map(str::to_owned), "reason")
    }

    /// One dead letter, by its latest failure.
    pub(super) fn row(&mut self, letter: &Letter) -> String {
        let failure = letter.latest();
        let or = |text: Option<String>| text.unwrap_or_else(|| "?".to_owned());
        let cells = [
            letter.at.to_string(),
            or(letter.failed_ms().map(to_seconds)),
            Class::listed(failure),
            or(letter.told.origin.as_ref().map(|origin| place(&origin.place))),
            or(failure.attempts.map(|attempts| attempts.to_string())),
            letter.told.failures.to_string(),
            or(failure.plugin_digest.as_deref().map(short_digest)),
        ];
        self.line(cells, &short_reason(&failure.reason))
    }

    fn line(&mut self, cells: [String; 7], reason: &str) -> String {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(&mut self.widths) {
            let cell = escape(cell.as_bytes());
            *width = cell.width().max(*width).min(CELL_COLUMNS_MAX);
            line += &cell;
            line += &" ".repeat(width.saturating_sub(cell.width()) + 2);
        }
        line += &escape(reason.as_bytes());
        // The last column stays empty: a terminal that is written full may have gone to the next line.
        match self.columns.map(|columns| columns.saturating_sub(1)) {
            Some(columns) if line.width() > columns => cut(&line, columns),
            Some(_) | None => line.trim_end().to_owned(),
        }
    }
}

/// No column grows wider, whatever somebody calls a topic or a class.
const CELL_COLUMNS_MAX: usize = 40;

/// A moment without what lies below a second.
fn to_seconds(ms: i64) -> String {
    let shown = shown(ms);
    shown.split_once('.').map_or(shown.clone(), |(seconds, _)| format!("{seconds}Z"))
}

/// All of one.
pub(super) fn whole(letter: &Letter, original: &FileRecord) -> Vec<String> {
    let told = &letter.told;
    let mut lines = vec![letter.at.to_string()];
    let mut say = |name: &str, words: &str| lines.push(format!("  {name:<9} {}", escape(words.as_bytes())));
    if let Some(ms) = letter.written_ms {
        say("written", &shown(ms));
    }
    if let Some(origin) = &told.origin {
        let at = match origin.timestamp {
            gristmill_kafka::Timestamp::None => String::new(),
            gristmill_kafka::Timestamp::CreateTime(ms) => format!(", made at {}", shown(ms)),
            gristmill_kafka::Timestamp::LogAppendTime(ms) => format!(", appended at {}", shown(ms)),
        };
        say("origin", &format!("{}{at}", place(&origin.place)));
    }
    say("failures", &format!("{}, replayed {}", told.failures, counted(u64::from(told.replays), "time")));
    if told.first != ToldFailure::default() {
        failure(&told.first, None, if told.last.is_some() { "first" } else { "failed" }, &mut say);
    }
    if let Some((place, last)) = &told.last {
        failure(last, place.as_ref(), "last", &mut say);
    }
    if let Some((at, bytes)) = &told.pointer {
        let bytes = bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes"));
        say("left out", &format!("what was too large for the topic lies at {}{bytes}", place(at)));
    }
    lines.push(format!("  {:<9} {}", "key", content(original.key.as_deref())));
    lines.push(format!("  {:<9} {}", "value", content(original.value.as_deref())));
    for header in &original.headers {
        let (name, value) = (content(Some(&header.name)), content(header.value.as_deref()));
        lines.push(format!("  {:<9} {name}: {value}", "header"));
    }
    lines
}

fn failure(failure: &ToldFailure, at: Option<&Place>, name: &str, say: &mut impl FnMut(&str, &str)) {
    let mut words = Class::listed(failure);
    words += &at.map_or(String::new(), |at| format!(" at {}", place(at)));
    words += &failure.at_ms.map_or(String::new(), |ms| format!(", {}", shown(ms)));
    words +=
        &failure.attempts.map_or(String::new(), |attempts| format!(", {}", counted(u64::from(attempts), "attempt")));
    say(name, &words);
    say("reason", &failure.reason);
    let rest = [("plugin", &failure.plugin_digest), ("search", &failure.halving), ("detail", &failure.detail)];
    for (name, text) in rest {
        if let Some(text) = text.as_ref().filter(|text| **text != failure.reason) {
            say(name, text);
        }
    }
}

fn place(place: &Place) -> String {
    format!("{}/{}@{}", place.topic, place.partition, place.offset)
}

fn short_digest(digest: &str) -> String {
    digest.strip_prefix("sha256:").unwrap_or(digest).chars().take(DIGITS).collect()
}

/// Bytes on one line, safe to show; null is no text.
fn content(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else { return "null".to_owned() };
    match bytes.get(..BYTES_SHOWN_MAX) {
        Some(shown) if shown.len() < bytes.len() => {
            format!("{}… ({} bytes in all; --output json has them)", escape(shown), bytes.len())
        }
        Some(_) | None if bytes.is_empty() => "\"\"".to_owned(),
        Some(_) | None => escape(bytes),
    }
}

#[cfg(test)]
mod tests {
    use gristmill_kafka::dead_letter::{Origin, Told};

    use super::*;
    use crate::dead_letters::{at_origin, sample};
    use crate::records::FileHeader;

    fn row(letter: &Letter, columns: Option<usize>) -> String {
        Table::new(columns).row(letter)
    }

    #[test]
    fn a_line_tells_the_latest_failure() {
        let first =
            "0:12  2023-11-14T22:13:20Z  rejected  orders/3@7777  1      1      852edbc5  no such currency: GBP";
        assert_eq!(row(&sample(), None), first);
        let mut letter = sample();
        letter.told.last = Some((None, ToldFailure { reason: "again".to_owned(), ..ToldFailure::default() }));
        assert!(row(&letter, None).ends_with("  again"), "{}", row(&letter, None));
    }

    #[test]
    fn columns_grow_with_what_comes_and_not_without_end() {
        let mut table = Table::new(None);
        let _ = table.row(&sample());
        let heading = table.heading();
        assert_eq!(heading, "at    failed at             class     origin         tried  fails  plugin    reason");
        let before = table.row(&sample());
        let mut long = sample();
        long.told.first.class = "org.apache.kafka.connect.errors.DataException".to_owned();
        assert!(table.row(&long).contains("DataException  orders/3@7777  1 "), "{}", table.row(&long));
        let after = table.row(&sample());
        assert_eq!(after.find("orders"), before.find("orders").map(|at| at + CELL_COLUMNS_MAX - "rejected".len()));
    }

    #[test]
    fn a_line_is_never_wider_than_the_terminal_and_cannot_move_it() {
        let mut letter = sample();
        letter.told.first.reason = "\u{1b}[2J漢字\nnext".repeat(50);
        letter.told.first.class = "x".repeat(200);
        for columns in 1..200 {
            let row = row(&letter, Some(columns));
            assert!(row.width() < columns, "{columns}: {row}");
        }
        assert!(!row(&letter, None).contains(['\u{1b}', '\n']));
    }

    #[test]
    fn all_of_one_is_told_with_what_is_null_apart_from_what_is_empty() {
        let mut letter = sample();
        let at = Place { topic: "orders".to_owned(), partition: 3, offset: 9000 };
        let last = ToldFailure {
            class: "fault".to_owned(),
            fault: Some("trap".to_owned()),
            reason: "it\u{1b}[1m broke".to_owned(),
            halving: Some("8 > 4 > 1".to_owned()),
            ..ToldFailure::default()
        };
        letter.told.last = Some((Some(at.clone()), last));
        letter.told.pointer = Some((at, Some(2_000_000)));
        let header = FileHeader { name: b"h".to_vec(), value: None };
        let lines = whole(&letter, &at_origin(&letter.told, Some(Vec::new()), Some(vec![b'v'; 5_000]), vec![header]));
        let all = lines.join("\n");
        for line in [
            "0:12\n  written   2023-11-14T22:13:20.500Z\n  origin    orders/3@7777, made at 2020-09-13T12:26:40.000Z\n",
            "\n  failures  1, replayed 0 times\n  first     rejected, 2023-11-14T22:13:20.000Z, 1 attempt\n",
            "\n  reason    no such currency: GBP\n  plugin    sha256:852edbc595d9aabb\n  last      fault/trap at orders/3@9000\n",
            "\n  reason    it\\u{1b}[1m broke\n  search    8 > 4 > 1\n",
            "\n  left out  what was too large for the topic lies at orders/3@9000, 2000000 bytes\n",
            "\n  key       \"\"\n  value     vvv",
            "vvv… (5000 bytes in all; --output json has them)\n  header    h: null",
        ] {
            assert!(all.contains(line), "{line:?} in {all:?}");
        }
    }

    #[test]
    fn what_kafka_connect_does_not_tell_is_a_question_mark() {
        let told = Told { origin: None::<Origin>, ..sample().told };
        let mut letter = Letter { told, ..sample() };
        letter.told.first.attempts = None;
        letter.told.first.plugin_digest = None;
        let row = row(&letter, None);
        assert!(row.ends_with("  rejected  ?       ?      1      ?         no such currency: GBP"), "{row}");
    }
}
