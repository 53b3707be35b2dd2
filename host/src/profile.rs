//! What a plugin is allowed, line by line, beside what the strict profile allows.
//!
//! For people: `inspect`, `status` and the log show the same words. Nothing here is enforced.

use gristmill_guest::Limits;

use crate::config::{PluginConfig, Size, Span};

/// One thing that a plugin is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The key of the configuration.
    pub(crate) key: &'static str,
    /// What it says.
    pub(crate) value: String,
    /// What the strict profile says.
    pub(crate) strict: String,
}

impl Line {
    fn new(key: &'static str, value: impl ToString, strict: impl ToString) -> Self {
        Self { key, value: value.to_string(), strict: strict.to_string() }
    }

    /// True where it is not as the strict profile has it.
    pub(crate) fn differs(&self) -> bool {
        self.value != self.strict
    }
}

/// All that a plugin of this configuration is allowed.
pub(crate) fn lines(plugin: &PluginConfig) -> Vec<Line> {
    let (limits, strict) = (&plugin.limits, Limits::STRICT);
    let size = |bytes: u64| Size(bytes);
    let bytes = |key, of: fn(&Limits) -> u64| Line::new(key, size(of(limits)), size(of(&strict)));
    let count = |key, of: fn(&Limits) -> usize| Line::new(key, of(limits), of(&strict));
    let mut lines = vec![
        bytes("limits.memory", |limits| limits.memory_bytes),
        Line::new("limits.time", Span(limits.time), Span(strict.time)),
        Line::new("limits.cpu", Span(limits.cpu), Span(strict.cpu)),
        count("limits.emitted_records", |limits| limits.emitted_records),
        bytes("limits.emitted_bytes", |limits| limits.emitted_bytes),
        bytes("limits.file", |limits| limits.file_bytes),
        bytes("limits.output", |limits| limits.output_bytes_per_second),
        bytes("limits.output_line", |limits| limits.output_line_bytes as u64),
        bytes("limits.random", |limits| limits.random_bytes),
        count("limits.resources", |limits| limits.resources),
        count("limits.instances", |limits| limits.instances),
        count("limits.memories", |limits| limits.memories),
        count("limits.tables", |limits| limits.tables),
        Line::new("instances", if plugin.reuse { "reuse" } else { "fresh" }, "fresh"),
        Line::new("deterministic", plugin.deterministic, false),
    ];
    let none = || "nothing".to_owned();
    let listed = |list: Vec<String>| if list.is_empty() { none() } else { list.join(", ") };
    let (rules, files) = (&plugin.grants.rules, &plugin.grants.files);
    let shown_http = rules.http.iter().map(|grant| {
        let headers: Vec<&str> = grant.headers().iter().map(|(name, _)| name.as_str()).collect();
        let with = if headers.is_empty() { String::new() } else { format!(" with {}", headers.join(" and ")) };
        format!("{}{with}", grant.origin())
    });
    let shown_files = files.iter().map(|files| format!("{} as {}", files.folder.display(), files.mount));
    lines.extend([
        Line::new("grants.http", listed(shown_http.collect()), none()),
        Line::new("grants.tcp", listed(rules.tcp.iter().map(ToString::to_string).collect()), none()),
        Line::new("grants.addresses", listed(rules.addresses.iter().map(ToString::to_string).collect()), none()),
        Line::new(
            "grants.ca_file",
            listed(rules.ca_file.iter().map(|file| file.display().to_string()).collect()),
            none(),
        ),
        Line::new("grants.files", listed(shown_files.collect()), none()),
    ]);
    lines
}

/// What differs from the strict profile, in words.
pub(crate) fn differences(plugin: &PluginConfig) -> Vec<String> {
    let differing = lines(plugin).into_iter().filter(Line::differs);
    differing.map(|line| format!("{} {}", line.key, line.value)).collect()
}
