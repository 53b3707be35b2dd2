//! Where a plugin's requests and connections may go, and the way there.

#![forbid(unsafe_code)]
