//! How many of something there are, for people.

/// A number of things.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{ending}")
}
