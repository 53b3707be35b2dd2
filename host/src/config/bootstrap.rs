//! The list of brokers to ask first.
//!
//! librdkafka would take a missing port for 9092; Kafka's own clients refuse it, and so does this, since it is more often
//! forgotten than meant.

/// What security protocols are called in front of "://".
const PROTOCOLS: [&str; 4] = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"];

/// What is wrong with each entry of the list, with the way out.
pub(crate) fn faults(servers: &str) -> Vec<String> {
    let mut entries = servers.split([',', ' ']).filter(|entry| !entry.is_empty()).peekable();
    if entries.peek().is_none() {
        return vec!["kafka.bootstrap_servers is empty".to_owned()];
    }
    if servers.contains('@') {
        // Nothing is shown: what stands before it may be a password, and a password may look like anything.
        let fault = "kafka.bootstrap_servers has a name or password before a host; who we are stands in kafka.properties, as \
                     sasl.username and sasl.password";
        return vec![fault.to_owned()];
    }
    entries
        .filter_map(|entry| fault(entry).map(|fault| format!("kafka.bootstrap_servers: {entry:?} {fault}")))
        .collect()
}

fn fault(entry: &str) -> Option<String> {
    let (protocol, rest) = entry.split_once("://").map_or((None, entry), |(protocol, rest)| (Some(protocol), rest));
    if let Some(protocol) = protocol.filter(|name| !PROTOCOLS.contains(&name.to_ascii_lowercase().as_str())) {
        return Some(format!("begins with {protocol:?}, which is no security protocol of Kafka; write host:port"));
    }
    let address = rest.split('/').next().unwrap_or_default();
    let bracketed = address.starts_with('[');
    let (host, port) = match address.rsplit_once(':') {
        Some((host, port)) if !bracketed || host.ends_with(']') => (host, Some(port)),
        _ => (address, None),
    };
    if !bracketed && host.contains(':') {
        return Some("is an IPv6 address without brackets; write \"[::1]:9092\"".to_owned());
    }
    match port {
        None => Some(format!("has no port; write \"{host}:9092\" if it is Kafka's usual one")),
        Some(_) if host.is_empty() => Some("has no host; write host:port".to_owned()),
        Some(port) => {
            let good =
                port.parse::<u16>().is_ok_and(|port| port > 0) && port.bytes().all(|digit| digit.is_ascii_digit());
            (!good).then(|| format!("has the port {port:?}; a port is a number from 1 to 65535"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_a_host_with_a_port() {
        let good = ["localhost:9092", "a:1,b:65535", " a:1 , b:2,", "[::1]:9092", "SASL_SSL://b-1.example:9096"];
        for servers in good {
            assert_eq!(faults(servers), [""; 0], "{servers}");
        }
        let bad = [
            ("localhost", "\"localhost\" has no port; write \"localhost:9092\""),
            ("a:1,b", "\"b\" has no port"),
            ("[::1]", "\"[::1]\" has no port; write \"[::1]:9092\""),
            ("::1:9092", "is an IPv6 address without brackets"),
            (":9092", "has no host"),
            ("a:", "has the port \"\""),
            ("a:0", "has the port \"0\""),
            ("a:+1", "has the port \"+1\""),
            ("a:65536", "a port is a number from 1 to 65535"),
            ("http://a:1", "begins with \"http\", which is no security protocol"),
            ("ssl://a", "has no port; write \"a:9092\""),
        ];
        for (servers, wanted) in bad {
            let [fault] = &faults(servers)[..] else { panic!("{servers}: {:?}", faults(servers)) };
            assert!(fault.starts_with("kafka.bootstrap_servers: ") && fault.contains(wanted), "{servers}: {fault}");
        }
        assert_eq!(faults("a,b").len(), 2);
        for servers in ["SASL_SSL://u:hunter2@a:1", "u@a:1", "b:1,u:hun,ter2@a:1"] {
            let [fault] = &faults(servers)[..] else { panic!("{servers}: {:?}", faults(servers)) };
            assert!(fault.contains("sasl.password") && !fault.contains("ter2"), "{fault}");
        }
        assert_eq!(faults(" , "), ["kafka.bootstrap_servers is empty"]);
    }
}
