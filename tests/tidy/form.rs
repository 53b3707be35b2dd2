//! The form of source files: length, introduction, the one `select!`, where unsafe code and sleeping may be.

use crate::code::{before_inline_tests, code_only, has_word};
use crate::source::Source;

const LINES_MAX: usize = 400;

/// Files longer than 400 lines without their inline tests.
pub(crate) fn long_files(files: &[Source]) -> Vec<String> {
    let long = files.iter().map(|file| (file, before_inline_tests(&file.text).len()));
    long.filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(file, lines)| format!("{}: {lines} lines, more than {LINES_MAX}: split it by noun", file.path))
        .collect()
}

/// Files that do not begin with `//!`.
pub(crate) fn files_without_introduction(files: &[Source]) -> Vec<String> {
    let silent = files.iter().filter(|file| !file.text.starts_with("//! "));
    silent.map(|file| format!("{}: does not begin with //! and what it does", file.path)).collect()
}

/// Uses of `select!` in the host: one, in its run loop, and no more.
pub(crate) fn selects(files: &[Source]) -> Vec<String> {
    let places = places(files, |file| file.is_under("host"), |line| line.contains("select!"));
    match places.as_slice() {
        [only] if only.starts_with("host/src/") => Vec::new(),
        [] => vec!["host/src: there is no select!, and the check for it finds nothing any more".to_owned()],
        more => more.iter().map(|place| format!("{place}: the one select! is that of host/src/run")).collect(),
    }
}

/// Unsafe code outside the modules named `sys` of the two edges, and of the measurements, which need a loop that no safe
/// interface offers. Guests of the tests are outside the host's walls.
pub(crate) fn stray_unsafe(files: &[Source]) -> Vec<String> {
    let allowed = |file: &Source| {
        let in_sys = |edge: &str| file.path == format!("{edge}.rs") || file.is_under(edge);
        let of_edge = in_sys("host/kafka/src/sys") || in_sys("host/guest/src/sys");
        of_edge || in_sys("tests/bench/sys") || file.is_under("tests/guests")
    };
    let places = places(files, |file| !allowed(file), |line| has_word(line, "unsafe"));
    places.iter().map(|place| format!("{place}: unsafe belongs into the sys module of an edge")).collect()
}

/// Sleeping where only pure logic is tested.
pub(crate) fn sleeps_in_pure_code(files: &[Source]) -> Vec<String> {
    let pure = |file: &Source| file.is_under("host/core") || file.is_under("tests/simulation");
    let places = places(files, pure, |line| has_word(line, "sleep") || has_word(line, "sleep_until"));
    places.iter().map(|place| format!("{place}: pure logic has no time to sleep in")).collect()
}

/// Marks of unfinished work, in code and in comments, and tests that are not run.
pub(crate) fn unfinished(files: &[Source]) -> Vec<String> {
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat()];
    let mut complaints = Vec::new();
    for file in files {
        for (line, number) in file.text.lines().zip(1..) {
            if marks.iter().any(|mark| has_word(line, mark)) {
                complaints.push(format!("{}:{number}: finish it, or write down why it is as it is", file.path));
            }
        }
    }
    let ignored = places(files, |_| true, |line| line.contains("#[ignore"));
    complaints.extend(ignored.iter().map(|place| format!("{place}: a test that is not run proves nothing")));
    complaints
}

/// The lines of code, as `path:number`, that a check finds in the files that it is about.
pub(crate) fn places(files: &[Source], about: impl Fn(&Source) -> bool, found: impl Fn(&str) -> bool) -> Vec<String> {
    let mut places = Vec::new();
    for file in files.iter().filter(|file| about(file)) {
        let code = code_only(&file.text);
        let lines = code.lines().zip(1..).filter(|(line, _)| found(line));
        places.extend(lines.map(|(_, number)| format!("{}:{number}", file.path)));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(path: &str, text: &str) -> Vec<Source> {
        vec![Source::sample(path, text)]
    }

    #[test]
    fn a_long_file_is_found_and_its_inline_tests_do_not_count() {
        assert_eq!(long_files(&one("a.rs", &"x\n".repeat(401))).len(), 1);
        let with_tests = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "x\n".repeat(400), "y\n".repeat(100));
        assert_eq!(long_files(&one("a.rs", &with_tests)), [""; 0]);
    }

    #[test]
    fn a_file_without_introduction_is_found() {
        assert_eq!(files_without_introduction(&one("a.rs", "use std::fs;\n//! late\n")).len(), 1);
        assert_eq!(files_without_introduction(&one("a.rs", "//! What it does.\n")), [""; 0]);
    }

    #[test]
    fn a_second_select_is_found_and_so_is_none() {
        let run = Source::sample("host/src/run.rs", "tokio::select! { a = b => {} } // select!");
        let edge = Source::sample("host/kafka/src/consumer.rs", "tokio::select! {}");
        assert_eq!(selects(std::slice::from_ref(&run)), [""; 0]);
        assert_eq!(selects(&[run, edge.clone()]).len(), 2);
        assert_eq!(selects(&[edge]).len(), 1);
        assert_eq!(selects(&[]).len(), 1);
    }

    #[test]
    fn unsafe_outside_sys_is_found() {
        assert_eq!(
            stray_unsafe(&one("host/src/run.rs", "fn f() { unsafe { g() } }")),
            ["host/src/run.rs:1: unsafe belongs into the sys module of an edge"]
        );
        assert_eq!(stray_unsafe(&one("host/kafka/src/system.rs", "unsafe fn f() {}")).len(), 1);
        assert_eq!(stray_unsafe(&one("host/kafka/src/sys/queue.rs", "unsafe fn f() {}")), [""; 0]);
        assert_eq!(stray_unsafe(&one("host/src/lib.rs", "#![forbid(unsafe_code)] // unsafe")), [""; 0]);
    }

    #[test]
    fn a_sleep_in_pure_code_is_found() {
        assert_eq!(sleeps_in_pure_code(&one("tests/simulation/world.rs", "thread::sleep(d)")).len(), 1);
        assert_eq!(sleeps_in_pure_code(&one("host/core/src/lane.rs", "tokio::time::sleep_until(d)")).len(), 1);
        assert_eq!(sleeps_in_pure_code(&one("tests/src/host.rs", "thread::sleep(d)")), [""; 0]);
    }

    #[test]
    fn unfinished_work_is_found() {
        assert_eq!(unfinished(&one("a.rs", &["// TO", "DO later"].concat())).len(), 1);
        assert_eq!(unfinished(&one("a.rs", "#[ignore = \"slow\"]\nfn f() {}")).len(), 1);
    }
}
