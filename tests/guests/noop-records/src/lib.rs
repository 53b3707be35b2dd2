//! A guest that does nothing and takes its batches as lists of records: what is left is the cost of that form. For measurements.

#[cfg(target_family = "wasm")]
mod exports {
    use gristmill_plugin::bindings::plugin;
    use gristmill_plugin::bindings::plugin::gristmill::plugin::types::{BatchInfo, Effects, KafkaRecord, Outcome};

    struct Noop;

    impl plugin::exports::gristmill::plugin::handler::Guest for Noop {
        fn process_batch(_: BatchInfo, _: Vec<KafkaRecord>) -> Outcome {
            Outcome::Ok(Effects { rejected: Vec::new(), emitted: Vec::new() })
        }
    }

    gristmill_plugin::bindings::plugin::export_plugin!(Noop with_types_in gristmill_plugin::bindings::plugin);
}
