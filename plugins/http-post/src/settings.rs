//! The plugin's settings, read once into what can only be legal.
//!
//! It must not know how a request is sent.

/// What a setting's name begins with when it is a header of the requests.
const HEADER: &str = "header.";

/// How many records one request holds, unless said otherwise.
const RECORDS: usize = 1_000;

/// How many bytes the values of one request have, unless said otherwise.
const BYTES: usize = 1 << 20;

/// Where the values stand in a template, and where their number does.
const VALUES: &str = "{values}";
const COUNT: &str = "{count}";

/// Headers that belong to the host or to this plugin: connections, lengths, credentials, the name of a request.
const NOT_YOURS: [&str; 15] = [
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "cookie2",
    "expect",
    "host",
    "http2-settings",
    "idempotency-key",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What to send where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub(crate) target: Target,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content_type: String,
    pub(crate) body: Body,
    /// The steps to what of a value is sent; none: the whole of it.
    pub(crate) field: Vec<String>,
    pub(crate) records_max: usize,
    pub(crate) bytes_max: usize,
    pub(crate) tombstones: Tombstones,
    pub(crate) client_errors: ClientErrors,
    /// Where the answer tells of each record.
    pub(crate) results: Option<Results>,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) https: bool,
    /// Host and port as the URL has them.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) path: String,
}

/// How values become the body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// What stands before the values, which have commas between, and what stands behind; both may name their number.
    Around(String, String),
    /// A value on each line.
    Lines,
}

/// What a record without a value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tombstones {
    /// It is rejected.
    Reject,
    /// It is done.
    Skip,
}

/// What it means when the server finds fault with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientErrors {
    /// Nobody gets any further until somebody has looked at it.
    Fatal,
    /// Some record is to blame, is looked for, and rejected.
    Reject,
}

/// Where an answer tells of each record, as steps into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Results {
    /// To the list, which has a place for each record in their order.
    pub(crate) list: Vec<String>,
    /// From a place in it to what is there only when the record failed.
    pub(crate) failure: Vec<String>,
}

/// The settings as they were given.
#[derive(Default)]
struct Given {
    url: Option<String>,
    body: Option<String>,
    template: Option<String>,
    content_type: Option<String>,
    field: Option<String>,
    records_max: Option<String>,
    bytes_max: Option<String>,
    tombstones: Option<String>,
    client_errors: Option<String>,
    results: Option<String>,
    failure: Option<String>,
    headers: Vec<(String, String)>,
}

impl Settings {
    /// Reads settings by their names.
    ///
    /// # Errors
    ///
    /// Says which setting is missing, unknown or makes no sense, and what would.
    pub fn read(settings: impl IntoIterator<Item = (String, String)>) -> Result<Self, String> {
        let mut given = Given::default();
        for (name, text) in settings {
            given.take(&name, text)?;
        }
        let url = given.url.ok_or("the setting url is missing: where do the records go?")?;
        let (body, usual_type) = body_of(given.body.as_deref(), given.template.as_deref())?;
        let content_type = given.content_type.unwrap_or_else(|| usual_type.to_owned());
        if !is_header_value(&content_type) {
            return Err("the setting content_type is no value of a header".to_owned());
        }
        Ok(Self {
            target: target_of(&url)?,
            headers: given.headers,
            content_type,
            body,
            field: given.field.as_deref().map(steps).unwrap_or_default(),
            records_max: number("max_records", given.records_max.as_deref(), RECORDS)?,
            bytes_max: number("max_bytes", given.bytes_max.as_deref(), BYTES)?,
            tombstones: match given.tombstones.as_deref() {
                None | Some("reject") => Tombstones::Reject,
                Some("skip") => Tombstones::Skip,
                Some(other) => return Err(neither("tombstones", other, "\"reject\" or \"skip\"")),
            },
            client_errors: match given.client_errors.as_deref() {
                None | Some("fatal") => ClientErrors::Fatal,
                Some("reject") => ClientErrors::Reject,
                Some(other) => return Err(neither("client_errors", other, "\"fatal\" or \"reject\"")),
            },
            results: results_of(given.results.as_deref(), given.failure.as_deref())?,
        })
    }
}

