//! A plugin that says what it needs is loaded with just that, or not at all.

use std::net::TcpListener;
use std::sync::OnceLock;

use gristmill_guest::egress::Rules;
use gristmill_guest::egress::address::parse_range;
use gristmill_guest::egress::destination::TcpDestination;
use gristmill_guest::{FilesGrant, Grants, LoadError, Plugin, PluginSettings};

use crate::journal;
use crate::mill::{Mill, engine, guest_bytes, with_settings};

/// Loads the guest that needs what its setting says. It is compiled once for all tests.
fn asker(needs: &str, rules: Rules, files: Vec<FilesGrant>) -> Result<Plugin, LoadError> {
    static COMPILED: OnceLock<Plugin> = OnceLock::new();
    let load = || Plugin::load(engine(), "asker", &guest_bytes("gristmill_asker"), &PluginSettings::default()).unwrap();
    let settings = with_settings(&[("needs", needs), ("zone", "eu")]);
    let grants = Grants { rules, files, ..settings.grants };
    COMPILED.get_or_init(load).with_settings(&PluginSettings { grants, ..settings })
}

/// Grants a connection to a listener on this machine.
fn connection(listener: &TcpListener) -> (String, Rules) {
    let address = listener.local_addr().unwrap().to_string();
    let tcp = vec![TcpDestination::parse(&address).unwrap()];
    (address, Rules { tcp, addresses: vec![parse_range("127.0.0.0/8").unwrap()], ..Rules::default() })
}

#[test]
fn what_a_plugin_needs_and_is_not_granted_is_told_with_the_lines_to_write() {
    let error = asker("setting:table,setting:zone,tcp,files:/lookup", Rules::default(), Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot load plugin asker: it needs the setting table (the test says so): write plugin.settings.table = \"…\"; \
         TCP connections (the test says so): write plugin.grants.tcp = [\"db.internal:5432\"]; \
         a folder as /lookup (the test says so): write plugin.grants.files = [{ path = \"…\", as = \"/lookup\" }]"
    );
    assert!(asker("setting:zone", Rules::default(), Vec::new()).is_ok());
}

#[test]
fn a_connection_that_is_granted_and_needed_is_given() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, rules) = connection(&listener);
    let mut mill = Mill::of(asker("tcp", rules, Vec::new()).unwrap());
    assert_eq!(mill.call("", &address), "reached");
}

#[test]
fn what_is_granted_and_not_needed_is_not_given() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    journal::listen();
    let (address, rules) = connection(&listener);
    let folder = std::env::temp_dir();
    let files = vec![FilesGrant { folder, mount: "/lookup".to_owned(), bytes_max: 0 }];
    let plugin = asker("setting:zone", rules, files).unwrap();
    assert!(plugin.grants().rules.tcp.is_empty() && plugin.grants().files.is_empty(), "{:?}", plugin.grants());
    let mut mill = Mill::of(plugin);
    for wanted in [address.as_str(), "/lookup/any"] {
        let told = mill.call("", wanted);
        assert!(told.starts_with("refused"), "{wanted}: {told}");
    }
    // To grant it once more would change nothing.
    journal::event_with("a TCP connection: what the plugin says it needs holds no TCP", "plugin was denied");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "a connection arrived");
}
