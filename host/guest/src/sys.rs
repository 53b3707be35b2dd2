//! The one unsafe call of this crate: loading code that was compiled before.
//!
//! Whether bytes may be loaded is decided where an [`Artefact`] is made, and nowhere else.

#![allow(unsafe_code, reason = "compiled code is loaded by trusting its bytes; what may be trusted is a type")]

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
