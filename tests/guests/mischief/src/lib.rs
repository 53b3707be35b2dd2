//! A guest that misbehaves as told: the key of the first record of a batch says how.
//!
//! The key is `word` or `word:argument`. `act` below lists the words. Settings (environment variables) tell `init` how to
//! misbehave. Nothing outside the tests may load this.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the host's handling of a guest's output is under test")]
#![expect(clippy::exit, reason = "the host's handling of a guest's exit is under test")]

mod answer;
mod burn;
mod effects;
mod flood;
mod reach;
mod wasi;

use gristmill_plugin::bindings::plugin::gristmill::plugin::types::{BatchInfo, KafkaRecord, Outcome};

/// Handles one batch as its first record's key says.
#[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "only a wasm build exports anything"))]
fn act(info: &BatchInfo, records: &[KafkaRecord]) -> Outcome {
    let key = records.first().and_then(|record| record.key.as_deref()).unwrap_or(b"ok");
    let key = String::from_utf8_lossy(key).into_owned();
    let (word, argument) = key.split_once(':').unwrap_or((&key, ""));
    match word {
        "ok" => answer::ok(),
        "retry" => answer::retry(argument, None),
        "retry-after" => answer::retry("later", Some(number(argument))),
        "fatal" => answer::fatal(argument),
        "verbose" => answer::verbose(number(argument)),
        "reject" => effects::reject(argument),
        "reject-all" => effects::reject_all(records, number(argument)),
        "emit" => effects::emit(argument),
        "emit-all" => effects::emit_all(argument, records),
        "emit-from" => effects::emit_from(number(argument)),
        "emit-to-partition" => effects::emit_to_partition(argument),
        "emit-many" => effects::emit_many(number(argument)),
        "emit-mebibytes" => effects::emit_mebibytes(number(argument)),
        "completed" => effects::completed(number(argument)),
        "completed-emit" => effects::completed_with(argument, effects::emitted_from),
        "completed-reject" => effects::completed_with(argument, effects::rejecting),
        "blame" => effects::blame(number(argument)),
        "dump" => answer::retry(&answer::dump(info, records), None),
        "panic" => panic!("{argument}"),
        "fatal-once" => answer::fatal_once(argument),
        "spin" => burn::spin(),
        "wait-for-cancel" => burn::wait_for_cancel(),
        "grow" => burn::grow(number(argument)),
        "deep" => burn::deep(),
        "sleep" => burn::sleep(number(argument)),
        "nap" => burn::nap(number(argument)),
        "exit0" => std::process::exit(0),
        "exit3" => std::process::exit(3),
        "print" => burn::print(number(argument)),
        "gush" => burn::gush(number(argument)),
        "print-nothing" => burn::print_nothing(number(argument)),
        "paint" => burn::paint(argument),
        "canary" => burn::canary(),
        "time-left" => burn::time_left(),
        "environment" => reach::environment(),
        "arguments" => reach::arguments(),
        "stdin" => reach::stdin(),
        "open" => reach::open(argument),
        "connect" => reach::connect(argument),
        "resolve" => reach::resolve(argument),
        "random" => reach::random(number(argument)),
        "pollables" => flood::pollables(number(argument)),
        "poll-nothing" => flood::poll_nothing(),
        "poll-without-end" => flood::poll_without_end(),
        other => answer::fatal(&format!("mischief knows no word {other:?}")),
    }
}

/// Starts an instance, or does not, as the setting `init` says.
#[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "only a wasm build exports anything"))]
fn init() -> Result<(), String> {
    let setting = std::env::var("init").unwrap_or_default();
    let (word, argument) = setting.split_once(':').unwrap_or((&setting, ""));
    match word {
        "" => Ok(()),
        "error" => Err(argument.to_owned()),
        "panic" => panic!("{argument}"),
        "spin" => loop {
            std::hint::spin_loop();
        },
        "exit0" => std::process::exit(0),
        "grow" => {
            burn::grow(number(argument));
            Ok(())
        }
        other => Err(format!("mischief knows no init {other:?}")),
    }
}

fn number(argument: &str) -> u64 {
    argument.parse().unwrap_or(0)
}

#[cfg(target_family = "wasm")]
mod exports {
    use gristmill_plugin::bindings::{lifecycle, plugin};

    use super::{BatchInfo, KafkaRecord, Outcome};

    struct Mischief;

    impl plugin::exports::gristmill::plugin::handler::Guest for Mischief {
        fn process_batch(info: BatchInfo, records: Vec<KafkaRecord>) -> Outcome {
            super::act(&info, &records)
        }
    }

    impl lifecycle::exports::gristmill::plugin::lifecycle::Guest for Mischief {
        fn init() -> Result<(), String> {
            super::init()
        }
    }

    gristmill_plugin::bindings::plugin::export_plugin!(Mischief with_types_in gristmill_plugin::bindings::plugin);
    gristmill_plugin::bindings::lifecycle::export_lifecycle!(Mischief with_types_in gristmill_plugin::bindings::lifecycle);
}
