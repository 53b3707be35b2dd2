//! Which interfaces this host offers to plugins, by name, and what to do about one that it does not offer.
//!
//! The linker offers the interfaces themselves. Where the two disagree, linking refuses what passed here.

/// What one family of imports lets a guest do.
struct Family {
    package: &'static str,
    /// The versions that fit: `0.2` stands for every 0.2.x, since they differ in additions only.
    track: &'static str,
    interfaces: &'static [&'static str],
    capability: &'static str,
}

const FAMILIES: [Family; 8] = [
    Family {
        package: "gristmill:plugin",
        track: "0.1",
        interfaces: &["types", "control"],
        capability: "the host's word on time and cancelling",
    },
    Family {
        package: "wasi:cli",
        track: "0.2",
        interfaces: &["environment", "exit"],
        capability: "settings as environment; no arguments",
    },
    Family {
        package: "wasi:cli",
        track: "0.2",
        interfaces: &[
            "stdin",
            "stdout",
            "stderr",
            "terminal-input",
            "terminal-output",
            "terminal-stdin",
            "terminal-stdout",
            "terminal-stderr",
        ],
        capability: "output as log lines; no input",
    },
    Family {
        package: "wasi:io",
        track: "0.2",
        interfaces: &["error", "poll", "streams"],
        capability: "streams and waiting",
    },
    Family {
        package: "wasi:clocks",
        track: "0.2",
        interfaces: &["monotonic-clock", "wall-clock"],
        capability: "clocks and sleeping",
    },
    Family {
        package: "wasi:random",
        track: "0.2",
        interfaces: &["random", "insecure", "insecure-seed"],
        capability: "random bytes",
    },
    Family {
        package: "wasi:filesystem",
        track: "0.2",
        interfaces: &["types", "preopens"],
        capability: "files: none within reach",
    },
    Family {
        package: "wasi:sockets",
        track: "0.2",
        interfaces: &[
            "network",
            "instance-network",
            "tcp",
            "tcp-create-socket",
            "udp",
            "udp-create-socket",
            "ip-name-lookup",
        ],
        capability: "sockets: every address refused",
    },
];

/// What an import is, and whether this host offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Provision {
    /// Offered; what it lets a guest do.
    Offered(&'static str),
    /// Not offered; what to do about it.
    Missing(String),
}

/// Looks up one import of a component by its name, such as `wasi:cli/environment@0.2.6`.
pub(crate) fn provision(import: &str) -> Provision {
    let (path, version) = import.split_once('@').unwrap_or((import, ""));
    let Some((package, interface)) = path.split_once('/') else {
        return Provision::Missing(
            "plugins may import interfaces only, no functions of their own; see wit/plugin.wit".into(),
        );
    };
    let named = FAMILIES.iter().filter(|family| family.package == package && family.interfaces.contains(&interface));
    if let Some(family) = named.clone().find(|family| fits(version, family.track)) {
        return Provision::Offered(family.capability);
    }
    Provision::Missing(match named.map(|family| family.track).next() {
        Some(track) if !fits(version, track) => {
            format!("this host offers {path} in version {track}; build for that version")
        }
        _ => elsewhere(package),
    })
}

fn fits(version: &str, track: &str) -> bool {
    let rest = version.strip_prefix(track).and_then(|rest| rest.strip_prefix('.'));
    rest.is_some_and(|patch| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit()))
}

fn elsewhere(package: &str) -> String {
    match package {
        "wasi:http" => "this version of the host cannot grant HTTP; build the plugin without it".into(),
        "wasi:config" => "settings come as environment variables in this version; read them there".into(),
        "wasi:keyvalue" | "wasi:messaging" | "wasi:blobstore" | "wasi:logging" => {
            format!("this host does not offer {package}; build the plugin without it")
        }
        _ => "this host offers wasi:cli, wasi:clocks, wasi:filesystem, wasi:io, wasi:random and wasi:sockets in version 0.2, \
              and gristmill:plugin/control@0.1.0; build the plugin without it"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_offered(import: &str) -> bool {
        matches!(provision(import), Provision::Offered(_))
    }

    #[test]
    fn every_patch_of_wasi_0_2_fits() {
        for import in ["wasi:cli/environment@0.2.0", "wasi:io/streams@0.2.6", "wasi:sockets/tcp@0.2.12"] {
            assert!(is_offered(import), "{import}");
        }
    }

    #[test]
    fn other_versions_and_unknown_interfaces_do_not_fit() {
        let imports = [
            "wasi:cli/environment@0.3.0",
            "wasi:cli/environment@0.20.1",
            "wasi:cli/environment@0.2.0-rc-2023-11-10",
            "wasi:cli/environment",
            "wasi:cli/run@0.2.6",
            "wasi:http/outgoing-handler@0.2.6",
            "gristmill:plugin/control@0.2.0",
            "gristmill:plugin/metrics@0.1.0",
            "log",
        ];
        for import in imports {
            assert!(!is_offered(import), "{import}");
        }
    }
}
