//! Every wrong file is refused in words: what it is, what was wanted, how to get there.

use gristmill_guest::{Kind, Limits, LoadError, Plugin, PluginSettings, Refusal, inspect};

use crate::mill::{engine, guest_bytes, with_limits};

fn refused(bytes: &[u8]) -> (Refusal, String) {
    let error = Plugin::load(engine(), "orders.wasm", bytes, &PluginSettings::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("cannot load plugin orders.wasm: "), "{text}");
    match error {
        LoadError::Refused { refusal, .. } => (refusal, text),
        other => panic!("{other}"),
    }
}

fn component(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

#[test]
fn what_is_no_component_is_named_with_the_way_to_one() {
    let random: Vec<u8> = (0..4_096_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8 | 0x80).collect();
    let cases: [(&[u8], Kind, &str); 7] = [
        (b"", Kind::Empty, "it is empty"),
        (b"\0asm\x01\0\0\0", Kind::CoreModule, "wasm32-wasip2"),
        (b"(component)", Kind::WasmText, "wasm-tools parse"),
        (b"\x7fELF\x02\x01\x01", Kind::NativeProgram, "native program"),
        (b"fn main() {}", Kind::Text, "text file"),
        (b"\x1f\x8b\x08\x00", Kind::Archive, "unpack"),
        (&random, Kind::Unknown, "no WebAssembly at all"),
    ];
    for (bytes, kind, wanted) in cases {
        let (refusal, text) = refused(bytes);
        assert_eq!(refusal, Refusal::NotAComponent { kind }, "{text}");
        assert!(text.contains(wanted) && text.contains("wanted is a WebAssembly component"), "{text}");
    }
}

/// T-62: code that somebody compiled is never accepted, also when wasmtime made it.
#[test]
fn a_compiled_artefact_is_refused() {
    let compiler = wasmtime::Engine::new(wasmtime::Config::new().gc_support(false)).unwrap();
    let compiled = compiler.precompile_component(&component("(component)")).unwrap();
    let (refusal, text) = refused(&compiled);
    assert_eq!(refusal, Refusal::NotAComponent { kind: Kind::Compiled });
    assert!(text.contains(".cwasm") && text.contains("hand over the .wasm file"), "{text}");
}

/// T-65: a file that is still being written.
#[test]
fn half_a_plugin_is_refused() {
    let whole = guest_bytes("gristmill_echo");
    for length in [7, 100, whole.len() / 2, whole.len() - 1] {
        let (_, text) = refused(&whole[..length]);
        assert!(
            text.contains("copied whole") || text.contains("copy the file whole") || text.contains("toolchain"),
            "{text}"
        );
    }
}

#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_read() {
    let settings = with_limits(|limits| limits.file_bytes = 1_000);
    let error = Plugin::load(engine(), "orders.wasm", &guest_bytes("gristmill_echo"), &settings).unwrap_err();
    assert!(error.to_string().contains("the limit is 1000"), "{error}");
}

#[test]
fn a_component_without_a_handler_is_told_what_was_wanted_and_found() {
    let (_, text) = refused(&component("(component)"));
    assert!(text.contains("no process-batch") && text.contains("gristmill:plugin/handler@0.1.0"), "{text}");
    assert!(text.contains("found no export at all"), "{text}");
    let (_, text) = refused(&exporting(&["wasi:cli/run@0.2.6"]));
    assert!(text.contains("found wasi:cli/run@0.2.6"), "{text}");
    let (_, text) = refused(&exporting(&["gristmill:plugin/handler@0.2.0"]));
    assert!(text.contains("found gristmill:plugin/handler@0.2.0"), "{text}");
}

#[test]
fn a_component_with_both_handlers_is_refused() {
    let both = ["gristmill:plugin/handler@0.1.0", "gristmill:plugin/raw-handler@0.1.0"];
    let (refusal, text) = refused(&exporting(&both));
    assert!(matches!(refusal, Refusal::BothHandlers(..)), "{text}");
}

