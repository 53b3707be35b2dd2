//! `docs/operating.md` against exit codes, states, log lines and their fields.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::{Paper, paper, spans};
use super::source::{file, log_lines};

/// Whatever writes log lines.
const SOURCES: [&str; 3] = ["host/src", "host/guest/src", "host/kafka/src"];

fn page() -> Paper {
    paper("docs/operating.md")
}

#[test]
fn every_exit_code_has_its_row_with_name_and_number() {
    let source = file("host/src/exit.rs");
    let constants = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split_once(": u8 = "));
    let constants: BTreeMap<&str, &str> =
        constants.map(|(name, number)| (number.trim_end_matches(';'), name)).collect();
    assert!(constants.len() > 10, "{constants:?}");
    let rows = page().rows(&["Code", "Name", "Meaning", "Restart?"]);
    let named: BTreeMap<&str, &str> = rows.iter().map(|row| (row[0].as_str(), spans(&row[1])[0])).collect();
    assert_eq!(named, constants);
}

#[test]
fn systemd_is_told_not_to_restart_what_the_table_says() {
    let page = page();
    let rows = page.rows(&["Code", "Name", "Meaning", "Restart?"]);
    let no: Vec<&str> = rows.iter().filter(|row| row[3] == "no").map(|row| row[0].as_str()).collect();
    let unit = page.block("ini");
    assert!(unit.contains(&format!("\nRestartPreventExitStatus={}\n", no.join(" "))), "{unit}");
}

#[test]
fn every_state_has_its_row() {
    let source = file("host/src/status/state.rs");
    let body = source.split("fn word(").nth(1).unwrap().split("\n    }\n").next().unwrap();
    let words: BTreeSet<&str> = body.split('"').skip(1).step_by(2).collect();
    assert!(words.len() > 5, "{words:?}");
    let rows = page().rows(&["State", "Meaning"]);
    let named: BTreeSet<&str> = rows.iter().map(|row| spans(&row[0])[0]).collect();
    assert_eq!(named, words);
}

#[test]
fn the_live_line_is_the_one_that_is_drawn() {
    let page = page();
    let shown = page.blocks().into_iter().find(|block| block.text.starts_with("running · ")).unwrap();
    let line = shown.text.lines().next().unwrap();
    let drawn = file("host/src/cli/live.rs");
    assert!(drawn.contains(&format!("\"{line}\"")), "{line}");
    // Of the others the beginning is shown, and the state's word stands elsewhere.
    let sources = ["host/src/cli/live.rs", "host/src/live.rs", "host/src/start_watch.rs"].map(file).concat();
    for line in shown.text.lines().skip(1) {
        let line = line.split('…').next().unwrap().trim_end_matches(" · ");
        let detail = line.split_once(": ").filter(|_| !line.starts_with("waiting,")).map_or(line, |(_, detail)| detail);
        assert!(sources.contains(&format!("\"{detail}")), "{detail}");
    }
}

#[test]
fn every_log_line_has_its_row_with_level_and_fields() {
    let lines = log_lines(&SOURCES);
    let written: BTreeSet<(String, String, Vec<String>)> = lines
        .iter()
        .filter(|line| !line.text.is_empty())
        .map(|line| (line.level.clone(), line.text.clone(), line.fields.clone()))
        .collect();
    assert!(written.len() > 20, "{written:#?}");
    let rows = page().rows(&["Level", "Line", "Fields"]);
    let named: BTreeSet<(String, String, Vec<String>)> = rows
        .iter()
        .map(|row| {
            let mut fields: Vec<String> = spans(&row[2]).into_iter().map(str::to_owned).collect();
            fields.sort();
            (row[0].clone(), spans(&row[1])[0].to_owned(), fields)
        })
        .collect();
    let missing: Vec<_> = written.difference(&named).collect();
    let gone: Vec<_> = named.difference(&written).collect();
    assert!(missing.is_empty() && gone.is_empty(), "not in the page: {missing:#?}\nnot in the code: {gone:#?}");
}

#[test]
fn every_field_has_its_row() {
    let lines = log_lines(&SOURCES);
    let written: BTreeSet<&str> = lines.iter().flat_map(|line| &line.fields).map(String::as_str).collect();
    let rows = page().rows(&["Field", "Meaning"]);
    let named: BTreeSet<&str> = rows.iter().map(|row| spans(&row[0])[0]).collect();
    assert_eq!(named, written);
}

