//! What a plugin may reach.

use super::*;

#[test]
fn grants_reach_the_guest_edge_as_they_are_written() {
    let config = good(
        r#"
secrets.dsn = { value = "hunter2", expose = true }
grants.http = ["https://API.example.com", { url = "http://x.test:8080", headers = { Authorization = "Bearer hunter2" } }]
grants.tcp = ["db.internal:5432"]
grants.addresses = ["10.0.3.0/24"]
grants.ca_file = "ca.pem"
grants.files = [{ path = "lookup", as = "/lookup" }]
"#,
    );
    let grants = config.plugin.guest_settings().grants;
    assert_eq!(grants.settings["dsn"], "hunter2");
    let origins: Vec<String> = grants.rules.http.iter().map(|grant| grant.origin().to_string()).collect();
    assert_eq!(origins, ["https://api.example.com", "http://x.test:8080"]);
    assert_eq!(grants.rules.http[1].headers()[0].1, "Bearer hunter2");
    assert_eq!(grants.rules.tcp[0].to_string(), "db.internal:5432");
    assert_eq!(grants.rules.addresses[0].to_string(), "10.0.3.0/24");
    assert_eq!(grants.rules.ca_file.as_deref(), Some(Path::new("etc/ca.pem")));
    assert_eq!(grants.files[0].folder, Path::new("etc/lookup"));
    assert_eq!((grants.files[0].mount.as_str(), grants.files[0].bytes_max), ("/lookup", 64 << 20));
    let printed = format!("{config:?}{grants:?}");
    assert!(!printed.contains("hunter2"), "{printed}");
}

#[test]
fn what_cannot_be_granted_is_refused_where_it_stands_with_the_way_out() {
    let cases = [
        (
            "grants.http = [\"https://a.test\", \"api.example.com\"]",
            "10:34: plugin.grants.http: \"api.example.com\": write its scheme",
        ),
        ("grants.http = [\"https://*\"]", "plugin.grants.http: \"https://*\""),
        ("grants.http = [{ url = \"https://a.test\", headers = { host = \"b\" } }]", "\"host\""),
        ("grants.http = [5]", "wanted a string such as \"https://api.example.com\", or a table with url and headers"),
        ("grants.http = [{ uri = \"https://a.test\" }]", "did you mean \"url\"?"),
        ("grants.tcp = [\"db.internal\"]", "plugin.grants.tcp: \"db.internal\": write its port"),
        ("grants.tcp = [\"a.test:1\"]\ngrants.addresses = [\"10.0.3.0/33\"]", "plugin.grants.addresses: "),
        ("grants.addresses = [\"10.0.3.0/24\"]", "none is granted"),
        (
            "grants.http = [\"https://a.test\", \"https://A.test:443\"]",
            "10:34: plugin.grants.http: https://a.test is granted twice: remove one",
        ),
        (
            "grants.tcp = [\"db.internal:5432\", \"10.0.3.7:5432\"]",
            "10:35: plugin.grants.tcp: the grant 10.0.3.7:5432 is for an address that is private: add plugin.grants.addresses = [\"10.0.3.7/32\"]",
        ),
        (
            "grants.files = [{ path = \"x\", as = \"lookup\" }]",
            "as = \"lookup\" is no absolute path; write \"/lookup\"",
        ),
        ("grants.files = [{ path = \"x\", as = \"/\" }]", "would be all that the plugin sees"),
        ("grants.files = [{ path = \"x\", as = \"/a/../b\" }]", "has empty parts or dots"),
        (
            "grants.files = [{ path = \"x\", as = \"/a\" }, { path = \"y\", as = \"/a/\" }]",
            "is the name of two folders",
        ),
        ("secrets.token = { value = \"x\" }", "plugin.secrets.token reaches nobody; write expose = true"),
        ("settings.a = \"x\"\nsecrets.a = { value = \"x\", expose = true }", "has the name of a setting"),
        (
            "deterministic = true\ninstances = \"reuse\"",
            "plugin.deterministic does not go with plugin.instances = \"reuse\"",
        ),
        (
            "deterministic = true\ngrants.tcp = [\"a.test:1\"]",
            "plugin.deterministic does not go with plugin.grants.tcp",
        ),
    ];
    for (more, wanted) in cases {
        let text = problems(more);
        assert!(text.contains(wanted), "{more}: {text}");
    }
}

