//! What a machine can check about the form of this repository, checked: the rules stand in CONTRIBUTING.md and at the head
//! of each module here. Each check is a function from files to complaints, and has a test of its own with a bad sample: a
//! check that cannot fail is not a check.

#![expect(clippy::unwrap_used, reason = "a repository that cannot be read is a failure like any other")]

mod arrows;
mod code;
mod form;
mod manifest;
mod names;
mod rules;
mod secrets;
mod source;

use source::Repository;

/// Fails with all complaints at once, one on a line.
#[track_caller]
fn assert_tidy(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn files_are_short() {
    assert_tidy(&form::long_files(&Repository::read().rust()));
}

#[test]
fn files_say_what_they_do() {
    assert_tidy(&form::files_without_introduction(&Repository::read().rust()));
}

#[test]
fn there_is_one_select_in_the_host() {
    assert_tidy(&form::selects(&Repository::read().rust()));
}

#[test]
fn unsafe_stays_in_the_sys_modules() {
    assert_tidy(&form::stray_unsafe(&Repository::read().rust()));
}

#[test]
fn pure_tests_do_not_sleep() {
    assert_tidy(&form::sleeps_in_pure_code(&Repository::read().rust()));
}

#[test]
fn nothing_is_marked_as_to_be_done_or_ignored() {
    assert_tidy(&form::unfinished(&Repository::read().rust()));
}

#[test]
fn names_say_something() {
    assert_tidy(&names::empty_names(&Repository::read().rust()));
}

#[test]
fn crates_depend_downwards_only() {
    let repository = Repository::read();
    assert_tidy(&arrows::wrong_dependencies(&repository.manifests()));
    assert_tidy(&arrows::wrong_uses(&repository.rust()));
}

#[test]
fn the_core_asks_nobody() {
    assert_tidy(&arrows::impurities(&Repository::read().rust()));
}

#[test]
fn every_dependency_says_what_it_saves() {
    assert_tidy(&manifest::unexplained_dependencies(&Repository::read().manifests()));
}

#[test]
fn every_member_inherits_the_lints() {
    assert_tidy(&manifest::members_without_lints(&Repository::read().manifests()));
}

#[test]
fn nothing_names_a_machine_or_a_registry() {
    assert_tidy(&secrets::machine_paths(&Repository::read().files));
    assert_tidy(&secrets::registry_hosts(&Repository::read().files));
}

#[test]
fn every_rule_has_a_test() {
    let repository = Repository::read();
    assert_tidy(&rules::untested(repository.text("docs/rules.md"), &repository.rust()));
}

#[test]
fn every_test_that_a_paper_names_is_one() {
    let repository = Repository::read();
    for path in ["docs/compiling.md", "docs/network.md", "docs/security.md"] {
        let paper = repository.text(path);
        assert!(paper.matches("::").count() > 10, "{path} names no tests, and the check for it finds nothing any more");
        assert_tidy(&rules::missing_tests(paper, &repository.rust()));
    }
}

#[test]
fn every_threat_has_its_row() {
    assert_tidy(&rules::untold_threats(Repository::read().text("docs/security.md")));
}
