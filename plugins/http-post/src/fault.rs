//! Why a request got no answer, or none that can be used: in words for people, with the way out where there is one.
//!
//! It must not know how a request is sent.

use crate::request::SendError;

/// How many headers the host takes; of its bounds it names only that on their bytes.
const HEADERS_MAX: usize = 128;

/// Why a request got no answer, or none that can be used.
#[cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "natively nothing is sent, but for tests"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The host grants no way there.
    Denied,
    /// The server's name has no address.
    NoAddress,
    /// Nobody said in time what the address is.
    AddressTimeout,
    /// No connection.
    Refused,
    /// No connection in time.
    ConnectTimeout,
    /// Not a certificate that the host trusts.
    Certificate,
    /// TLS failed otherwise.
    Tls,
    /// More requests at once than the host lets through.
    TooManyAtOnce,
    /// The server hung up before it had read the request.
    NotRead,
    /// The server did not read the request in time.
    WriteTimeout,
    /// The answer did not come, or end, in time.
    AnswerTimeout,
    /// The connection ended before the answer did.
    HungUp,
    /// What came is no answer.
    NotUnderstood,
    /// The answer has more bytes than are taken, which is told where it is known.
    AnswerTooLarge(Option<u64>),
    /// The answer's headers are more than the host takes, which is told where it is known, or promise what no body has.
    HeadTooLarge(Option<u32>),
    /// The request's body is larger than the host lets through.
    RequestTooLarge(Option<u64>),
    /// The request's headers are.
    RequestHeadTooLarge,
    /// There can be no such request, for this reason.
    Impossible(&'static str),
    /// The host did not send it, and says why or does not.
    Host(Option<String>),
}

impl Fault {
    /// What follows from it, in words. `at` is the server's host and port.
    pub(crate) fn told(&self, at: &str) -> SendError {
        match self {
            Self::Denied => SendError::Lasting(format!(
                "the host does not let this plugin reach {at}: name the URL in http of [plugin.grants], and its range in addresses \
                 where that is a private one"
            )),
            Self::AnswerTooLarge(limit) => SendError::Lasting(format!(
                "the answer of {at} is too large{}: have it answer less, or ask for less at once with max_records",
                than(*limit)
            )),
            Self::HeadTooLarge(limit) => SendError::Lasting(format!(
                "the headers of the answer of {at} are more than the host takes: more than {}{HEADERS_MAX} of them, or a Content-Length \
                 that no body has; have it send less, or ask by another URL",
                limit.map_or(String::new(), |limit| format!("{limit} bytes, more than "))
            )),
            Self::RequestTooLarge(limit) => SendError::Lasting(format!(
                "the request to {at} is too large{}: lower max_bytes or max_records",
                than(*limit)
            )),
            Self::RequestHeadTooLarge => SendError::Lasting(format!(
                "the headers of the request to {at} are too large: shorten the settings header.NAME"
            )),
            Self::Impossible(why) => SendError::Lasting(format!("no request can be sent to {at}: {why}")),
            Self::NoAddress => SendError::Passing(format!(
                "the address of {at} is not to be had: the name service knows none, or cannot be reached"
            )),
            Self::AddressTimeout => SendError::Passing(format!(
                "the address of {at} is not to be had: the name service did not answer in time"
            )),
            Self::Refused => {
                SendError::Passing(format!("{at} takes no connection: nothing listens there, or no way leads there"))
            }
            Self::ConnectTimeout => SendError::Passing(format!(
                "{at} took no connection in time: it is down or overloaded, or a firewall is between"
            )),
            Self::Certificate => SendError::Passing(format!(
                "the TLS certificate of {at} is not trusted: it has expired, is for another name, or is of an authority that \
                 ca_file of [plugin.grants] has to name"
            )),
            Self::Tls => SendError::Passing(format!(
                "there is no TLS with {at}: it speaks none at that port, none as new as 1.2, or wants a certificate of us"
            )),
            Self::TooManyAtOnce => SendError::Passing(format!(
                "the request to {at} was not sent: more are under way than there may be at once"
            )),
            Self::NotRead => SendError::Passing(format!("{at} hung up before it had read the request")),
            Self::WriteTimeout => SendError::Passing(format!("{at} did not read the request in time")),
            Self::AnswerTimeout => SendError::Passing(format!(
                "{at} did not answer in time: where it is slow with many records, lower max_records"
            )),
            Self::HungUp => SendError::Passing(format!("{at} hung up before its answer was whole")),
            Self::NotUnderstood => SendError::Passing(format!(
                "the answer of {at} was not understood: it is no HTTP/1.1, or broken; check host, port and scheme in the setting url"
            )),
            Self::Host(Some(why)) => SendError::Passing(format!("the host says of the request to {at}: {why}")),
            Self::Host(None) => {
                SendError::Passing(format!("the host could not send the request to {at}; its log tells why"))
            }
        }
    }
}

/// More than so many bytes, where it is known.
fn than(limit: Option<u64>) -> String {
    limit.map_or(String::new(), |limit| format!(", it has more than {limit} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "api.example.com:8443";

    #[test]
    fn what_time_may_heal_is_worth_a_wait_and_says_what_happened() {
        for (fault, words) in [
            (Fault::NoAddress, "the address of api.example.com:8443 is not to be had: the name service knows none"),
            (Fault::AddressTimeout, "the name service did not answer in time"),
            (Fault::Refused, "takes no connection: nothing listens there"),
            (Fault::ConnectTimeout, "took no connection in time"),
            (
                Fault::Certificate,
                "is not trusted: it has expired, is for another name, or is of an authority that ca_file",
            ),
            (Fault::Tls, "there is no TLS with"),
            (Fault::TooManyAtOnce, "more are under way"),
            (Fault::NotRead, "before it had read the request"),
            (Fault::WriteTimeout, "did not read the request in time"),
            (Fault::AnswerTimeout, "did not answer in time: where it is slow with many records, lower max_records"),
            (Fault::HungUp, "hung up before its answer was whole"),
            (Fault::NotUnderstood, "was not understood: it is no HTTP/1.1, or broken; check host, port and scheme"),
            (Fault::Host(Some("a header".to_owned())), "the host says of the request to"),
            (Fault::Host(None), "its log tells why"),
        ] {
            let told = fault.told(AT);
            assert!(
                matches!(&told, SendError::Passing(told) if told.contains(words) && told.contains(AT)),
                "{fault:?}: {told:?}"
            );
        }
    }

    #[test]
    fn what_somebody_has_to_change_names_the_way_out() {
        for (fault, words) in [
            (Fault::Denied, "name the URL in http of [plugin.grants]"),
            (Fault::AnswerTooLarge(Some(7)), "is too large, it has more than 7 bytes: have it answer less"),
            (
                Fault::AnswerTooLarge(None),
                "is too large: have it answer less, or ask for less at once with max_records",
            ),
            (
                Fault::HeadTooLarge(Some(32_768)),
                "more than 32768 bytes, more than 128 of them, or a Content-Length that no body has; have it send less",
            ),
            (Fault::HeadTooLarge(None), "takes: more than 128 of them, or a Content-Length that no body has; have it"),
            (Fault::RequestTooLarge(Some(7)), "more than 7 bytes: lower max_bytes or max_records"),
            (Fault::RequestHeadTooLarge, "shorten the settings header.NAME"),
            (Fault::Impossible("the setting url is no address"), "the setting url is no address"),
        ] {
            let told = fault.told(AT);
            assert!(
                matches!(&told, SendError::Lasting(told) if told.contains(words) && told.contains(AT)),
                "{fault:?}: {told:?}"
            );
        }
    }
}
