//! What the plugin may reach, as the guest edge wants to hear it.
//!
//! What an origin, a destination or a range of addresses is, is that edge's knowledge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use gristmill_guest::egress::address::parse_range;
use gristmill_guest::egress::destination::{DestinationError, HttpOrigin, TcpDestination};
use gristmill_guest::egress::{HttpGrant, RuleError, Rules};
use gristmill_guest::{FilesGrant, shortened};

use super::file::{GrantsSection, Instances, PluginSection};
use super::findings::Findings;
use super::paths;
use super::problem::Place;
use super::secret::{STARS, Secret};

const HTTP: [&str; 3] = ["plugin", "grants", "http"];
const TCP: [&str; 3] = ["plugin", "grants", "tcp"];
const ADDRESSES: [&str; 3] = ["plugin", "grants", "addresses"];
const CA_FILE: [&str; 3] = ["plugin", "grants", "ca_file"];
const FILES: [&str; 3] = ["plugin", "grants", "files"];
const DETERMINISTIC: [&str; 2] = ["plugin", "deterministic"];

/// What the plugin may reach.
#[derive(Clone, Debug, Default)]
pub struct GrantsConfig {
    /// Where its requests and connections may go.
    pub rules: Rules,
    /// Which folders it may read.
    pub files: Vec<FilesGrant>,
}

/// The plugin's settings, secrets that it is given included.
pub(crate) fn settings(plugin: &PluginSection) -> BTreeMap<String, Secret> {
    let exposed = plugin.secrets.iter().filter(|(_, secret)| secret.expose);
    let exposed = exposed.map(|(name, secret)| (name.clone(), secret.value.clone()));
    plugin.settings.clone().into_iter().chain(exposed).collect()
}

/// Where the value of each secret was written that the plugin is given.
pub(crate) fn places(plugin: &PluginSection, findings: &Findings) -> BTreeMap<String, Place> {
    let place = |name: &String| {
        let node = findings.root.find(&["plugin", "secrets", name, "value"])?;
        Some((name.clone(), findings.source().place(&node.origin)))
    };
    plugin.secrets.keys().filter_map(place).collect()
}

/// Parses, and refuses what could not be granted, or would be granted to nobody.
pub(crate) fn parse(plugin: &PluginSection, folder: &Path, findings: &mut Findings) -> GrantsConfig {
    names(plugin, findings);
    secrets(plugin, findings);
    determinism(plugin, findings);
    let GrantsSection { http, tcp, addresses, ca_file, files } = &plugin.grants;
    let ca_file = ca_file.as_ref().map(|file| paths::parse(&CA_FILE, file, folder, findings));
    let mut rules = Rules { ca_file, ..Rules::default() };
    let shown = |error: DestinationError| {
        // Half of a table that was written as a text may hold what its headers hold.
        let is_table = error.value.contains(['{', '}', '=', '"']);
        let value = if is_table { STARS.to_owned() } else { format!("{:?}", error.value) };
        format!("{value}: {}", error.problem)
    };
    for (item, entry) in http.iter().enumerate() {
        let origin = HttpOrigin::parse(entry.url()).map_err(shown);
        let headers = entry.headers().map(|(name, value)| (name.as_str(), value.reveal()));
        match origin.and_then(|origin| HttpGrant::new(origin, headers).map_err(|error| error.to_string())) {
            Ok(grant) => rules.http.push(grant),
            Err(error) => findings.refuse_item(&HTTP, item, format!("plugin.grants.http: {error}")),
        }
    }
    for (item, text) in tcp.iter().enumerate() {
        match TcpDestination::parse(text).map_err(shown) {
            Ok(destination) => rules.tcp.push(destination),
            Err(error) => findings.refuse_item(&TCP, item, format!("plugin.grants.tcp: {error}")),
        }
    }
    for (item, text) in addresses.iter().enumerate() {
        match parse_range(text) {
            Ok(range) => rules.addresses.push(range),
            Err(error) => findings.refuse_item(&ADDRESSES, item, format!("plugin.grants.addresses: {error}")),
        }
    }
    if !addresses.is_empty() && http.is_empty() && tcp.is_empty() {
        let message = "plugin.grants.addresses says which addresses the hosts of http and tcp may have, and none is granted; \
                       write plugin.grants.tcp = [\"host:port\"], or remove it";
        findings.refuse(&[&ADDRESSES, &HTTP, &TCP], message.to_owned());
    }
    let is_whole =
        (rules.http.len(), rules.tcp.len(), rules.addresses.len()) == (http.len(), tcp.len(), addresses.len());
    if is_whole {
        contradictions(&rules, findings);
    }
    let mut mounts = BTreeSet::new();
    for (item, entry) in files.iter().enumerate() {
        if let Some(fault) = paths::fault(&entry.path) {
            findings.refuse_item(&FILES, item, format!("plugin.grants.files: path {fault}"));
        }
        if let Some(fault) = mount_fault(&entry.mount).or_else(|| {
            (!mounts.insert(entry.mount.trim_end_matches('/')))
                .then_some("is the name of two folders; write another one")
        }) {
            findings.refuse_item(&FILES, item, format!("plugin.grants.files: as = {:?} {fault}", entry.mount));
        }
    }
    let given = files.iter().map(|entry| FilesGrant {
        folder: folder.join(&entry.path),
        mount: entry.mount.clone(),
        bytes_max: entry.max_bytes.0,
    });
    GrantsConfig { rules, files: given.collect() }
}