impl Given {
    fn take(&mut self, name: &str, text: String) -> Result<(), String> {
        let slot = match name {
            "url" => &mut self.url,
            "body" => &mut self.body,
            "template" => &mut self.template,
            "content_type" => &mut self.content_type,
            "field" => &mut self.field,
            "max_records" => &mut self.records_max,
            "max_bytes" => &mut self.bytes_max,
            "tombstones" => &mut self.tombstones,
            "client_errors" => &mut self.client_errors,
            "results" => &mut self.results,
            "failure" => &mut self.failure,
            other => {
                let header = other.strip_prefix(HEADER).ok_or_else(|| {
                    format!(
                        "there is no setting {other}; known are url, body, template, content_type, field, max_records, \
                         max_bytes, tombstones, client_errors, results, failure and header.NAME"
                    )
                })?;
                self.headers.push(header_of(header, text)?);
                return Ok(());
            }
        };
        *slot = Some(text);
        Ok(())
    }
}

fn header_of(name: &str, value: String) -> Result<(String, String), String> {
    let name = name.to_ascii_lowercase();
    if NOT_YOURS.contains(&name.as_str()) || name.starts_with("proxy-") {
        return Err(format!(
            "the header {name} is not for this plugin to set: credentials stand with the URL in http of [plugin.grants], the \
             others follow from the request"
        ));
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_part) || !is_header_value(&value) {
        return Err(format!(
            "the setting {HEADER}{name} is no header: letters, digits and -; no line breaks in its value"
        ));
    }
    Ok((name, value))
}

fn is_header_value(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'\t' || (b' '..0x7f).contains(&byte))
}

fn target_of(url: &str) -> Result<Target, String> {
    let wrong = |why: &str| format!("the setting url {why}");
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let https = match scheme.to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return Err(wrong("does not begin with https:// or http://")),
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.is_empty() || url.contains('#') || !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong("is no URL: it needs a host and has neither blanks, letters beyond ASCII, nor a #"));
    }
    if authority.contains('@') {
        return Err(wrong("holds a user; write credentials to the URL in http of [plugin.grants], the host adds them"));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Target { https, authority: authority.to_owned(), path })
}

/// The body, and the type that it usually has.
fn body_of(body: Option<&str>, template: Option<&str>) -> Result<(Body, &'static str), String> {
    const JSON: &str = "application/json";
    match (body, template) {
        (None | Some("json-array"), None) => Ok((Body::Around("[".to_owned(), "]".to_owned()), JSON)),
        (Some("jsonl"), None) => Ok((Body::Lines, "application/x-ndjson")),
        (Some("template"), None) => Err(format!("body = \"template\" needs the setting template, with {VALUES} in it")),
        (Some("template"), Some(template)) => match template.split_once(VALUES) {
            Some((before, behind)) if !behind.contains(VALUES) => {
                Ok((Body::Around(before.to_owned(), behind.to_owned()), JSON))
            }
            _ => Err(format!("the setting template holds {VALUES} once, where the values go with commas between")),
        },
        (None | Some("json-array" | "jsonl"), Some(_)) => {
            Err("the setting template needs body = \"template\"".to_owned())
        }
        (Some(other), _) => Err(neither("body", other, "\"json-array\", \"jsonl\" or \"template\"")),
    }
}

/// Writes the number of values where a template names it.
pub(crate) fn with_count(text: &str, count: usize) -> String {
    text.replace(COUNT, &count.to_string())
}

fn results_of(results: Option<&str>, failure: Option<&str>) -> Result<Option<Results>, String> {
    match (results, failure) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err("the setting failure needs the setting results: where the list of results is".to_owned()),
        (Some(_), None) => {
            Err("the setting results needs the setting failure: what is there in a result only when it failed, as in \"/error\"".to_owned())
        }
        (Some(list), Some(failure)) => {
            let list = if list == "array" { Vec::new() } else { steps(list) };
            Ok(Some(Results { list, failure: steps(failure) }))
        }
    }
}

/// The steps of a JSON Pointer, or of the name of a field.
fn steps(text: &str) -> Vec<String> {
    match text.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect(),
        None => vec![text.to_owned()],
    }
}

fn number(name: &str, text: Option<&str>, usual: usize) -> Result<usize, String> {
    let Some(text) = text else { return Ok(usual) };
    let number = text.parse().ok().filter(|number| (1..=1 << 30).contains(number));
    number.ok_or_else(|| format!("the setting {name} is {text:?}, no number from 1 to {}", 1 << 30))
}

