//! Decoders from outside: data that real encoders wrote, a registry that does whatever it likes, and bytes that nobody wrote.
//!
//! It does not know how anything is decoded.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on says so by panicking")]

mod avro;
mod fake_registry;
mod files;
mod hostile;
mod json_schema;
mod mutation;
mod outage;
mod protobuf;
mod speed;
mod tls;
mod unknown_ids;

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use gristmill_decode::{Decoder, Failure, Format, Limits};
use serde_json::Value;

/// What the decoder makes of the bytes, as a tree.
fn json(decoder: &Decoder, bytes: &[u8]) -> Value {
    let decoded = decoder.decode(bytes, Instant::now()).unwrap_or_else(|failure| panic!("{failure}"));
    serde_json::from_slice(&decoded).expect("what was decoded is JSON")
}

/// What the decoder makes of the bytes, as text.
fn text(decoder: &Decoder, bytes: &[u8]) -> String {
    let decoded = decoder.decode(bytes, Instant::now()).unwrap_or_else(|failure| panic!("{failure}"));
    String::from_utf8(decoded.into_owned()).expect("what was decoded is UTF-8")
}

/// Why the bytes do not decode.
fn undecodable(decoder: &Decoder, bytes: &[u8]) -> String {
    match decoder.decode(bytes, Instant::now()) {
        Err(Failure::Undecodable(reason)) => reason.to_string(),
        other => panic!("it is not undecodable: {other:?}"),
    }
}

/// A decoder without a registry.
fn decoder(format: &Format) -> Decoder {
    Decoder::new(format, None, Limits::default()).expect("the format can be used")
}

/// What a Confluent serializer puts in front.
fn framed(id: u32, datum: &[u8]) -> Vec<u8> {
    [&[0], id.to_be_bytes().as_slice(), datum].concat()
}

/// A file with that content, which is there as long as the folder is.
fn file(folder: &Folder, name: &str, content: &[u8]) -> std::path::PathBuf {
    let path = folder.0.join(name);
    std::fs::File::create(&path).and_then(|mut file| file.write_all(content)).expect("the file is written");
    path
}

/// A folder of a test's own, which goes with it.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the folder is made");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
