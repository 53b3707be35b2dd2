//! The examples that need servers besides Kafka end as their pages say.

use std::path::PathBuf;
use std::time::Instant;

use gristmill_tests::{Host, create_topic, plugin, put_value, read_topic, shared_broker, shared_postgres};
use xtask::purl_api::PurlApi;

use crate::pipeline::{SOON, stop};

/// A folder of an example.
struct Example(PathBuf);

impl Example {
    fn of(name: &str) -> Self {
        Self(xtask::workspace::root().join("examples").join(name))
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    /// What its page shows under this name.
    fn shown(&self, name: &str) -> String {
        let page = self.file("README.md");
        let (_, block) = page.split_once(&format!("```{name}\n")).unwrap_or_else(|| panic!("no block {name}"));
        block.split_once("\n```").unwrap().0.to_owned()
    }

    /// Makes its topics, puts its records into the first of them, and runs its configuration with these variables.
    fn run(&self, topic: &str, package: &str, variables: &[(&str, &str)]) -> Host {
        let bootstrap = shared_broker().bootstrap();
        create_topic(&bootstrap, topic, 1);
        create_topic(&bootstrap, &format!("{topic}.dead"), 1);
        for (value, number) in self.file(&format!("{topic}.jsonl")).lines().zip(1..) {
            put_value(&bootstrap, topic, &number.to_string(), value);
        }
        let mut text = self.file("pipeline.toml");
        for (name, value) in [("BROKERS", bootstrap.as_str())].iter().chain(variables) {
            text = with_variable(&text, name, value);
        }
        let wasm = format!("../../target/plugins/wasm32-wasip2/plugin/{}.wasm", package.replace('-', "_"));
        assert!(text.contains(&wasm), "{wasm} is not its plugin");
        Host::run(&text.replace(&wasm, &plugin(package).display().to_string()))
    }
}

/// Replaces `${NAME:-…}`, as the environment would.
fn with_variable(text: &str, name: &str, value: &str) -> String {
    let begins = format!("${{{name}:-");
    let mut parts = text.split(&begins);
    let first = parts.next().unwrap_or_default().to_owned();
    let replaced = parts.fold(first, |text, part| text + value + part.split_once('}').unwrap().1);
    assert_ne!(replaced, text, "there is no {name}");
    replaced
}

/// Waits for so many dead letters, and wants each of the reasons in one of them.
fn assert_reasons(topic: &str, reasons: &str) {
    let deadline = Instant::now() + SOON;
    let found = loop {
        let found = read_topic(&shared_broker().bootstrap(), &format!("{topic}.dead"));
        if found.len() >= reasons.lines().count() {
            break found;
        }
        assert!(Instant::now() < deadline, "only {} dead letters", found.len());
    };
    let told: Vec<String> = found.iter().filter_map(|letter| letter.header("gristmill.failure.reason")).collect();
    assert_eq!(told.len(), reasons.lines().count(), "{told:?}");
    for reason in reasons.lines() {
        assert!(told.iter().any(|told| told.contains(reason)), "{reason} is not in {told:?}");
    }
}

#[test]
fn scan_results_become_rows() {
    let (example, server) = (Example::of("scan-results-to-postgres"), shared_postgres());
    server.make(&example.file("table.sql")).unwrap();
    let variables = [("DATABASE_URL", server.url()), ("DATABASE", server.address())];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let host = example.run("scan-results", "gristmill-postgres", &variables);
    assert_reasons("scan-results", &example.shown("text reasons"));
    stop(host);
    let page = example.file("README.md");
    let (_, question) = page.split_once("postgres sql \"select").unwrap();
    let question = format!("select{}", question.split_once('"').unwrap().0);
    let shown = |column: Option<String>| column.unwrap_or_else(|| "null".to_owned());
    let rows = server.query(&question).unwrap().into_iter();
    let rows: Vec<String> = rows.map(|row| row.into_iter().map(shown).collect::<Vec<_>>().join("\t")).collect();
    assert_eq!(rows.join("\n"), example.shown("text rows"));
}

#[test]
fn package_urls_are_posted() {
    let (example, api) = (Example::of("purl-batch-to-http"), PurlApi::start().unwrap());
    api.want("Bearer of-the-test");
    let origin = format!("http://{}", api.address());
    let host = example.run("packages", "gristmill-http-post", &[("API", &origin), ("TOKEN", "of-the-test")]);
    assert_reasons("packages", &example.shown("text reasons"));
    stop(host);
    assert_eq!(format!("{:?}", api.taken()), example.shown("text taken"));
}
