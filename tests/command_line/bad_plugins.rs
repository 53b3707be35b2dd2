//! Wrong plugin files and plugins that do not start: what it is, what was wanted, how to get there. Exit code 78, and the
//! same words from every command that meets the file.

use crate::process::{Run, configuration, plugin};

/// A file that is no plugin, and words that its refusal must hold.
const FILES: [(&str, &[u8], &str, &str); 8] = [
    ("empty.wasm", b"", "it is empty", "build it again"),
    ("text.wasm", b"fn main() {}\n", "it is a text file", "hand over the .wasm file"),
    ("core.wasm", b"\0asm\x01\0\0\0", "it is a core WebAssembly module", "wasm32-wasip2"),
    ("module.wat", b"(module)", "it is WebAssembly in text format", "wasm-tools parse"),
    ("half.wasm", b"\0asm\x0d\0\x01\0\x07\xff", "does not validate", "copy the file whole"),
    ("program", b"\x7fELF\x02\x01\x01\0", "it is a native program", "build it for WebAssembly"),
    ("random.wasm", b"\x9d\x02\xfe\0\x11\x13\x80\x81", "it is no WebAssembly at all", "the right file"),
    ("hollow.wasm", b"\0asm\x0d\0\x01\0", "it exports no process-batch", "wit/plugin.wit"),
];

