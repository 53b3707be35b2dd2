//! Lays environment variables and flags over the file: flag > environment > file > default.

use super::text::{self, Notation};
use super::tree::{Node, Origin, Value};

/// Environment variables that begin like this are configuration: `GRISTMILL__BATCH__MAX_RECORDS`.
pub(crate) const PREFIX: &str = "GRISTMILL__";

/// A value given outside the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Overlay {
    path: Vec<String>,
    text: String,
    origin: Origin,
}

impl Overlay {
    /// Puts it over what is there.
    pub(crate) fn lay(self, root: &mut Node) {
        let node = self.list().unwrap_or_else(|| Node::new(Value::Loose(self.text), self.origin));
        root.place(&self.path, node);
    }

    /// The list that a text in square brackets means, in TOML's notation. JSON's is the same as long as no tables are in it.
    fn list(&self) -> Option<Node> {
        let written = Some(self.text.trim()).filter(|text| text.starts_with('['))?;
        let root = text::read(&format!("list = {written}"), Notation::Toml).ok()?;
        Some(root.find(&["list"])?.clone().written_at(&self.origin))
    }
}

/// Reads one environment variable; nothing when it is none of ours. Two underscores part the keys of a path. Names of
/// Kafka properties are written with underscores for dots.
pub(crate) fn from_environment(name: &str, value: &str) -> Option<Overlay> {
    let written = name.strip_prefix(PREFIX)?.to_ascii_lowercase();
    let mut path: Vec<String> = written.split("__").map(str::to_owned).collect();
    if path.len() > 2 && path[0] == "kafka" && path[1] == "properties" {
        let property = path.split_off(2).join("__").replace('_', ".");
        path.push(property);
    }
    Some(Overlay { path, text: value.to_owned(), origin: Origin::Environment(name.to_owned()) })
}

/// Reads the argument of `--set path=value`.
///
/// # Errors
/// A text that says what was wanted instead.
pub(crate) fn from_set(written: &str) -> Result<Overlay, String> {
    let (path, value) = split(written, "--set")?;
    let keys =
        keys(path).ok_or_else(|| format!("--set {path} is no path of keys; write --set batch.max_records=100"))?;
    Ok(Overlay { path: keys, text: value.to_owned(), origin: Origin::Flag(format!("--set {path}")) })
}

/// Reads the argument of `-X property=value`.
///
/// # Errors
/// A text that says what was wanted instead.
pub(crate) fn from_property(written: &str) -> Result<Overlay, String> {
    let (name, value) = split(written, "-X")?;
    let path = vec!["kafka".to_owned(), "properties".to_owned(), name.to_owned()];
    Ok(Overlay { path, text: value.to_owned(), origin: Origin::Flag(format!("-X {name}")) })
}

fn split<'w>(written: &'w str, flag: &str) -> Result<(&'w str, &'w str), String> {
    written
        .split_once('=')
        .map(|(path, value)| (path.trim(), value))
        .filter(|(path, _)| !path.is_empty())
        .ok_or_else(|| format!("{flag} takes name=value"))
}

/// The keys of a path. A key with dots in it stands in quotes; everything behind `kafka.properties.` is one key.
fn keys(path: &str) -> Option<Vec<String>> {
    let mut keys = Vec::new();
    let mut rest = path;
    loop {
        if keys == ["kafka", "properties"] {
            keys.push(rest.trim_matches('"').to_owned());
            break;
        }
        let (key, behind) = if let Some(quoted) = rest.strip_prefix('"') {
            let (key, behind) = quoted.split_once('"')?;
            (key, behind.strip_prefix('.').or(behind.is_empty().then_some("")).filter(|_| true)?)
        } else {
            rest.split_once('.').unwrap_or((rest, ""))
        };
        keys.push(key.to_owned());
        if behind.is_empty() {
            break;
        }
        rest = behind;
    }
    keys.iter().all(|key| !key.is_empty()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_with_dots_stand_in_quotes() {
        let path = |written: &str| from_set(written).map(|overlay| overlay.path);
        assert_eq!(path("batch.max_records=1").unwrap(), ["batch", "max_records"]);
        assert_eq!(path("plugin.settings.\"a.b\"=1").unwrap(), ["plugin", "settings", "a.b"]);
        assert_eq!(path("kafka.properties.sasl.password=x").unwrap(), ["kafka", "properties", "sasl.password"]);
        assert_eq!(path("kafka.properties.\"sasl.password\"=x").unwrap(), ["kafka", "properties", "sasl.password"]);
        assert!(path("batch..max=1").unwrap_err().contains("is no path of keys"));
        assert!(path("=1").unwrap_err().contains("--set takes name=value"));
        assert!(from_property("client.rack").unwrap_err().contains("-X takes name=value"));
    }

    #[test]
    fn only_our_variables_are_read() {
        assert!(from_environment("GRISTMILL_LOG", "debug").is_none());
        assert!(from_environment("PATH", "/bin").is_none());
        let overlay = from_environment("GRISTMILL__BATCH__MAX_RECORDS", "1").unwrap();
        assert_eq!(overlay.path, ["batch", "max_records"]);
        let overlay = from_environment("GRISTMILL__KAFKA__PROPERTIES__SASL_PASSWORD", "1").unwrap();
        assert_eq!(overlay.path, ["kafka", "properties", "sasl.password"]);
    }
}
