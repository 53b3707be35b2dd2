//! Rust text without its comments and without what stands in its strings, so that a word in either is not taken for code.

/// Replaces comments and the insides of strings and characters by spaces; lines stay where they are.
pub(crate) fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = end_of_text(&chars, at);
        if end > at {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// Where the comment, string or character that begins at `at` ends; `at` itself when none begins there.
fn end_of_text(chars: &[char], at: usize) -> usize {
    let next = |n: usize| chars.get(at + n).copied().unwrap_or(' ');
    let in_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match chars[at] {
        '/' if next(1) == '/' => chars[at..].iter().position(|c| *c == '\n').map_or(chars.len(), |n| at + n),
        '/' if next(1) == '*' => end_of_block_comment(chars, at),
        '"' => end_of_string(chars, at + 1),
        'r' if !in_word && (next(1) == '"' || next(1) == '#') => end_of_raw_string(chars, at),
        '\'' if next(1) == '\\' => chars[at + 3..].iter().position(|c| *c == '\'').map_or(chars.len(), |n| at + n + 4),
        '\'' if next(2) == '\'' => at + 3,
        _ => at,
    }
}

fn end_of_block_comment(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn end_of_string(chars: &[char], start: usize) -> usize {
    let mut at = start;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

fn end_of_raw_string(chars: &[char], start: usize) -> usize {
    let hashes = chars[start + 1..].iter().take_while(|c| **c == '#').count();
    let open = start + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return start; // A raw identifier such as r#type.
    }
    let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let rest = &chars[open + 1..];
    rest.windows(close.len()).position(|window| window == close).map_or(chars.len(), |n| open + 1 + n + close.len())
}

/// Whether the word stands in the line, not as a part of a longer one.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The lines before the inline tests of a file, which stand last.
pub(crate) fn before_inline_tests(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].trim().starts_with("mod tests");
    let end = lines.windows(2).position(begins).unwrap_or(lines.len());
    lines[..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_blanked_and_code_is_kept() {
        let code =
            code_only("let a = \"unsafe \\\" x\"; // unsafe\nlet b = r#\"unsafe \" y\"#; /* unsafe /* a */ b */ go();");
        assert!(!code.contains("unsafe"), "{code}");
        assert!(code.contains("let b =") && code.contains("go();"), "{code}");
        assert_eq!(code.lines().count(), 2);
    }

    #[test]
    fn lifetimes_and_characters_do_not_confuse() {
        let code = code_only("fn f<'a>(x: &'a str) -> char { if x == '\"' { '\\'' } else { 'b' } } unsafe {}");
        assert!(code.contains("unsafe"), "{code}");
        assert!(code_only("let r#type = 1; select!{}").contains("select!"));
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("unsafe { }", "unsafe"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
    }
}
