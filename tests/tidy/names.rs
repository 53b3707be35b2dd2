//! Names of files and items: words that say nothing are not allowed.

use crate::code::code_only;
use crate::source::Source;

/// Words that could stand for anything.
const EMPTY_WORDS: &[&str] = &["util", "utils", "helper", "helpers", "common", "manager", "misc"];

/// What introduces the name of an item.
const KEYWORDS: &[&str] = &["fn", "struct", "enum", "trait", "type", "mod", "union", "const", "static", "macro_rules!"];

/// Files and items whose names contain an empty word, and functions whose names begin with `get_`.
pub(crate) fn empty_names(files: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for part in file.path.trim_end_matches(".rs").split('/') {
            complaints.extend(empty_word(part).map(|word| format!("{}: {word:?} says nothing", file.path)));
        }
        for (line, number) in code_only(&file.text).lines().zip(1..) {
            complaints.extend(complaint(line).map(|text| format!("{}:{number}: {text}", file.path)));
        }
    }
    complaints
}

fn complaint(line: &str) -> Option<String> {
    let (keyword, name) = item(line)?;
    if let Some(word) = empty_word(name) {
        return Some(format!("{word:?} in {name} says nothing"));
    }
    // A declaration that ends here is somebody else's function.
    let ours = keyword == "fn" && !line.trim_end().ends_with(';');
    (ours && name.starts_with("get_")).then(|| format!("{name}: say what it is, not that you get it"))
}

/// The keyword and the name, when the line begins an item.
fn item(line: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // The last of several, as in `const fn name`.
    let at = words.windows(2).position(|pair| KEYWORDS.contains(&pair[0]) && !KEYWORDS.contains(&pair[1]))?;
    let name = words[at + 1];
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    Some((words[at], &name[..end]))
}

/// The first empty word of a name in snake, camel or kebab case.
fn empty_word(name: &str) -> Option<String> {
    let mut words: Vec<String> = vec![String::new()];
    for c in name.chars() {
        if c.is_uppercase() || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.into_iter().find(|word| EMPTY_WORDS.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        empty_names(&[Source::sample(path, text)])
    }

    #[test]
    fn empty_names_are_found_in_files_and_items() {
        assert_eq!(complaints("host/src/utils.rs", "").len(), 1);
        assert_eq!(complaints("host/helpers/lane.rs", "").len(), 1);
        assert_eq!(
            complaints("a.rs", "pub(crate) struct LaneManager<T> {"),
            ["a.rs:1: \"manager\" in LaneManager says nothing"]
        );
        assert_eq!(complaints("a.rs", "mod common;\nconst fn helper() {}").len(), 2);
        assert_eq!(complaints("a.rs", "    pub fn get_offset(&self) -> u64 {").len(), 1);
    }

    #[test]
    fn honest_names_pass() {
        assert_eq!(
            complaints("host/src/run.rs", "fn budget_left() {}\nstruct Utility;\nlet common = 1; // fn get_x("),
            [""; 0]
        );
        assert_eq!(complaints("a.rs", "    fn get_random_bytes(len: u64);"), [""; 0]);
    }
}
