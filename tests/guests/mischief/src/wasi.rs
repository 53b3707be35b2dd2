//! Host calls that no library makes, or not in this way.
//!
//! Interfaces stand here whole: the linker merges them with what the standard library imports, and refuses half of one.

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
            package gristmill:mischief;
            world asks {
                import wasi:random/random@0.2.0;
                import wasi:io/poll@0.2.0;
                import wasi:clocks/monotonic-clock@0.2.0;
            }
            package wasi:random@0.2.0 {
                interface random {
                    get-random-bytes: func(len: u64) -> list<u8>;
                    get-random-u64: func() -> u64;
                }
            }
            package wasi:io@0.2.0 {
                interface poll {
                    resource pollable {
                        ready: func() -> bool;
                        block: func();
                    }
                    poll: func(in: list<borrow<pollable>>) -> list<u32>;
                }
            }
            package wasi:clocks@0.2.0 {
                interface monotonic-clock {
                    use wasi:io/poll@0.2.0.{pollable};
                    type instant = u64;
                    type duration = u64;
                    now: func() -> instant;
                    resolution: func() -> duration;
                    subscribe-instant: func(when: instant) -> pollable;
                    subscribe-duration: func(when: duration) -> pollable;
                }
            }
        ",
        world: "gristmill:mischief/asks",
        generate_all,
    });
}

pub(crate) use generated::wasi;
