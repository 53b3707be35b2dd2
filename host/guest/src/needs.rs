//! What a plugin says it needs, held against what it is granted: both sides have to agree.
//!
//! The question is put to an instance that has neither network nor files. Nothing here decides what may be granted.

use wasmtime::component::{ComponentType, Lift};

use crate::grants::Grants;
use crate::stdio::escape;
use crate::words::shortened;

/// The optional export that says what a plugin needs.
pub(crate) const MANIFEST: &str = "gristmill:plugin/manifest@0.1.0";

/// How many needs are listened to.
const WISHES_MAX: usize = 100;
/// How much of a name or a reason is shown.
const WORDS_MAX: usize = 200;

/// Something that a plugin needs.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift)]
#[component(variant)]
pub(crate) enum Need {
    #[component(name = "setting")]
    Setting(String),
    #[component(name = "http")]
    Http,
    #[component(name = "tcp")]
    Tcp,
    #[component(name = "files")]
    Files(String),
}

/// A need, and what for.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift)]
#[component(record)]
pub(crate) struct Wish {
    pub(crate) need: Need,
    pub(crate) why: String,
}

/// What a plugin needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needs(Vec<Wish>);

impl Needs {
    /// Takes what the plugin said, as much of it as is listened to.
    pub(crate) fn said(wishes: Vec<Wish>) -> Self {
        Self(wishes.into_iter().take(WISHES_MAX).collect())
    }

    /// What is needed and not granted: each with its reason and the line to write, or that a `deterministic` plugin cannot have it.
    pub(crate) fn missing(&self, grants: &Grants, deterministic: bool) -> Vec<String> {
        let missing = self.0.iter().filter(|wish| !is_granted(&wish.need, grants));
        let way_out = |need: &Need| match need {
            Need::Http | Need::Tcp if deterministic => {
                "remove plugin.deterministic, with which a plugin has no network".to_owned()
            }
            Need::Http | Need::Tcp | Need::Setting(_) | Need::Files(_) => format!("write {}", line(need)),
        };
        missing.map(|Wish { need, why }| format!("{} ({}): {}", what(need), shown(why), way_out(need))).collect()
    }

    /// The grants without what the plugin does not need. Settings stay: they are what it is told, not what it may do.
    pub(crate) fn only(&self, mut grants: Grants) -> Grants {
        let needs = |need: &Need| self.0.iter().any(|wish| wish.need == *need);
        if !needs(&Need::Http) {
            grants.rules.http.clear();
        }
        if !needs(&Need::Tcp) {
            grants.rules.tcp.clear();
        }
        grants.files.retain(|files| needs(&Need::Files(files.mount.clone())));
        grants
    }
}

fn is_granted(need: &Need, grants: &Grants) -> bool {
    match need {
        Need::Setting(name) => grants.settings.contains_key(name),
        Need::Http => !grants.rules.http.is_empty(),
        Need::Tcp => !grants.rules.tcp.is_empty(),
        Need::Files(mount) => grants.files.iter().any(|files| files.mount == *mount),
    }
}

fn what(need: &Need) -> String {
    match need {
        Need::Setting(name) => format!("the setting {}", shown(name)),
        Need::Http => "HTTP requests".to_owned(),
        Need::Tcp => "TCP connections".to_owned(),
        Need::Files(mount) => format!("a folder as {}", shown(mount)),
    }
}

fn line(need: &Need) -> String {
    match need {
        Need::Setting(name) => format!("plugin.settings.{} = \"…\"", shown(name)),
        Need::Http => "plugin.grants.http = [\"https://api.example.com\"]".to_owned(),
        Need::Tcp => "plugin.grants.tcp = [\"db.internal:5432\"]".to_owned(),
        Need::Files(mount) => format!("plugin.grants.files = [{{ path = \"…\", as = \"{}\" }}]", shown(mount)),
    }
}

fn shown(text: &str) -> String {
    shortened(&escape(text.as_bytes()), WORDS_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::files::FilesGrant;

    fn wish(need: Need) -> Wish {
        Wish { need, why: "because".to_owned() }
    }

    fn files(mount: &str) -> FilesGrant {
        FilesGrant { folder: "lookup".into(), mount: mount.to_owned(), bytes_max: 1 }
    }

    #[test]
    fn what_is_needed_and_not_granted_is_told_with_the_line_to_write() {
        let needs = Needs::said(vec![
            wish(Need::Setting("table".to_owned())),
            wish(Need::Setting("zone".to_owned())),
            wish(Need::Files("/lookup".to_owned())),
            wish(Need::Tcp),
        ]);
        let settings = BTreeMap::from([("zone".to_owned(), "eu".to_owned())]);
        let grants = Grants { settings, files: vec![files("/lookup")], ..Grants::default() };
        assert_eq!(
            needs.missing(&grants, false),
            [
                "the setting table (because): write plugin.settings.table = \"…\"",
                "TCP connections (because): write plugin.grants.tcp = [\"db.internal:5432\"]"
            ]
        );
    }

    #[test]
    fn a_deterministic_plugin_that_needs_the_network_is_told_that_there_is_none() {
        let needs = Needs::said(vec![wish(Need::Http), wish(Need::Setting("table".to_owned()))]);
        assert_eq!(
            needs.missing(&Grants::default(), true),
            [
                "HTTP requests (because): remove plugin.deterministic, with which a plugin has no network",
                "the setting table (because): write plugin.settings.table = \"…\""
            ]
        );
    }

    #[test]
    fn what_is_granted_and_not_needed_is_not_given() {
        let mut grants = Grants { files: vec![files("/lookup"), files("/more")], ..Grants::default() };
        grants.rules.tcp.push(gristmill_egress::destination::TcpDestination::parse("localhost:5432").unwrap());
        let left = Needs::said(vec![wish(Need::Files("/more".to_owned()))]).only(grants.clone());
        assert_eq!((left.files.len(), left.files[0].mount.as_str(), left.rules.tcp.len()), (1, "/more", 0));
        assert_eq!(Needs::said(vec![wish(Need::Tcp)]).only(grants).rules.tcp.len(), 1);
    }
}