#[test]
fn every_class_of_fault_has_its_row() {
    let source = file("host/core/src/outcome.rs");
    let body = source.split("fn as_str(").nth(1).unwrap().split("\n    }\n").next().unwrap();
    let words: BTreeSet<&str> = body.split('"').skip(1).step_by(2).collect();
    for (path, headings) in [
        ("docs/operating.md", &["Class", "What broke", "Look at"][..]),
        ("wit/README.md", &["class", "what happened"][..]),
    ] {
        let rows = paper(path).rows(headings);
        let named: BTreeSet<&str> = rows.iter().map(|row| spans(&row[0])[0]).collect();
        assert_eq!(named, words, "{path}");
    }
}

#[test]
fn the_memory_of_fetched_records_is_what_the_page_says() {
    let folder = gristmill_tests::TemporaryFolder::new();
    let path = folder.write("g.toml", &crate::process::configuration("gristmill-echo", ""));
    let request = gristmill::config::Request::new(&path, BTreeMap::new());
    let bytes = gristmill::config::load(request).unwrap().config.kafka.buffer_bytes_max;
    assert!(page().text.contains(&format!("{} MiB with the defaults", bytes >> 20)), "{bytes}");
}

/// The hardened unit for one tenant: restarts as the table says, and closes all that a host can do without.
#[test]
fn the_unit_of_a_tenant_closes_everything_but_what_a_compiling_host_needs() {
    let unit = file("examples/tenants/gristmill@.service");
    let restarts = page().block("ini");
    let restarts = restarts.lines().find(|line| line.starts_with("RestartPreventExitStatus=")).unwrap();
    assert!(unit.contains(restarts), "{unit}");
    let lines: Vec<&str> = unit.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(!lines.iter().any(|line| line.starts_with("MemoryDenyWriteExecute")), "a compiling host cannot have it");
    let wanted = [
        "DynamicUser=yes",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        "PrivateDevices=yes",
        "ProtectKernelTunables=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelLogs=yes",
        "ProtectControlGroups=yes",
        "ProtectClock=yes",
        "ProtectHostname=yes",
        "ProtectProc=invisible",
        "RestrictNamespaces=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "LockPersonality=yes",
        "SystemCallArchitectures=native",
        "LimitCORE=0",
    ];
    for line in wanted {
        assert!(lines.contains(&line), "{line} is missing");
    }
    // What the host and its compiling child confine themselves with has to be let through.
    let filter = lines.iter().find(|line| line.starts_with("SystemCallFilter=")).unwrap();
    assert!(filter.contains("landlock_restrict_self") && filter.contains("seccomp"), "{filter}");
}

/// Not every engine lets a folder in memory belong to somebody, so the two that a tenant's host writes to are open, and it makes its own
/// in them; and what the page mounts and names is what the image has.
#[test]
fn the_container_of_a_tenant_is_run_as_its_image_is_made() {
    let (image, text) = (file("examples/tenants/Containerfile"), file("examples/tenants/README.md"));
    let folders: Vec<&str> =
        image.lines().filter(|line| line.starts_with("ENV ")).flat_map(str::split_whitespace).collect();
    let folders: Vec<&str> = folders.iter().filter_map(|setting| Some(setting.split_once('=')?.1)).collect();
    assert_eq!(folders.len(), 2, "{image}");
    for folder in folders {
        assert!(text.contains(&format!("--tmpfs {folder}:mode=1777")), "{folder}");
    }
    assert!(!text.contains("uid="), "podman refuses it");
    let copied = image.lines().find(|line| line.starts_with("COPY orders.wasm ")).unwrap();
    let plugin = copied.split_whitespace().last().unwrap();
    assert!(text.contains(&format!("plugin.path = \"{plugin}\"")), "{plugin}");
    let command = image.lines().find(|line| line.starts_with("CMD ")).unwrap();
    let configuration = command.split('"').find(|part| part.ends_with(".toml")).unwrap();
    assert!(text.contains(&format!("--volume ./orders.toml:{configuration}:ro")), "{configuration}");
}
