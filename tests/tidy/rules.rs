//! Rules and their tests: `docs/rules.md` names for each rule of the semantics the tests that hold it, and each of those
//! tests names the rule, in its own name or in the comment above it.

use crate::source::Source;

/// The groups of rules, each with the numbers that this version keeps.
const GROUPS: &[(&str, &[u32])] = &[
    ("A", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
    ("C", &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ("R", &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ("F", &[1, 2, 3, 4, 5]),
    ("D", &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ("B", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ("O", &[1, 2, 3, 4]),
    ("S", &[1, 2, 3, 5, 6]),
];

/// A test function: its name, and the comment and attributes above it.
#[derive(Debug)]
struct Test {
    name: String,
    above: String,
}

/// Rules without a row, without a test, or whose test does not exist or does not name them.
pub(crate) fn untested(table: &str, files: &[Source]) -> Vec<String> {
    let tests: Vec<Test> = files.iter().flat_map(|file| tests_of(&file.text)).collect();
    let mut complaints = Vec::new();
    for rule in GROUPS.iter().flat_map(|(group, numbers)| numbers.iter().map(move |n| format!("{group}{n}"))) {
        let row = table.lines().find(|line| line.starts_with(&format!("| {rule} |")));
        let Some(row) = row else {
            complaints.push(format!("docs/rules.md: no row for {rule}"));
            continue;
        };
        let named = tests_named_in(row);
        if named.is_empty() {
            complaints.push(format!("docs/rules.md: {rule} names no test"));
        }
        for name in named {
            let mut candidates = tests.iter().filter(|test| test.name == name).peekable();
            if candidates.peek().is_none() {
                complaints.push(format!("docs/rules.md: {rule} names {name}, which is no test"));
            } else if !candidates.any(|test| mentions(test, &rule)) {
                complaints.push(format!("docs/rules.md: {name} does not say that it is about {rule}"));
            }
        }
    }
    complaints
}

/// Tests that a paper names as `target::test` and that are none. A target is a folder of `tests`, or one of our crates.
pub(crate) fn missing_tests(paper: &str, files: &[Source]) -> Vec<String> {
    let is_target =
        |name: &str| name.starts_with("gristmill") || files.iter().any(|file| file.is_under(&format!("tests/{name}")));
    let tests: Vec<Test> = files.iter().flat_map(|file| tests_of(&file.text)).collect();
    let named = paper.split('`').skip(1).step_by(2).filter_map(|span| span.split_once("::"));
    let named =
        named.filter(|(target, name)| is_target(target) && name.chars().all(|c| c.is_alphanumeric() || c == '_'));
    named
        .filter(|(_, name)| !tests.iter().any(|test| test.name == *name))
        .map(|(target, name)| format!("{target}::{name} is no test"))
        .collect()
}

/// The threats that the design lists and that concern no network.
const THREATS: &[u32] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 25, 26, 42, 45, 50, 51, 52, 53, 60,
    62, 64, 65,
];

/// Threats without a row in the paper, and rows that name no test. One that nothing here can stop says so in words.
pub(crate) fn untold_threats(paper: &str) -> Vec<String> {
    let complaint = |threat: &u32| {
        let id = format!("T-{threat:02}");
        let Some(row) = paper.lines().find(|line| line.starts_with(&format!("| {id} |"))) else {
            return Some(format!("docs/security.md: no row for {id}"));
        };
        let told = !tests_named_in(row).is_empty() || row.contains("see below");
        (!told).then(|| format!("docs/security.md: {id} names no test"))
    };
    THREATS.iter().filter_map(complaint).collect()
}

/// The last parts of the paths in backticks in the last cell of a row: `core::lane::claim` names the test `claim`.
fn tests_named_in(row: &str) -> Vec<&str> {
    let cell = row.trim().trim_end_matches('|').rsplit('|').next().unwrap_or("");
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter_map(|path| path.rsplit("::").next()).collect()
}

/// Whether the test names the rule: as a word in the comment above it, or as the beginning of its own name.
fn mentions(test: &Test, rule: &str) -> bool {
    let in_name = test.name.split('_').any(|word| word.eq_ignore_ascii_case(rule));
    in_name || test.above.split(|c: char| !c.is_alphanumeric()).any(|word| word == rule)
}

/// All functions under a `#[test]` (or `#[tokio::test]`) of a file.
fn tests_of(text: &str) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut above = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("//") || line.starts_with("#[") {
            above.push_str(line);
            above.push('\n');
            continue;
        }
        let is_test = above.contains("#[test]") || above.contains("::test]") || above.contains("::test(");
        let signature = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "));
        if let (true, Some(rest)) = (is_test, signature) {
            let name = rest.split(['(', '<']).next().unwrap_or(rest).to_owned();
            tests.push(Test { name, above: above.clone() });
        }
        above.clear();
    }
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole_table(tests: &str) -> String {
        let rules = GROUPS.iter().flat_map(|(group, numbers)| numbers.iter().map(move |n| format!("{group}{n}")));
        rules.map(|rule| format!("| {rule} | what it says | {tests} |\n")).collect()
    }

    fn all_rules_in_one_test() -> Source {
        let rules = GROUPS.iter().flat_map(|(group, numbers)| numbers.iter().map(move |n| format!("{group}{n}")));
        let rules = rules.collect::<Vec<_>>().join(", ");
        Source::sample("a.rs", &format!("/// Holds {rules}.\n#[test]\nfn claim() {{}}\n"))
    }

    #[test]
    fn a_complete_table_passes() {
        assert_eq!(untested(&whole_table("`core::claim`"), &[all_rules_in_one_test()]), [""; 0]);
    }

    #[test]
    fn a_rule_without_a_row_is_found() {
        let table = whole_table("`claim`").replace("| R4 |", "| R44 |");
        assert_eq!(untested(&table, &[all_rules_in_one_test()]), ["docs/rules.md: no row for R4"]);
    }

    #[test]
    fn a_test_that_is_not_there_is_found() {
        let table = whole_table("`claim`").replacen("`claim`", "`other`", 1);
        assert_eq!(untested(&table, &[all_rules_in_one_test()]), ["docs/rules.md: A1 names other, which is no test"]);
        let no_tests = whole_table("later");
        assert!(untested(&no_tests, &[])[0].ends_with("A1 names no test"));
    }

    #[test]
    fn a_test_that_a_paper_names_and_that_is_gone_is_found() {
        let files = [Source::sample("tests/egress/a.rs", "#[test]\nfn claim() {}\n")];
        let paper = "`egress::claim`, `egress::gone`, `gristmill_egress::lost`, `std::mem`, `a::B { c }`";
        assert_eq!(missing_tests(paper, &files), ["egress::gone is no test", "gristmill_egress::lost is no test"]);
    }

    #[test]
    fn a_test_that_does_not_name_its_rule_is_found() {
        let silent = Source::sample("a.rs", &all_rules_in_one_test().text.replace("A1, ", ""));
        assert_eq!(
            untested(&whole_table("`claim`"), &[silent]),
            ["docs/rules.md: claim does not say that it is about A1"]
        );
    }

    #[test]
    fn a_rule_may_stand_in_the_name_of_its_test() {
        let tests = tests_of("#[test]\nfn a6_no_empty_batch() {}\nfn c1_not_a_test() {}\n");
        assert_eq!(tests.len(), 1);
        assert!(mentions(&tests[0], "A6") && !mentions(&tests[0], "C1"));
    }
}
