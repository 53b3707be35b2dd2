//! The guest that reaches out as told, with grants to do so.

use std::sync::OnceLock;

use gristmill_guest::egress::destination::HttpOrigin;
use gristmill_guest::egress::{HttpGrant, Rules};
use gristmill_guest::{Answered, Engine, EngineSettings, Grants, Plugin, PluginSettings};

use crate::mill::{Batch, Mill, Record, engine, guest_bytes, reason};

/// Grants with the one that this guest is not loaded without. Nobody listens there.
pub(crate) fn grants() -> Grants {
    let origin = HttpOrigin::parse("https://nobody.invalid").unwrap();
    let rules = Rules { http: vec![HttpGrant::new(origin, []).unwrap()], ..Rules::default() };
    Grants { rules, ..Grants::default() }
}

/// Loads it with these grants.
pub(crate) fn caller(grants: Grants) -> Mill {
    caller_with(PluginSettings { grants, ..PluginSettings::default() })
}

/// Loads it. It is compiled once for all tests.
pub(crate) fn caller_with(settings: PluginSettings) -> Mill {
    static COMPILED: OnceLock<Plugin> = OnceLock::new();
    let plugin = COMPILED.get_or_init(|| load(engine()));
    Mill::of(plugin.with_settings(&settings).unwrap())
}

/// Loads it on an engine on which the same batch always gets the same answer.
pub(crate) fn deterministic_caller() -> Mill {
    static COMPILED: OnceLock<Plugin> = OnceLock::new();
    let settings = EngineSettings { deterministic: true, ..EngineSettings::default() };
    Mill::of(COMPILED.get_or_init(|| load(&Engine::new(&settings).unwrap())).clone())
}

fn load(engine: &Engine) -> Plugin {
    let settings = PluginSettings { grants: grants(), ..PluginSettings::default() };
    Plugin::load(engine, "caller", &guest_bytes("gristmill_caller"), &settings).unwrap()
}

impl Mill {
    /// Tells the caller what to do with a value, and gives what came of it.
    pub(crate) fn call(&mut self, key: &str, value: &str) -> String {
        reason(self.call_raw(key, value).answer)
    }

    /// The same, whatever the answer is.
    pub(crate) fn call_raw(&mut self, key: &str, value: &str) -> Answered {
        let record = Record { key: Some(key.into()), value: Some(value.into()), ..Record::at(0) };
        self.run(Batch(vec![record]))
    }
}