#[test]
fn an_import_that_is_not_available_is_named_with_what_to_do() {
    let cases = [
        ("wasi:http/incoming-handler@0.2.6", "make requests and serve none"),
        ("wasi:config/store@0.2.0-draft", "in version 0.2.0-rc"),
        ("wasi:cli/environment@0.3.0", "in version 0.2"),
        ("gristmill:plugin/control@0.2.0", "in version 0.1"),
        ("acme:queue/push@1.0.0", "this host offers"),
    ];
    for (import, wanted) in cases {
        let text = format!(
            r#"(component
                 (import "{import}" (instance (export "f" (func))))
                 (instance $empty)
                 (export "gristmill:plugin/handler@0.1.0" (instance $empty)))"#
        );
        let (refusal, text) = refused(&component(&text));
        assert!(matches!(refusal, Refusal::ImportNotAvailable { .. }), "{text}");
        assert!(text.contains(import) && text.contains(wanted), "{text}");
    }
}

/// The names fit and the types do not: seen only by comparing, and never handed a batch.
#[test]
fn a_handler_of_another_shape_is_refused() {
    let bytes = exporting(&["gristmill:plugin/handler@0.1.0"]);
    let error = Plugin::load(engine(), "orders.wasm", &bytes, &PluginSettings::default()).unwrap_err();
    assert!(matches!(error, LoadError::Contract { .. }), "{error}");
    assert!(error.to_string().contains("does not fit the contract gristmill:plugin@0.1.0"), "{error}");

    let text = r#"(component
        (core module $m (func (export "f") (result i32) i32.const 7))
        (core instance $i (instantiate $m))
        (func $f (result u32) (canon lift (core func $i "f")))
        (instance $handler (export "process-batch" (func $f)))
        (export "gristmill:plugin/handler@0.1.0" (instance $handler)))"#;
    let error = Plugin::load(engine(), "orders.wasm", &component(text), &PluginSettings::default()).unwrap_err();
    assert!(matches!(error, LoadError::Contract { .. }), "{error}");
}

/// T-07: one module for each proposal that is switched off.
#[test]
fn proposals_that_are_off_are_refused() {
    let bodies = [
        ("threads", "(memory 1 1 shared)"),
        ("memory64", "(memory i64 1)"),
        ("multi-memory", "(memory 1) (memory 1)"),
        ("gc", "(type (struct))"),
        ("exceptions", "(tag)"),
        ("tail calls", "(func $f return_call $f)"),
        ("relaxed simd", "(func (param v128 v128) (result v128) local.get 0 local.get 1 i8x16.relaxed_swizzle)"),
    ];
    for (proposal, body) in bodies {
        let exports = r#"(instance $empty) (export "gristmill:plugin/handler@0.1.0" (instance $empty))"#;
        let (refusal, text) = refused(&component(&format!("(component (core module {body}) {exports})")));
        assert!(matches!(refusal, Refusal::Invalid { .. }), "{proposal}: {text}");
        assert!(text.contains("does not validate"), "{proposal}: {text}");
    }
}

#[test]
fn a_plugin_is_inspected_without_being_run() {
    let bytes = guest_bytes("gristmill_count");
    let inspection = inspect(&bytes, &Limits::STRICT);
    assert_eq!((inspection.kind, inspection.bytes), (Kind::Component, bytes.len() as u64));
    assert_eq!(inspection.language(), Some("Rust"));
    assert!(inspection.refusals.is_empty(), "{:?}", inspection.refusals);
    assert!(
        inspection.exports.iter().any(|export| export == "gristmill:plugin/raw-handler@0.1.0"),
        "{:?}",
        inspection.exports
    );
    assert!(inspection.imports.iter().all(|import| import.capability.is_some()), "{:?}", inspection.imports);
    assert!(inspection.digest.to_string().starts_with("sha256:"));
}

#[test]
fn an_inspection_lists_everything_that_would_be_refused() {
    let text = r#"(component
        (import "acme:queue/push@1.0.0" (instance (export "f" (func))))
        (import "wasi:keyvalue/store@0.2.0" (instance (export "f" (func)))))"#;
    let inspection = inspect(&component(text), &Limits::STRICT);
    assert_eq!(inspection.refusals.len(), 3, "{:?}", inspection.refusals);
}

/// A component that exports empty instances under these names.
fn exporting(names: &[&str]) -> Vec<u8> {
    let exports: String = names.iter().map(|name| format!(r#"(export "{name}" (instance $empty))"#)).collect();
    component(&format!("(component (instance $empty) {exports})"))
}
