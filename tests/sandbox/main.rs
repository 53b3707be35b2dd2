//! Real guests on the real wasmtime edge: what each way of misbehaving ends as, that it ends in time, and that the next batch
//! works.

mod mill;
mod outcomes;
