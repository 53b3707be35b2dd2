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
    /// What has to be granted before a plugin that imports it is loaded. `None`: nothing; what was not granted refuses inside.
    prerequisite: Option<Prerequisite>,
}

/// What has to be granted before a plugin is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prerequisite {
    /// Somewhere for its HTTP requests to go.
    Http,
}

impl Prerequisite {
    /// A line of the configuration that grants it.
    pub(crate) fn line(self) -> &'static str {
        match self {
            Self::Http => "plugin.grants.http = [\"https://api.example.com\"]",
        }
    }
}

const FAMILIES: [Family; 10] = [
    Family {
        package: "gristmill:plugin",
        track: "0.1",
        interfaces: &["types", "control"],
        capability: "the host's word on time and cancelling",
        prerequisite: None,
    },
    Family {
        package: "wasi:cli",
        track: "0.2",
        interfaces: &["environment", "exit"],
        capability: "settings as environment; no arguments",
        prerequisite: None,
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
        prerequisite: None,
    },
    Family {
        package: "wasi:io",
        track: "0.2",
        interfaces: &["error", "poll", "streams"],
        capability: "streams and waiting",
        prerequisite: None,
    },
    Family {
        package: "wasi:clocks",
        track: "0.2",
        interfaces: &["monotonic-clock", "wall-clock"],
        capability: "clocks and sleeping",
        prerequisite: None,
    },
    Family {
        package: "wasi:random",
        track: "0.2",
        interfaces: &["random", "insecure", "insecure-seed"],
        capability: "random bytes",
        prerequisite: None,
    },
    Family {
        package: "wasi:filesystem",
        track: "0.2",
        interfaces: &["types", "preopens"],
        capability: "files: to be read where plugin.grants.files says so",
        prerequisite: None,
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
        capability: "sockets: TCP where plugin.grants.tcp says so",
        prerequisite: None,
    },
    Family {
        package: "wasi:http",
        track: "0.2",
        interfaces: &["types", "outgoing-handler"],
        capability: "HTTP requests where plugin.grants.http says so",
        prerequisite: Some(Prerequisite::Http),
    },
    Family {
        package: "wasi:config",
        track: "0.2.0-rc",
        interfaces: &["store"],
        capability: "settings as key and value",
        prerequisite: None,
    },
];

/// What an import is, and whether this host offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Provision {
    /// Offered: what it lets a guest do, and what has to be granted for it.
    Offered(&'static str, Option<Prerequisite>),
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
        return Provision::Offered(family.capability, family.prerequisite);
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
        "wasi:http" => "plugins make requests and serve none; build the plugin without it".into(),
        "wasi:config" => "this host offers wasi:config/store@0.2.0-rc.1; build for that version".into(),
        "wasi:keyvalue" | "wasi:messaging" | "wasi:blobstore" | "wasi:logging" => {
            format!("this host does not offer {package}; build the plugin without it")
        }
        _ => "this host offers wasi:cli, wasi:clocks, wasi:filesystem, wasi:http, wasi:io, wasi:random and wasi:sockets in version \
              0.2, wasi:config/store@0.2.0-rc.1, and gristmill:plugin/control@0.1.0; build the plugin without it"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_offered(import: &str) -> bool {
        matches!(provision(import), Provision::Offered(..))
    }

    #[test]
    fn every_patch_of_wasi_0_2_fits() {
        for import in [
            "wasi:cli/environment@0.2.0",
            "wasi:io/streams@0.2.6",
            "wasi:sockets/tcp@0.2.12",
            "wasi:http/outgoing-handler@0.2.4",
            "wasi:config/store@0.2.0-rc.1",
        ] {
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
            "wasi:http/incoming-handler@0.2.6",
            "wasi:config/store@0.2.0-draft",
            "gristmill:plugin/control@0.2.0",
            "gristmill:plugin/metrics@0.1.0",
            "log",
        ];
        for import in imports {
            assert!(!is_offered(import), "{import}");
        }
    }
}
