//! Paths of files and folders, wherever one is written.

use super::*;

/// How each key that is a path is written, with `PATH` for the path itself, and what the key is called in a refusal.
const KEYS: [(&str, &str); 9] = [
    ("PLUGIN", "plugin.path"),
    ("cache = \"PATH\"", "plugin.cache"),
    ("grants.ca_file = \"PATH\"", "plugin.grants.ca_file"),
    ("grants.files = [{ path = \"PATH\", as = \"/lookup\" }]", "plugin.grants.files: path"),
    ("[topics.orders]\nkey_format = \"avro\"\nkey_schema = \"PATH\"", "topics.orders.key_schema"),
    ("[topics.orders]\nvalue_format = \"avro\"\nvalue_schema = \"PATH\"", "topics.orders.value_schema"),
    (
        "[schema_registry]\nurl = \"http://r\"\nca_file = \"PATH\"\n[topics.orders]\nvalue_format = \"avro\"",
        "schema_registry.ca_file",
    ),
    ("[control]\nsocket = \"PATH\"", "control.socket"),
    ("[control]\nenabled = false\nsocket = \"PATH\"", "control.socket"),
];

/// What is told where this path is written.
fn told(more: &str, path: &str) -> Vec<String> {
    let text = match more {
        "PLUGIN" => GOOD.replace("plugins/orders.wasm", path),
        more => format!("{GOOD}{}", more.replace("PATH", path)),
    };
    let error = read(&text).expect_err(&text);
    error.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn an_empty_path_is_refused_wherever_one_is_written() {
    for (more, key) in KEYS {
        for path in ["", " ", "${NO_FOLDER:-}", "${NO_FOLDER:- }"] {
            let told = told(more, path);
            let [told] = &told[..] else { panic!("{key}, {path:?}: {told:?}") };
            assert!(told.contains(&format!(": {key} ")) || told.contains(&format!(": {key} = ")), "{key}: {told}");
            assert!(told.contains("is empty; write a path") || key == "plugin.cache", "{key}: {told}");
        }
    }
}

#[test]
fn what_a_shell_or_systemd_would_replace_in_a_path_is_refused_wherever_one_is_written() {
    for (more, key) in KEYS {
        for (path, wanted) in [
            ("~/x", "in place of \"~\" here; write \"${HOME}/x\""),
            ("$HOME/x", "in place of \"$HOME\" here; write \"${HOME}/x\""),
            ("%h/x", "in place of \"%h\" here; write \"${HOME}/x\""),
        ] {
            let told = told(more, path);
            let [told] = &told[..] else { panic!("{key}, {path:?}: {told:?}") };
            assert!(told.contains(&format!(": {key} = ")) && told.contains(wanted), "{key}: {told}");
        }
    }
}

/// By an empty text the plugin would read the whole folder of the configuration, with its secrets.
#[test]
fn the_folder_of_the_configuration_is_granted_only_by_name() {
    for name in ["", "  ", "/", "/ ", "/a/ "] {
        let text = problems(&format!("grants.files = [{{ path = \"x\", as = \"{name}\" }}]"));
        assert!(text.contains("plugin.grants.files: as = "), "{name}: {text}");
    }
    assert_eq!(
        good("grants.files = [{ path = \".\", as = \"/all\" }]").plugin.grants.files[0].folder,
        Path::new("etc/.")
    );
}
