//! Settings as `wasi:config/store` has them.

#[allow(
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    elided_lifetimes_in_paths,
    missing_docs,
    clippy::all,
    reason = "generated code"
)]
mod generated {
    wit_bindgen::generate!({
        inline: "
            package gristmill:caller;
            world asks {
                import wasi:config/store@0.2.0-rc.1;
            }
            package wasi:config@0.2.0-rc.1 {
                interface store {
                    variant error { upstream(string), io(string) }
                    get: func(key: string) -> result<option<string>, error>;
                    get-all: func() -> result<list<tuple<string, string>>, error>;
                }
            }
        ",
        world: "gristmill:caller/asks",
        generate_all,
    });
}

use generated::wasi::config::store;

pub(crate) fn setting(key: &str) -> String {
    format!("{:?}", store::get(key))
}

pub(crate) fn settings() -> String {
    let mut all = store::get_all().unwrap_or_default();
    all.sort();
    format!("{all:?}")
}
