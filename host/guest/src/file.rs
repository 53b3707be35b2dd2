//! What a file is, by its bytes: the many things that are handed over in place of a component.
//!
//! Looks at the beginning only, and parses nothing.

use std::fmt;

use wasmtime::{Engine, Precompiled};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A WebAssembly component: what a plugin should be.
    Component,
    /// A core WebAssembly module.
    CoreModule,
    /// WebAssembly of a version that nobody knows.
    UnknownWasm,
    /// WebAssembly in its text format.
    WasmText,
    /// Something that wasmtime compiled already.
    Compiled,
    /// A program or library of an operating system.
    NativeProgram,
    /// Nothing.
    Empty,
    /// A compressed file or archive.
    Archive,
    /// A web page.
    WebPage,
    /// A stand-in that names a large file kept elsewhere.
    LargeFilePointer,
    /// Some other text.
    Text,
    /// Anything else.
    Unknown,
}

impl Kind {
    /// Says what `bytes` are.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let starts = |magic: &[u8]| bytes.starts_with(magic);
        if bytes.is_empty() {
            return Self::Empty;
        }
        if starts(b"\0asm") {
            return match bytes.get(4..8) {
                Some([0x0d, 0, 1, 0]) => Self::Component,
                Some([1, 0, 0, 0]) => Self::CoreModule,
                _ => Self::UnknownWasm,
            };
        }
        if let Some(Precompiled::Module | Precompiled::Component) = Engine::detect_precompiled(bytes) {
            return Self::Compiled;
        }
        let native: [&[u8]; 4] = [b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"!<arch>"];
        if native.into_iter().any(starts) {
            return Self::NativeProgram;
        }
        let archives: [&[u8]; 5] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ"];
        if archives.into_iter().any(starts) {
            return Self::Archive;
        }
        std::str::from_utf8(bytes).map_or(Self::Unknown, Self::of_text)
    }

    fn of_text(text: &str) -> Self {
        if text.chars().any(|char| char.is_control() && !char.is_whitespace()) {
            return Self::Unknown;
        }
        if text.starts_with("version https://git-lfs") {
            return Self::LargeFilePointer;
        }
        let mut lines = text.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with(";;"));
        let first = lines.next().unwrap_or_default().to_ascii_lowercase();
        if first.starts_with("(component") || first.starts_with("(module") {
            Self::WasmText
        } else if first.starts_with("<!doctype html") || first.starts_with("<html") {
            Self::WebPage
        } else {
            Self::Text
        }
    }

    /// What to do with such a file to get a plugin.
    pub(crate) fn way_out(self) -> &'static str {
        match self {
            Self::Component => "inspect it to see what else does not fit",
            Self::CoreModule => {
                "build for a component target (Rust: --target wasm32-wasip2) or wrap it with `wasm-tools component new`"
            }
            Self::UnknownWasm => "build it with a toolchain for WASI 0.2",
            Self::WasmText => "turn it into the binary format with `wasm-tools parse`",
            Self::Compiled => "hand over the .wasm file it was compiled from; compiled code is never accepted",
            Self::NativeProgram => "build it for WebAssembly (Rust: --target wasm32-wasip2)",
            Self::Empty => "wait until the file is written, or build it again",
            Self::Archive => "unpack it first",
            Self::WebPage => "check the address that it was downloaded from",
            Self::LargeFilePointer => "fetch the large files of the repository first",
            Self::Text => "build it, and hand over the .wasm file that comes out",
            Self::Unknown => "check that this is the right file, and that it was copied whole",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Component => "it is a WebAssembly component",
            Self::CoreModule => "it is a core WebAssembly module",
            Self::UnknownWasm => "it is WebAssembly of an unknown version",
            Self::WasmText => "it is WebAssembly in text format",
            Self::Compiled => "it was compiled by wasmtime already (a .cwasm file)",
            Self::NativeProgram => "it is a native program or library",
            Self::Empty => "it is empty",
            Self::Archive => "it is a compressed file or archive",
            Self::WebPage => "it is a web page",
            Self::LargeFilePointer => "it is a pointer to a large file, not the file",
            Self::Text => "it is a text file",
            Self::Unknown => "it is no WebAssembly at all",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_bytes() {
        let cases: [(&[u8], Kind); 13] = [
            (b"", Kind::Empty),
            (b"\0asm\x0d\0\x01\0", Kind::Component),
            (b"\0asm\x01\0\0\0", Kind::CoreModule),
            (b"\0asm\x02\0\0\0", Kind::UnknownWasm),
            (b"\0asm", Kind::UnknownWasm),
            (b";; a comment\n\n  (component)", Kind::WasmText),
            (b"(module)", Kind::WasmText),
            (b"\x7fELF\x02\x01\x01", Kind::NativeProgram),
            (b"\x1f\x8b\x08", Kind::Archive),
            (b"<!DOCTYPE html><html>", Kind::WebPage),
            (b"version https://git-lfs.github.com/spec/v1\n", Kind::LargeFilePointer),
            (b"fn main() {}", Kind::Text),
            (b"\x93\x01\xfe\xff\x00", Kind::Unknown),
        ];
        for (bytes, kind) in cases {
            assert_eq!(Kind::of(bytes), kind, "{bytes:?}");
        }
    }
}
