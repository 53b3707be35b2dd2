//! The plugins in the papers compile, pass their own tests, and answer as the page says.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use gristmill_guest::{EMITTED_HEADER_OVERHEAD_BYTES, EMITTED_RECORD_OVERHEAD_BYTES, Limits};

use super::markdown::{paper, root};
use crate::process::Run;

/// Writes a crate and returns its folder. The folder stays, so that cargo builds again only what changed.
fn write_crate(name: &str, manifest: &str, code: &str) -> PathBuf {
    let folder = xtask::workspace::target_dir().join("plugins").join("documents").join(name);
    let sdk = root().join("plugins/sdk/rust").display().to_string();
    let manifest = manifest.replace("../gristmill/plugins/sdk/rust", &sdk);
    // A workspace of its own: it lies inside another one. The profile has the settings of the shipped plugins', and its name
    // lets them share what is built.
    let manifest = format!("{manifest}\n[profile.plugin]\ninherits = \"release\"\n\n[workspace]\n");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    write_if_changed(&folder.join("Cargo.toml"), &manifest);
    write_if_changed(&folder.join("src/lib.rs"), code);
    // The same versions as everywhere, so that nothing is fetched.
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

fn write_if_changed(path: &Path, text: &str) {
    if std::fs::read_to_string(path).ok().as_deref() != Some(text) {
        std::fs::write(path, text).unwrap();
    }
}

/// Runs cargo in a crate, offline, with the target folder of the plugins.
fn cargo(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new(xtask::workspace::cargo().get_program());
    command.current_dir(folder).args(arguments).args(["--offline", "--quiet", "--target-dir"]);
    command.arg(xtask::workspace::target_dir().join("plugins"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", xtask::workspace::shown(&command));
    assert!(!said.contains("warning:"), "{}: {said}", xtask::workspace::shown(&command));
}

/// Builds a crate to a component and returns its bytes.
fn component(folder: &Path, name: &str) -> Vec<u8> {
    // Builds the shipped plugins first, and with them what all plugins have in common.
    let shipped = gristmill_tests::plugin("gristmill-echo");
    cargo(folder, &["build", "--profile", "plugin", "--target", "wasm32-wasip2"]);
    std::fs::read(shipped.parent().unwrap().join(format!("{name}.wasm"))).unwrap()
}

#[test]
fn the_plugin_of_the_page_passes_its_tests_and_answers_as_it_says() {
    let page = paper("docs/plugins.md");
    let folder = write_crate("orders", &page.block("toml Cargo.toml"), &page.block("rust src/lib.rs"));
    cargo(&folder, &["test", "--profile", "plugin"]);
    let built = component(&folder, "orders");
    let run = |records: &str| {
        Run::new()
            .file("orders.wasm", &built)
            .file("records.jsonl", records)
            .file("orders.toml", page.block("toml orders.toml"))
    };
    let records = page.block("json records.jsonl");
    let call = ["call", "orders.wasm", "records.jsonl", "--config", "orders.toml"];
    run(&records).with(&["inspect", "orders.wasm"]).good();
    run(&records).with(&["check", "orders.toml"]).good();
    let ended = run(&records).with(&call);
    let printed = page.block("text printed");
    let (said, answered) = printed.trim_end().split_once('\n').unwrap();
    assert!(ended.good().stderr.contains(said) && ended.stdout.starts_with(answered), "{ended:#?}");
    run(&records.replace("EUR", "XAU")).with(&call).refused(65, &["orders/0/7 is in XAU"]);
    run("{\"value\": \"no order\"}").with(&call).refused(65, &["record records/0/0 does not read as JSON"]);
    let busy = [&call[..], &["--set", "plugin.settings.busy_until_attempt=2", "--output", "json"]].concat();
    assert_eq!(run(&records).with(&busy).json()[0]["after_ms"], 2_000);
    run(&records).with(&[&busy[..], &["--attempt", "2"]].concat()).good();
}

#[test]
fn the_plugin_of_the_readme_builds_and_answers_as_it_says() {
    let (readme, page) = (paper("README.md"), paper("docs/plugins.md"));
    let code = readme.block("rust");
    assert!(code.lines().count() <= 20, "the README's plugin should fit on a page");
    let line = page.block("rust line");
    let code = format!(
        "{code}\n/// A line of docs/plugins.md.\npub fn bad_is_fatal(record: gristmill_plugin::Record<'_>) -> Result<u64, \
         Failure> {{\n    {line}    Ok(order.total)\n}}\n"
    );
    let manifest = page.block("toml Cargo.toml").replace("name = \"orders\"", "name = \"readme\"");
    let built = component(&write_crate("readme", &manifest, &code), "readme");
    let call = |records: &str| Run::new().file("readme.wasm", &built).input(records).with(&["call", "readme.wasm"]);
    let order = |currency: &str| {
        let value = format!("{{\"currency\": \"{currency}\", \"total\": 7}}");
        serde_json::json!({ "topic": "orders", "value": value }).to_string()
    };
    assert!(call(&order("EUR")).good().stderr.contains("1 records, 7 EUR"));
    call(&order("USD")).refused(65, &["orders/0/0", "only euros here"]);
    // What no attempt can help must not be tried for ever, and a tombstone is no trouble at all.
    call("{\"value\": \"no order\"}").refused(65, &["does not read as JSON"]);
    call("{\"value\": null}").good();
    // A batch as large as the default may be is no reason to drop output.
    let many = format!("{}\n", order("EUR")).repeat(10_000);
    let ended = call(&many);
    assert!(
        !ended.good().stderr.contains("dropped") && ended.stderr.contains("10000 records, 70000 EUR"),
        "{ended:#?}"
    );
}

#[test]
fn the_plugins_with_effects_answer_as_the_page_says() {
    let page = paper("docs/plugins.md");
    for (plugin, records, printed) in
        [("validate", "json people.jsonl", "text validated"), ("route", "json events.jsonl", "text routed")]
    {
        let file = gristmill_tests::plugin(&format!("gristmill-{plugin}")).display().to_string();
        let run = Run::new().file("g.toml", page.block(&format!("toml {plugin}.toml"))).input(&page.block(records));
        let ended = run.with(&["call", &file, "--config", "g.toml", "--sink", "orders", "--sink", "refunds"]);
        let said: Vec<&str> = ended.good().stdout.lines().skip(1).map(str::trim_start).collect();
        assert_eq!(said.join("\n"), page.block(printed).trim_end(), "{plugin}");
    }
}

#[test]
fn the_limits_are_those_of_the_strict_profile() {
    let rows = paper("docs/plugins.md").rows(&["What", "How much", "When it is reached"]);
    let strict = Limits::STRICT;
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let wanted = [
        ("memory", mib(strict.memory_bytes)),
        ("wall clock", format!("{} s", strict.time.as_secs())),
        ("processor time", format!("{} s", strict.cpu.as_secs())),
        ("records emitted by a batch", strict.emitted_records.to_string()),
        ("bytes emitted by a batch", mib(strict.emitted_bytes)),
        ("an answer, or one host call", mib(strict.copy_bytes)),
        ("random bytes in one host call", format!("{} KiB", strict.random_bytes >> 10)),
        ("open streams and the like", strict.resources.to_string()),
        ("the file", mib(strict.file_bytes)),
    ];
    for (what, how_much) in wanted {
        let row = rows.iter().find(|row| row[0] == what).unwrap_or_else(|| panic!("no row for {what}"));
        assert!(row[1].split([',', ':']).any(|part| part.trim().starts_with(&how_much)), "{what}: {how_much}: {row:?}");
    }
    let text = paper("docs/plugins.md").text;
    for said in [
        format!("line is cut at {} KiB", strict.output_line_bytes >> 10),
        format!("what exceeds {} KiB in a second", strict.output_bytes_per_second >> 10),
        format!("has {} ms to return", strict.cancel_grace.as_millis()),
        format!("{EMITTED_RECORD_OVERHEAD_BYTES} for each record, {EMITTED_HEADER_OVERHEAD_BYTES} for each header"),
    ] {
        assert!(text.contains(&said), "the page does not say: {said}");
    }
}
