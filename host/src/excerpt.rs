//! Cuts what may be long to what a line that people read can hold.
//!
//! It does not know what the text means.

use std::ops::Range;

use gristmill_guest::shortened;

/// How much of a reason is repeated where something else has to be read as well: the way out.
const REASON_CHARS_MAX: usize = 200;

/// The beginning of a reason. More of it stands where it arose: in the event of the fault, or in the answer of the plugin.
pub(crate) fn short_reason(reason: &str) -> String {
    shortened(reason, REASON_CHARS_MAX)
}

/// How much of a message is kept at each of its ends. What people wrote stands in the middle: a name, a value.
const MESSAGE_SIDE_CHARS: usize = 300;

/// Both ends of a message: what is wrong, and the way out.
pub(crate) fn both_ends(message: &str) -> String {
    let head = message.char_indices().nth(MESSAGE_SIDE_CHARS).map(|(end, _)| end);
    let tail = message.char_indices().rev().nth(MESSAGE_SIDE_CHARS - 1).map(|(start, _)| start);
    match (head, tail) {
        (Some(end), Some(start)) if end < start => format!("{}…{}", &message[..end], &message[start..]),
        _ => message.to_owned(),
    }
}

/// How much of a line is shown on each side of the place that it is shown for.
const LINE_SIDE_CHARS: usize = 120;

/// The part of a line around the bytes of interest, and where they lie in it.
pub(crate) fn around(line: &str, place: Range<usize>) -> (String, Range<usize>) {
    let before = line[..place.start].char_indices().rev().nth(LINE_SIDE_CHARS - 1);
    let from = before.map_or(0, |(start, _)| start);
    let behind = line[place.start..].char_indices().nth(LINE_SIDE_CHARS);
    let to = behind.map_or(line.len(), |(end, _)| place.start + end);
    let mark = |cut: bool| if cut { "…" } else { "" };
    let head = mark(from > 0);
    let shown = format!("{head}{}{}", &line[from..to], mark(to < line.len()));
    let at = |byte: usize| byte.min(to) - from + head.len();
    (shown, at(place.start)..at(place.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_the_place_with_marks_where_it_goes_on() {
        let line = format!("{}[é]{}", "ä".repeat(200), "ö".repeat(200));
        let start = line.find('[').unwrap();
        let (shown, place) = around(&line, start..start + "[é]".len());
        assert_eq!(shown, format!("…{}[é]{}…", "ä".repeat(120), "ö".repeat(117)));
        assert_eq!(&shown[place], "[é]");
    }

    #[test]
    fn a_place_that_is_long_itself_is_cut_as_well() {
        let (shown, place) = around(&"x".repeat(10_000), 0..9_000);
        assert_eq!((shown.as_str(), place), (format!("{}…", "x".repeat(120)).as_str(), 0..120));
    }

    #[test]
    fn a_short_line_stays_as_it_is() {
        assert_eq!(around("max_record = 5", 0..10), ("max_record = 5".to_owned(), 0..10));
        assert_eq!(around("", 0..0), (String::new(), 0..0));
    }

    #[test]
    fn a_long_message_keeps_what_is_wrong_and_the_way_out() {
        let message = format!("unknown key \"{}\"; known are a and b", "é".repeat(100_000));
        let cut = both_ends(&message);
        assert!(cut.starts_with("unknown key \"éé") && cut.ends_with("éé\"; known are a and b"), "{cut}");
        assert_eq!(cut.chars().count(), 2 * MESSAGE_SIDE_CHARS + 1);
        let longest = "x".repeat(2 * MESSAGE_SIDE_CHARS);
        assert_eq!(both_ends(&longest), longest);
    }
}