#[test]
fn every_kind_of_wrong_file_is_refused_with_the_way_out() {
    for (name, bytes, what, way_out) in FILES {
        let text = configuration("gristmill-echo", "").replace(&plugin("gristmill-echo"), name);
        let words = [name, what, way_out];
        Run::new().file(name, bytes).file("g.toml", text).with(&["check", "g.toml"]).refused(78, &words);
        Run::new().file(name, bytes).with(&["inspect", name]).refused(78, &words);
        Run::new().file(name, bytes).with(&["call", name]).refused(78, &words);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let text = configuration("gristmill-echo", "").replace(&plugin("gristmill-echo"), "nowhere.wasm");
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml"]);
    ended.refused(78, &["cannot read the plugin nowhere.wasm", "check plugin.path"]);
    Run::new().with(&["inspect", "."]).refused(78, &["cannot read the plugin ."]);
    for command in ["inspect", "call"] {
        let ended = Run::new().with(&[command, "nowhere.wasm"]);
        ended.refused(78, &["cannot read the plugin nowhere.wasm", "check the path on the command line"]);
        assert!(!ended.stderr.contains("plugin.path"), "the path did not come from a configuration: {}", ended.stderr);
    }
}

#[test]
fn a_plugin_lies_beside_its_configuration() {
    let bytes = std::fs::read(plugin("gristmill-echo")).unwrap();
    let text = configuration("gristmill-echo", "").replace(&plugin("gristmill-echo"), "echo.wasm");
    let run = Run::new().file("etc/echo.wasm", bytes).file("etc/g.toml", text);
    run.with(&["check", "etc/g.toml"]).good();
}

#[test]
fn another_file_than_the_pinned_one_is_refused_with_both_digests() {
    let pinned = format!("sha256:{}", "0".repeat(64));
    let text = configuration("gristmill-echo", &format!("digest = \"{pinned}\"\n"));
    let ended = Run::new().file("g.toml", text).with(&["check", "g.toml"]);
    ended.refused(78, &["has the digest sha256:", &pinned, "deploy the file that was pinned, or pin this one"]);
}

/// What the pinned digest is about is the file, whoever names it.
#[test]
fn a_file_on_the_command_line_has_to_be_the_pinned_one_as_well() {
    let (echo, count) = (plugin("gristmill-echo"), plugin("gristmill-count"));
    let digest = |plugin: &str| {
        let ended = Run::new().with(&["inspect", plugin, "--output", "json"]);
        ended.json()[0]["digest"].as_str().unwrap().to_owned()
    };
    let (pinned, found) = (digest(&echo), digest(&count));
    let with = |arguments: &[&str]| {
        let text = configuration("gristmill-echo", &format!("digest = \"{pinned}\"\n"));
        Run::new().file("g.toml", text).input("{\"key\":\"a\"}\n").with(arguments)
    };
    let way_out = format!("take this one with --set plugin.digest={found}");
    for command in ["call", "inspect"] {
        with(&[command, &echo, "-c", "g.toml"]).good();
        let ended = with(&[command, &count, "-c", "g.toml"]);
        ended.refused(78, &[&format!("has the digest {found}"), &format!("plugin.digest is {pinned}"), &way_out]);
        with(&[command, &count, "-c", "g.toml", "--set", &format!("plugin.digest={found}")]).good();
    }
    let ended = with(&["inspect", &count, "-c", "g.toml", "--output", "json"]);
    let [report] = ended.json().try_into().unwrap();
    assert_eq!((&report["ok"], &report["digest"]), (&false.into(), &found.into()), "{report}");
    assert!(report["refusals"][0].as_str().unwrap().contains(&pinned), "{report}");
}

/// Of a file that is too large a part is read, and the digest of a part is nobody's.
#[test]
fn a_file_that_is_too_large_is_told_by_its_size_and_not_by_a_digest() {
    let pinned = format!("sha256:{}", "0".repeat(64));
    let text = configuration("gristmill-echo", &format!("digest = \"{pinned}\"\nlimits = {{ file = \"1 KiB\" }}\n"));
    for arguments in [&["check", "g.toml"][..], &["call", &plugin("gristmill-echo"), "-c", "g.toml"]] {
        let ended = Run::new().file("g.toml", &text).with(arguments);
        ended.refused(78, &["the limit is 1024"]);
        assert!(!ended.stderr.contains("has the digest"), "{ended:#?}");
    }
}

/// The same words as those of a start, by the same functions.
#[test]
fn inspect_tells_of_the_grants_that_loading_refuses() {
    for (more, words) in [
        ("grants.http = [\"https://a.test\", \"https://a.test\"]", "https://a.test is granted twice: remove one"),
        ("grants.tcp = [\"10.0.3.7:5432\"]", "add plugin.grants.addresses = [\"10.0.3.7/32\"]"),
        ("grants.http = [\"https://a.test\"]\ngrants.ca_file = \"no.pem\"", "cannot read the certificates in no.pem"),
        ("grants.files = [{ path = \"none\", as = \"/none\" }]", "plugin.grants.files"),
    ] {
        let text = configuration("gristmill-echo", &format!("{more}\n"));
        let echo = plugin("gristmill-echo");
        for arguments in
            [&["check", "g.toml"][..], &["inspect", &echo, "-c", "g.toml"], &["call", &echo, "-c", "g.toml"]]
        {
            Run::new().file("g.toml", &text).with(arguments).refused(78, &[words]);
        }
    }
}

#[test]
fn the_digest_that_inspect_prints_is_the_one_to_pin() {
    let ended = Run::new().with(&["inspect", &plugin("gristmill-echo"), "--output", "json"]);
    let [report] = ended.json().try_into().unwrap();
    let digest = report["digest"].as_str().unwrap();
    let text = configuration(
        "gristmill-echo",
        &format!("digest = \"{}\"\n", digest.to_uppercase().replace("SHA256", "sha256")),
    );
    Run::new().file("g.toml", text).with(&["check", "g.toml"]).good();
}

#[test]
fn a_plugin_that_does_not_start_is_refused_with_its_own_words() {
    let check = |init: &str, more: &str| {
        let text = configuration("gristmill-mischief", &format!("{more}settings = {{ init = \"{init}\" }}\n"));
        Run::new().file("g.toml", text).with(&["check", "g.toml"])
    };
    check("error:no table orders", "").refused(78, &["it does not start", "no table orders"]);
    check("panic:the flour is damp", "").refused(78, &["it does not start", "the flour is damp"]);
    check("spin", "limits = { time = \"300ms\" }\n").refused(78, &["it does not start", "300ms"]);
    check("grow:200", "").refused(78, &["it does not start"]);
    check("exit0", "").refused(78, &["it does not start"]);
}

#[test]
fn inspect_says_what_a_plugin_is_and_wants() {
    let ended = Run::new().with(&["inspect", &plugin("gristmill-echo")]);
    let printed = &ended.good().stdout;
    for word in [
        "kind      it is a WebAssembly component",
        "digest    sha256:",
        "language  Rust",
        "exports   gristmill:plugin/raw-handler@",
    ] {
        assert!(printed.contains(word), "{word} is not in {printed}");
    }
    let ended = Run::new().with(&["inspect", &plugin("gristmill-echo"), "--output", "json"]);
    let [report] = ended.json().try_into().unwrap();
    assert_eq!((&report["ok"], &report["refusals"]), (&true.into(), &serde_json::json!([])));
    assert!(report["imports"].as_array().unwrap().iter().all(|import| import["capability"].is_string()), "{report}");
}
