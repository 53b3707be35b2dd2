//! What an error text of librdkafka is about, so that one cause can be said once.
//!
//! The same broker fails under several names (before it is known, as a numbered broker, as the group's coordinator), at each of
//! its addresses, and again a moment later with other figures at the end of the text.

/// The text without how long the connection was in which state, and how often that was left out.
#[must_use]
pub fn without_state(text: &str) -> &str {
    match text.rsplit_once(" (after ") {
        Some((words, state)) if state.ends_with(')') && state.contains(" in state ") => words,
        Some(_) | None => text,
    }
}

/// The broker that a text is about, as `host:port`.
#[must_use]
pub fn broker_of(text: &str) -> Option<&str> {
    let name = text.strip_prefix("GroupCoordinator: ").unwrap_or(text);
    let name = name.split_once("://").map_or(name, |(_, name)| name);
    let name = name.split(": ").next()?.split('/').next()?;
    let (host, port) = name.rsplit_once(':')?;
    let plain = !host.is_empty() && !host.contains(' ');
    (plain && !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_the_same_under_all_its_names() {
        let refused = "Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in state CONNECT)";
        for name in ["b:9092/bootstrap", "b:9092/1", "GroupCoordinator: b:9092", "sasl_ssl://b:9092/bootstrap"] {
            assert_eq!(broker_of(&format!("{name}: {refused}")), Some("b:9092"), "{name}");
        }
        assert_eq!(broker_of("[::1]:9092/2: Disconnected"), Some("[::1]:9092"));
        for text in ["1/1 brokers are down", "Application maximum poll interval exceeded: 5", "", "ssl: b: c:1"] {
            assert_eq!(broker_of(text), None, "{text}");
        }
    }

    #[test]
    fn figures_that_change_are_no_part_of_the_cause() {
        let once = "b:1/bootstrap: Connect to ipv6#[::1]:1 failed: Connection refused";
        for state in [" (after 0ms in state CONNECT)", " (after 7ms in state CONNECT, 2 identical error(s) suppressed)"]
        {
            assert_eq!(without_state(&format!("{once}{state}")), once);
        }
        for text in [once, "it broke (after all)", "Broker: Unknown topic (after 1 try)"] {
            assert_eq!(without_state(text), text);
        }
    }
}
