//! A guest that reaches out as told: the key of the first record of a batch says where, and its value is what is sent.
//!
//! The key is `word` or `word argument`. It answers *retryable* with what came of it. Headers of the first record become headers of
//! the request. Nothing outside the tests may load this.

mod files;
mod requests;
mod sockets;
mod store;

use gristmill_plugin::bindings::plugin::gristmill::plugin::types::{KafkaRecord, Outcome, Retry};

/// Does what the first record says, and tells what came of it.
#[cfg_attr(not(target_family = "wasm"), expect(dead_code, reason = "only a wasm build exports anything"))]
fn act(records: &[KafkaRecord]) -> Outcome {
    let Some(record) = records.first() else { return told("nothing to do") };
    let key = String::from_utf8_lossy(record.key.as_deref().unwrap_or_default()).into_owned();
    let (word, argument) = key.split_once(' ').unwrap_or((&key, ""));
    let value = record.value.as_deref().unwrap_or_default();
    let came = match word {
        "request" => requests::send(argument, record, value),
        "request-twice" => {
            format!("{} then {}", requests::send(argument, record, value), requests::send(argument, record, value))
        }
        "hold-open" => requests::hold_open(argument),
        "talk" => sockets::talk(argument, value),
        "look-up" => sockets::look_up(argument),
        "listen" => sockets::listen(argument),
        "udp" => sockets::udp(argument, value),
        "read" => files::read(argument),
        "write" => files::write(argument),
        "open" => files::open(argument),
        "look" => files::look(argument),
        "change" => files::change(argument),
        "open-and-close" => files::open_and_close(argument),
        "keep-files" => files::keep_files(argument),
        "keep-streams" => files::keep_streams(argument),
        "keep-listings" => files::keep_listings(),
        "list" => files::list(),
        "setting" => store::setting(argument),
        "settings" => store::settings(),
        "now" => sockets::now(),
        other => format!("caller knows no word {other:?}"),
    };
    told(&came)
}

fn told(text: &str) -> Outcome {
    Outcome::Retryable(Retry { reason: text.to_owned(), after_ms: None, completed: None, suspect: None })
}

#[cfg(target_family = "wasm")]
mod exports {
    use gristmill_plugin::bindings::plugin;
    use gristmill_plugin::bindings::plugin::gristmill::plugin::types::{BatchInfo, KafkaRecord, Outcome};

    struct Caller;

    impl plugin::exports::gristmill::plugin::handler::Guest for Caller {
        fn process_batch(_: BatchInfo, records: Vec<KafkaRecord>) -> Outcome {
            super::act(&records)
        }
    }

    gristmill_plugin::bindings::plugin::export_plugin!(Caller with_types_in gristmill_plugin::bindings::plugin);
}
