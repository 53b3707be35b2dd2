//! Links between the papers, and the files that they name, lead somewhere.

use super::markdown::{Paper, papers, root, spans};

/// The heading's place in a link, as code hosts make it.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}

fn links(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// What is wrong with a link of that paper.
fn complaint(paper: &Paper, link: &str) -> Option<String> {
    let (path, section) = link.split_once('#').unwrap_or((link, ""));
    let folder = root().join(&paper.path).parent().unwrap().to_owned();
    let target = if path.is_empty() { root().join(&paper.path) } else { folder.join(path) };
    if !target.exists() {
        return Some(format!("{}: {link} leads nowhere", paper.path));
    }
    let text = || std::fs::read_to_string(&target).unwrap();
    let is_there = || {
        text()
            .lines()
            .filter(|line| line.starts_with('#'))
            .any(|line| anchor(line.trim_start_matches(['#', ' '])) == section)
    };
    (!section.is_empty() && !is_there()).then(|| format!("{}: {link} names no heading", paper.path))
}

#[test]
fn every_link_leads_somewhere() {
    let (mut complaints, mut seen) = (Vec::new(), 0);
    for paper in papers() {
        let prose = paper.prose();
        for link in links(&prose).filter(|link| !link.contains("://")) {
            seen += 1;
            complaints.extend(complaint(&paper, link));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(seen > 20, "only {seen} links were found");
}

#[test]
fn every_path_that_is_named_exists() {
    const FOLDERS: [&str; 8] = ["host/", "wit/", "plugins/", "tests/", "xtask/", "docs/", "examples/", ".ci/"];
    let (mut complaints, mut seen) = (Vec::new(), 0);
    for paper in papers() {
        let prose = paper.prose();
        for path in spans(&prose).into_iter().filter(|span| FOLDERS.iter().any(|folder| span.starts_with(folder))) {
            seen += 1;
            let is_there = root().join(path).exists() || root().join(format!("{path}.rs")).exists();
            complaints.extend((!is_there).then(|| format!("{}: there is no {path}", paper.path)));
        }
    }
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(seen > 20, "only {seen} paths were found");
}

#[test]
fn a_link_to_nowhere_is_found() {
    let paper = Paper { path: "docs/x.md".to_owned(), text: String::new() };
    assert_eq!(complaint(&paper, "../README.md"), None);
    assert_eq!(complaint(&paper, "../README.md#a-plugin"), None);
    assert!(complaint(&paper, "README.md").is_some());
    assert!(complaint(&paper, "../README.md#no-such-heading").is_some());
    assert_eq!(anchor("[kafka]: where records come from"), "kafka-where-records-come-from");
}
