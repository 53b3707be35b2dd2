//! What only some machine knows, and what belongs to nobody's source: paths of a developer's machine, hosts of registries.

use crate::source::Source;

/// The beginnings of paths that exist on one machine only, in pieces, so that this file does not contain them.
const MACHINE_PATHS: &[[&str; 2]] = &[["/ro", "ot/"], ["/ho", "me/"], ["/wo", "rk/"], ["/tm", "p/"], ["C:\\", "Users"]];

/// Hosts of package registries, in pieces for the same reason. A registry is reached by its client, which knows the host.
const REGISTRY_HOSTS: &[[&str; 2]] = &[
    ["crates", ".io"],
    ["pypi", ".org"],
    ["npmjs", ".org"],
    ["npmjs", ".com"],
    ["proxy.golang", ".org"],
    ["repo.maven", ".apache.org"],
    ["repo1", ".maven.org"],
    ["deb.debian", ".org"],
];

/// Written by cargo, with the index of each package in it.
const WRITTEN_BY_TOOLS: &[&str] = &["Cargo.lock", "tests/peers/rust/Cargo.lock"];

/// Absolute paths of some machine.
pub(crate) fn machine_paths(files: &[Source]) -> Vec<String> {
    lines_with(files, MACHINE_PATHS, "is a path of one machine")
}

/// Hosts of package registries.
pub(crate) fn registry_hosts(files: &[Source]) -> Vec<String> {
    lines_with(files, REGISTRY_HOSTS, "is the host of a registry")
}

fn lines_with(files: &[Source], pieces: &[[&str; 2]], what: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| !WRITTEN_BY_TOOLS.contains(&file.path.as_str())) {
        for (line, number) in file.text.lines().zip(1..) {
            for text in pieces.iter().map(|pair| pair.concat()).filter(|text| begins_in(line, text)) {
                complaints.push(format!("{}:{number}: {text} {what}", file.path));
            }
        }
    }
    complaints
}

/// Whether the text stands in the line and is not the middle of a longer path or name.
fn begins_in(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '}' || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found() {
        let text = format!("let folder = \"{}/build\";", MACHINE_PATHS[0].concat());
        assert_eq!(machine_paths(&[Source::sample("a.rs", &text)]).len(), 1);
        assert_eq!(machine_paths(&[Source::sample("a.rs", "the home/folder and {root}/root/x")]), [""; 0]);
    }

    #[test]
    fn the_host_of_a_registry_is_found_except_where_cargo_wrote_it() {
        let text = format!("see {}/crates/x", REGISTRY_HOSTS[0].concat());
        assert_eq!(registry_hosts(&[Source::sample("README.md", &text)]).len(), 1);
        assert_eq!(registry_hosts(&[Source::sample("Cargo.lock", &text)]), [""; 0]);
    }
}