/// Neither in the message nor in the line that is shown.
#[test]
fn secrets_of_grants_are_never_shown() {
    let cases = [
        "grants.http = [{ url = \"https://a.test\", headers = { authorization = \"hunter2\", host = \"hunter2\" } }]",
        "grants.http = [{ url = 5, headers = { authorization = \"hunter2\" } }]",
        "grants.http = [\"https://me:hunter2@a.test\"]",
        "grants.http = [{ url = \"https://me:hunter2@a.test\" }]",
        "secrets.dsn = { value = \"hunter2\", exposed = true }",
        "secrets.dsn = \"hunter2\"",
        "secrets = \"hunter2\"",
        "settings = \"hunter2\"",
        "grants = \"hunter2\"",
        "grants.http = \"hunter2\"",
        "grants.http = [{ url = \"http://a\", headers = { authorization = \"hunter2\" \"x\" = 1 } }]",
        "secrets.dsn = { valeu = \"hunter2\" }",
        "setings = { a = \"hunter2\", b = [\"hunter2\"] }",
        "secret = { a = { value = \"hunter2\", expose = true } }",
        "setting = \"a=hunter2\"",
        "path = { a = \"hunter2\" }",
        "grants.htp = [{ url = \"https://a.test\", headers = { x = \"hunter2\" } }]",
        "grants.http = [\"https://a.test?hunter2\"]",
        "grants.http = [\"https://a.test#hunter2\", \"https://a.test/v1/hunter2\"]",
        "grants.http = [\"https:///u:hunter2@a.test\", \"//u:hunter2@a.test\", \"u:hunter2@a.test\"]",
        "grants.tcp = [\"postgres://u:hunter2@db:5432/x\", \"db:5432/?password=hunter2\"]",
        "grants.tcp = [\"postgres://u:hun/hunter2@db:5432/x\", \"host=db password=hunter2\"]",
        "[schema_registry]\nurl = \"http://u:hunter2@r\"",
        "[schema_registry]\nurl = \"http://r/?key=hunter2\"",
        "[kafka2]\npassword = { a = \"hunter2\" }",
        "setings = { a = \"hunter2\" \"b\" }",
        "settings = { a = \"hunter2\" \"b\" }",
        "settings.a = \"hunter2\" \"b\"",
    ];
    for more in cases {
        let text = problems(more);
        assert!(!text.contains("hunter2"), "{more}: {text}");
        let error = read(&format!("{GOOD}{more}")).unwrap_err();
        for problem in error.problems {
            let Some(Place::File(spot)) = problem.place else { continue };
            let shown = spot.shown.map(|(line, _)| line).unwrap_or_default();
            assert!(!shown.contains("hunter2"), "{more}: {shown}");
        }
    }
}

#[test]
fn a_broken_line_above_all_sections_is_not_shown_where_it_may_hold_a_secret() {
    let shown = |line: &str| {
        let error = read(&format!("{line}\n{GOOD}")).unwrap_err();
        let Some(Place::File(spot)) = error.problems[0].place.clone() else { panic!("{error}") };
        spot.shown.map(|(line, _)| line)
    };
    for line in [
        "plugin.settings.a = \"hunter2\" \"b\"",
        "schema_registry.url = \"http://u:hunter2@r\" \"b\"",
        "kafka.bootstrap_servers = \"u:hunter2@b:1\" \"b\"",
        "setings = { a = \"hunter2\" \"b\" }",
    ] {
        assert_eq!(shown(line), None, "{line}");
    }
    assert_eq!(shown("pipeline = a b").as_deref(), Some("pipeline = a b"));
}

/// A variable or a flag may hold a whole table.
#[test]
fn a_table_of_secrets_that_is_written_as_a_text_is_not_shown() {
    let texts =
        ["[{\"url\":\"http://a\",\"headers\":{\"authorization\":\"hunter2\"}}]", "{dsn={value=hunter2", "hunter2"];
    for path in ["plugin.grants.http", "plugin.grants", "plugin.secrets", "plugin.settings", "plugin"] {
        for text in texts {
            if (path, text) == ("plugin.grants.http", "hunter2") {
                continue; // It is taken for an address, which is shown.
            }
            let mut request = Request::new(Path::new("g.toml"), BTreeMap::new());
            request.set(&format!("{path}={text}")).unwrap();
            let told = load_text(GOOD.to_owned(), Notation::Toml, request)
                .map_or_else(|error| error.to_string(), |_| String::new());
            assert!(!told.contains("hunter2"), "{path}={text}: {told}");
        }
    }
}

#[test]
fn where_grants_come_from_is_shown_without_their_secrets() {
    let loaded = read(&format!(
        "{GOOD}grants.http = [{{ url = \"https://a.test\", headers = {{ authorization = \"hunter2\" }} }}]\n\
         secrets.dsn = {{ value = \"hunter2\", expose = true }}\n"
    ))
    .unwrap();
    let line = |path: &str| loaded.origins.iter().find(|line| line.path == path).unwrap();
    let http = &line("plugin.grants.http").value;
    assert!(http.contains("https://a.test") && http.contains("***") && !http.contains("hunter2"), "{http}");
    assert_eq!(line("plugin.secrets.dsn.value").value, "***");
    assert_eq!(line("plugin.secrets.dsn.expose").value, "true");
}

/// What was taken out might have been the line that is missing.
#[test]
fn an_address_is_not_missing_where_one_could_not_be_read() {
    let text = problems("grants.tcp = [\"10.0.3.7:5432\"]\ngrants.addresses = [\"${NOWHERE}\"]");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.contains("the variable NOWHERE is not set"), "{text}");
}

#[test]
fn a_name_that_no_environment_can_have_is_refused_and_shown_escaped() {
    let long = "n".repeat(256);
    for (name, wanted) in [
        ("", "the name \"\" is empty".to_owned()),
        ("a=b", "the name \"a=b\" has a \"=\"".to_owned()),
        ("a\\u0000\\u001b[2J", "the name \"a\\0\\u{1b}[2J\" has a zero byte".to_owned()),
        (&long, "nnn…\" has 256 bytes, more than 255".to_owned()),
    ] {
        for (table, value) in [("settings", "\"x\""), ("secrets", "{ value = \"x\", expose = true }")] {
            let text = problems(&format!("{table} = {{ \"{name}\" = {value} }}"));
            assert!(text.contains(&format!("plugin.{table}: the name \"")) && text.contains(&wanted), "{name}: {text}");
            assert!(text.chars().count() < 250, "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
        }
    }
    good(&format!("settings = {{ \"{}\" = \"x\", \"column.a-b\" = \"y\" }}", "n".repeat(255)));
}
