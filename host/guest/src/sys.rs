//! The unsafe calls of this crate: loading code that was compiled before, and closing what the compiling child was started with.
//!
//! Whether bytes may be loaded is decided where an [`Artefact`] is made, and nowhere else.

#![allow(
    unsafe_code,
    reason = "compiled code is loaded by trusting its bytes, and files that nobody here opened have no owner"
)]

use std::io;

use wasmtime::Engine;
use wasmtime::component::Component;

use crate::compile::Artefact;

/// Loads compiled code.
///
/// # Errors
///
/// It was compiled by another wasmtime, or for an engine with other settings.
pub(crate) fn load(engine: &Engine, artefact: &Artefact) -> wasmtime::Result<Component> {
    // SAFETY: `deserialize` trusts its bytes as it trusts code: they have to be what `precompile_component` put out, unchanged.
    // An `Artefact` comes from two places only: whole from the compile worker, which is this same program, or from the cache
    // with the right MAC under a key that only this user can read, which is to say from the first. It lies in memory of ours, so
    // that nobody changes it while it is loaded; wasmtime copies it. That it comes from this version, for this processor and
    // these settings, `deserialize` checks by itself.
    unsafe { Component::deserialize(engine, artefact.code()) }
}

/// Closes everything that this process has open but its standard streams: whatever the host was started with goes to its children, unless
/// who opened it took care.
///
/// # Errors
///
/// The kernel is older than 5.9 and has no such call.
pub(crate) fn close_all_but_streams() -> io::Result<()> {
    // SAFETY: the compile worker calls this before it opens anything, so that no value of this process owns one of the files that are
    // closed; what is inherited nobody here knows of.
    let failed = unsafe { libc::close_range(3, libc::c_uint::MAX, 0) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}
