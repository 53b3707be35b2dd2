//! Paths of files and folders, as they are written.
//!
//! An empty one would be the folder of the configuration itself, and what a shell or systemd would put something in place of would be
//! a file of that literal name: both are refused. What lies at a path is not looked at.

use std::path::{Path, PathBuf};

use super::findings::Findings;

/// Parses the path that stands at `keys`, relative to `folder`, and refuses what hardly anybody means as one.
pub(crate) fn parse(keys: &[&str], written: &str, folder: &Path, findings: &mut Findings) -> PathBuf {
    if let Some(fault) = fault(written) {
        findings.refuse(&[keys], format!("{} {fault}", keys.join(".")));
    }
    folder.join(written)
}

/// What is wrong with a path, to be read behind its key.
pub(crate) fn fault(written: &str) -> Option<String> {
    if written.trim().is_empty() {
        return Some("is empty; write a path".to_owned());
    }
    stand_in(written).map(|fault| format!("= {written:?}: {fault}"))
}

/// What is wrong with a path in which a shell or systemd would put something in place of a part. A part behind `./` is meant as it is.
pub(crate) fn stand_in(written: &str) -> Option<String> {
    let written = written.trim();
    let parts: Vec<&str> = written.split('/').collect();
    let before = |at: usize| at.checked_sub(1).map(|at| parts[at]);
    let home = parts[0].starts_with('~').then_some(0);
    let at = home.or_else(|| (0..parts.len()).find(|at| is_stand_in(parts[*at]) && before(*at) != Some(".")))?;
    let (part, path) = (parts[at], |part: &str| [&parts[..at], &[part], &parts[at + 1..]].concat().join("/"));
    let advice = match part.strip_prefix('$') {
        Some(name) => format!("write \"{}\"", path(&format!("${{{name}}}"))),
        None if matches!(part, "~" | "%h") => format!("write \"{}\"", path("${HOME}")),
        None => "write the whole path".to_owned(),
    };
    let literal = path(&format!("./{part}"));
    Some(format!(
        "nothing is put in place of {part:?} here; {advice} (a file or folder of this name would be {literal:?})"
    ))
}

/// True for a shell's variable, and for systemd's letters.
fn is_stand_in(part: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let is_letter = |letter: &str| letter.len() == 1 && letter.chars().all(|c| c.is_ascii_alphabetic());
    part.strip_prefix('$').is_some_and(is_name) || part.strip_prefix('%').is_some_and(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_else_would_replace_is_told_with_what_to_write() {
        for (written, wanted) in [
            ("", "is empty; write a path"),
            (" \t", "is empty; write a path"),
            ("~", "in place of \"~\" here; write \"${HOME}\" (a file or folder of this name would be \"./~\")"),
            ("~/ca.pem", "write \"${HOME}/ca.pem\""),
            ("~me/ca.pem", "in place of \"~me\" here; write the whole path"),
            ("$HOME/c", "= \"$HOME/c\": nothing is put in place of \"$HOME\" here; write \"${HOME}/c\""),
            ("/srv/$USER/c", "write \"/srv/${USER}/c\" (a file or folder of this name would be \"/srv/./$USER/c\")"),
            ("%h/c", "in place of \"%h\" here; write \"${HOME}/c\""),
            ("/var/cache/%i", "in place of \"%i\" here; write the whole path"),
        ] {
            let fault = fault(written).unwrap_or_default();
            assert!(fault.contains(wanted), "{written:?}: {fault}");
        }
    }

    #[test]
    fn names_of_files_are_taken_as_they_are() {
        for path in
            [".", "a~", "./~", "./$HOME", "/srv/./$USER", "a$b", "$", "$1", "100%", "%", "%20", "a/%2F", "${HOME}"]
        {
            assert_eq!(fault(path), None, "{path}");
        }
    }
}