/// Refuses what the way out would refuse when the plugin is loaded, at the grant that it is about.
fn contradictions(rules: &Rules, findings: &mut Findings) {
    let Err(error) = rules.judge() else { return };
    if !findings.is_whole(&[&HTTP, &TCP, &ADDRESSES]) {
        return;
    }
    let http = |is: &dyn Fn(&HttpGrant) -> bool| rules.http.iter().rposition(is).map(|item| (HTTP, item));
    let found = match &error {
        RuleError::Twice(origin) => http(&|grant| grant.origin() == origin),
        RuleError::Forbidden { grant: named, .. } => http(&|grant| grant.origin().to_string() == *named)
            .or_else(|| rules.tcp.iter().position(|grant| grant.to_string() == *named).map(|item| (TCP, item))),
    };
    let (path, item) = found.unwrap_or((HTTP, 0));
    findings.refuse_item(&path, item, format!("{}: {error}", path.join(".")));
}

/// What is wrong with the name that a plugin knows a folder by.
fn mount_fault(mount: &str) -> Option<&'static str> {
    let parts = mount.strip_prefix('/');
    match parts {
        None => Some("is no absolute path; write \"/lookup\""),
        Some("") => Some("would be all that the plugin sees; write \"/lookup\""),
        Some(parts) if parts.trim_end_matches('/').split('/').any(|part| matches!(part.trim(), "" | "." | "..")) => {
            Some("has empty parts or dots; write \"/lookup\"")
        }
        Some(_) if mount.contains('\0') => Some("has a zero byte"),
        Some(_) => None,
    }
}

/// Bytes of a setting's name.
const NAME_BYTES_MAX: usize = 255;
/// What is shown of one.
const NAME_CHARS_SHOWN: usize = 40;

/// Refuses names that no variable of an environment can have.
fn names(plugin: &PluginSection, findings: &mut Findings) {
    let settings = plugin.settings.keys().map(|name| ("settings", name));
    for (table, name) in settings.chain(plugin.secrets.keys().map(|name| ("secrets", name))) {
        let fault = match name.as_str() {
            "" => "is empty".to_owned(),
            long if long.len() > NAME_BYTES_MAX => format!("has {} bytes, more than {NAME_BYTES_MAX}", long.len()),
            text if text.contains('\0') => "has a zero byte".to_owned(),
            text if text.contains('=') => "has a \"=\"".to_owned(),
            _ => continue,
        };
        let shown = shortened(name, NAME_CHARS_SHOWN);
        let message = format!(
            "plugin.{table}: the name {shown:?} {fault}, and the plugin finds it as a variable of its environment; write another name"
        );
        findings.refuse(&[&["plugin", table, name]], message);
    }
}

/// Refuses secrets that reach nobody, and those that would take a setting's place.
fn secrets(plugin: &PluginSection, findings: &mut Findings) {
    for (name, secret) in &plugin.secrets {
        if !secret.expose {
            let message = format!(
                "plugin.secrets.{name} reaches nobody; write expose = true to give it to the plugin, or let the host send it: \
                 plugin.grants.http = [{{ url = \"https://api.example.com\", headers = {{ authorization = \"Bearer ${{TOKEN}}\" }} }}]"
            );
            findings.refuse(&[&["plugin", "secrets", name], &["plugin", "secrets", name, "expose"]], message);
        }
        if plugin.settings.contains_key(name) {
            let message = format!("plugin.secrets.{name} has the name of a setting; remove one of them");
            findings.refuse(&[&["plugin", "secrets", name], &["plugin", "settings", name]], message);
        }
    }
}

/// Refuses what would make answers differ.
fn determinism(plugin: &PluginSection, findings: &mut Findings) {
    if !plugin.deterministic {
        return;
    }
    if plugin.instances == Instances::Reuse {
        let message = "plugin.deterministic does not go with plugin.instances = \"reuse\", where an answer may hang on the batches \
                       before; write \"fresh\"";
        findings.refuse(&[&DETERMINISTIC, &["plugin", "instances"]], message.to_owned());
    }
    for (path, granted) in [(HTTP, !plugin.grants.http.is_empty()), (TCP, !plugin.grants.tcp.is_empty())] {
        if granted {
            let message = format!(
                "plugin.deterministic does not go with {}, where an answer may hang on what others say; remove one of them",
                path.join(".")
            );
            findings.refuse(&[&DETERMINISTIC, &path], message);
        }
    }
}