fn neither(name: &str, text: &str, known: &str) -> String {
    format!("the setting {name} is {text:?}; write {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(settings: &[(&str, &str)]) -> Result<Settings, String> {
        let url = [("url", "https://api.example.com:8443/v1/purls?x=1")];
        let own = url.iter().filter(|(name, _)| settings.iter().all(|(other, _)| other != name));
        let settings = own.chain(settings).filter(|(_, text)| *text != "-");
        Settings::read(settings.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())))
    }

    #[test]
    fn settings_are_read() {
        let settings = read(&[]).unwrap();
        let (authority, path) = ("api.example.com:8443".to_owned(), "/v1/purls?x=1".to_owned());
        assert_eq!(settings.target, Target { https: true, authority, path });
        assert_eq!(
            (settings.records_max, settings.bytes_max, settings.content_type.as_str()),
            (1_000, 1 << 20, "application/json")
        );
        let settings =
            read(&[("url", "http://[::1]?a"), ("header.X-Trace", "a b"), ("field", "/a~1b/0"), ("body", "jsonl")])
                .unwrap();
        assert_eq!((settings.target.authority.as_str(), settings.target.path.as_str()), ("[::1]", "/?a"));
        assert_eq!(settings.headers, [("x-trace".to_owned(), "a b".to_owned())]);
        assert_eq!(settings.field, ["a/b", "0"]);
        assert_eq!(settings.content_type, "application/x-ndjson");
        for (url, https) in [("HTTP://A/b", false), ("Https://A/b", true)] {
            let (authority, path) = ("A".to_owned(), "/b".to_owned());
            assert_eq!(read(&[("url", url)]).unwrap().target, Target { https, authority, path }, "{url}");
        }
        let settings = read(&[("body", "template"), ("template", "{\"n\":{count},\"p\":[{values}]}")]).unwrap();
        assert_eq!(settings.body, Body::Around("{\"n\":{count},\"p\":[".to_owned(), "]}".to_owned()));
        let results = read(&[("results", "array"), ("failure", "error")]).unwrap().results;
        assert_eq!(results, Some(Results { list: vec![], failure: vec!["error".to_owned()] }));
    }

    #[test]
    fn settings_that_make_no_sense_are_refused_with_the_way_out() {
        for (settings, words) in [
            (&[("url", "-")][..], "the setting url is missing"),
            (&[("url", "ftp://a")], "does not begin with https://"),
            (&[("url", "://a")], "does not begin with https://"),
            (&[("url", "a/http://a")], "does not begin with https://"),
            (&[("url", "https:///a")], "needs a host"),
            (&[("url", "https://a/b#c")], "nor a #"),
            (&[("url", "https://a/b c")], "neither blanks"),
            (&[("url", "https://u:secret@a/")], "holds a user; write credentials"),
            (&[("body", "xml")], "the setting body is \"xml\""),
            (&[("body", "template")], "needs the setting template"),
            (&[("body", "template"), ("template", "[]")], "holds {values} once"),
            (&[("body", "template"), ("template", "{values}{values}")], "holds {values} once"),
            (&[("template", "[{values}]")], "needs body = \"template\""),
            (&[("max_records", "0")], "the setting max_records is \"0\", no number from 1"),
            (&[("max_bytes", "1 MiB")], "the setting max_bytes is \"1 MiB\""),
            (&[("tombstones", "delete")], "write \"reject\" or \"skip\""),
            (&[("client_errors", "ignore")], "write \"fatal\" or \"reject\""),
            (&[("results", "array")], "needs the setting failure"),
            (&[("failure", "error")], "needs the setting results"),
            (&[("header.Authorization", "Bearer secret")], "stand with the URL in http of [plugin.grants]"),
            (&[("header.Expect", "100-continue")], "the header expect is not for this plugin to set"),
            (&[("header.Proxy-Authorization", "Basic secret")], "proxy-authorization is not for this plugin to set"),
            (&[("header.x y", "a")], "is no header"),
            (&[("header.x", "a\r\nb: c")], "is no header"),
            (&[("content_type", "a\nb")], "content_type is no value"),
            (&[("uri", "x")], "there is no setting uri; known are url"),
        ] {
            let error = read(settings).unwrap_err();
            assert!(error.contains(words) && !error.contains("secret"), "{error}");
        }
    }
}
