//! Keeps the panic of somebody else's parser from ending our thread.
//!
//! What is parsed is chosen by strangers, and parsers of formats as large as these have had such bugs before. The thread is the one
//! that reads; with it the pipeline would end, again and again, at one record. The panic still shows on standard error.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `work` gives, or nothing when it panicked. It must own what it changes, or only add to it: nobody looks at it afterwards.
pub(crate) fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}
