//! The functions on a guest's stack as people want to read them: the plugin's own, innermost first, and not too many.
//!
//! Knows nothing of why the guest stopped.

use wasmtime::WasmBacktrace;

use crate::stdio::escape;
use crate::words::shortened;

/// How many frames are told.
const FRAMES_MAX: usize = 6;

/// Names of generic functions can be longer than anybody reads.
const NAME_CHARS_MAX: usize = 120;

/// What stands between a plugin's code and its end, whatever the plugin is: Rust's library and the C library below it.
const RUNTIME: [&str; 5] = ["std::", "core::", "alloc::", "__rust", "dlmalloc::"];

/// The same, where all of the name is known.
const RUNTIME_FUNCTIONS: [&str; 6] = ["abort", "exit", "_Exit", "_start", "rust_panic", "rust_begin_unwind"];

/// The names of the plugin's own functions on the stack, innermost first; of all where none is known to be its own.
pub(crate) fn own_frames(backtrace: &WasmBacktrace) -> Vec<String> {
    // wasmtime collects twenty frames at most.
    let names = backtrace.frames().iter().map(|frame| match frame.func_name() {
        Some(name) => format!("{:#}", rustc_demangle::demangle(name)),
        None => format!("function {}", frame.func_index()),
    });
    chosen(&names.collect::<Vec<_>>())
}

fn chosen(names: &[String]) -> Vec<String> {
    let mut own: Vec<&String> = names.iter().filter(|name| !is_runtime(name)).collect();
    if own.is_empty() {
        own = names.iter().collect();
    }
    own.dedup();
    own.truncate(FRAMES_MAX);
    own.into_iter().map(|name| escape(shortened(name, NAME_CHARS_MAX).as_bytes())).collect()
}

fn is_runtime(name: &str) -> bool {
    // `<alloc::vec::Vec<T> as core::ops::Drop>::drop` is as much the library's as `alloc::vec::Vec::push`.
    let path = name.trim_start_matches(['<', '&', '*', '[', '(']);
    RUNTIME.iter().any(|prefix| path.starts_with(prefix)) || RUNTIME_FUNCTIONS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen_of(names: &[&str]) -> Vec<String> {
        chosen(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_machinery_of_a_panic_is_left_out() {
        let names = [
            "abort",
            "std::process::abort",
            "__rustc::rust_panic",
            "core::panicking::panic_fmt",
            "<alloc::vec::Vec<T> as core::ops::Index>::index",
            "orders::rate",
            "<orders::Order as core::str::FromStr>::from_str",
            "rust_decimal::parse",
        ];
        assert_eq!(chosen_of(&names), names[5..]);
    }

    #[test]
    fn a_recursion_is_one_frame_and_the_number_of_frames_is_bounded() {
        assert_eq!(chosen_of(&["down", "down", "down", "up"]), ["down", "up"]);
        let many: Vec<String> = (0..20).map(|number| format!("orders::f{number}")).collect();
        assert_eq!(chosen(&many), many[..FRAMES_MAX]);
    }

    #[test]
    fn where_nothing_is_the_plugins_own_everything_is_told() {
        assert_eq!(chosen_of(&["abort", "std::process::abort"]), ["abort", "std::process::abort"]);
        assert_eq!(chosen_of(&["function 7"]), ["function 7"]);
    }
}
