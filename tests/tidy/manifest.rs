//! Manifests of the members: what they depend on, whether each dependency is explained, whether the lints apply.

use crate::source::Source;

/// A dependency as it stands in a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) explained: bool,
    pub(crate) line: usize,
}

/// The dependencies of a manifest, of every kind.
pub(crate) fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut in_table = false;
    let mut above = "";
    for (line, number) in manifest.lines().zip(1..) {
        let line = line.trim();
        if line.starts_with('[') {
            in_table = line.trim_end_matches(']').ends_with("dependencies");
        } else if in_table && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['.', '=', ' ']).next().unwrap_or(line).to_owned();
            found.push(Dependency { name, explained: above.starts_with('#') || line.contains('#'), line: number });
        }
        above = line;
    }
    found
}

/// Dependencies on other people's crates without a comment above or beside them.
pub(crate) fn unexplained_dependencies(manifests: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for manifest in manifests {
        let unexplained = dependencies(&manifest.text).into_iter().filter(|it| !it.explained && !is_ours(&it.name));
        complaints.extend(unexplained.map(|Dependency { name, line, .. }| {
            format!("{}:{line}: say in a comment above {name} what it saves us", manifest.path)
        }));
    }
    complaints
}

/// Members to which the workspace's lints do not apply.
pub(crate) fn members_without_lints(manifests: &[Source]) -> Vec<String> {
    let lax = manifests.iter().filter(|manifest| !manifest.text.contains("[lints]\nworkspace = true"));
    lax.map(|manifest| format!("{}: add [lints] workspace = true", manifest.path)).collect()
}

pub(crate) fn is_ours(name: &str) -> bool {
    name == "gristmill" || name.starts_with("gristmill-") || name == "xtask"
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[package]\nname = \"x\"\n\n[dependencies]\n# Saves us a parser.\ntoml.workspace = true\n\
                            bytes = \"1\"\ngristmill-core.workspace = true\n\n[dev-dependencies]\nrand = \"1\" # Chance.\n";

    #[test]
    fn dependencies_of_all_kinds_are_read() {
        let names: Vec<String> = dependencies(MANIFEST).into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["toml", "bytes", "gristmill-core", "rand"]);
    }

    #[test]
    fn an_unexplained_dependency_is_found() {
        let complaints = unexplained_dependencies(&[Source::sample("host/Cargo.toml", MANIFEST)]);
        assert_eq!(complaints, ["host/Cargo.toml:7: say in a comment above bytes what it saves us"]);
    }

    #[test]
    fn a_member_without_lints_is_found() {
        assert_eq!(members_without_lints(&[Source::sample("host/Cargo.toml", MANIFEST)]).len(), 1);
        let good = Source::sample("host/Cargo.toml", "[lints]\nworkspace = true\n");
        assert_eq!(members_without_lints(&[good]), [""; 0]);
    }
}
