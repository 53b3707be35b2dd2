//! Ranges of addresses as a configuration writes them.
//!
//! It knows what ranges there are, and no policy.

use std::net::IpAddr;

use ipnet::IpNet;

use super::kind::{V4, V6, isatap};

/// Reads a range that is to be granted: `10.0.3.0/24`, or one address.
///
/// # Errors
///
/// Text that is no range, and ranges whose grant would mean nothing: those with bits set behind the prefix, public ones (which names are
/// open to anyway), and those wider than one special range.
pub fn parse_range(text: &str) -> Result<IpNet, RangeError> {
    let failed = |problem| RangeError { value: text.to_owned(), problem };
    let net = read(text).ok_or_else(|| failed(RangeProblem::NoRange))?;
    if net.addr() != net.network() {
        return Err(failed(RangeProblem::BitsBehindPrefix(net.trunc())));
    }
    let (within, overlaps) = match net {
        IpNet::V4(net) => {
            let ranges = || V4.iter().map(|(range, _)| range);
            (ranges().any(|range| range.contains(&net)), ranges().any(|range| net.contains(range)))
        }
        IpNet::V6(net) => {
            let ranges = || V6.iter().map(|(range, _)| range);
            let isatap = net.prefix_len() >= 96 && isatap(net.network()).is_some();
            (isatap || ranges().any(|range| range.contains(&net)), ranges().any(|range| net.contains(range)))
        }
    };
    match (within, overlaps) {
        (true, _) => Ok(net),
        (false, true) => Err(failed(RangeProblem::TooWide)),
        (false, false) => Err(failed(RangeProblem::Public)),
    }
}

/// By the parser of the standard library, since that of `IpNet` takes `010.0.0.0/8`, which others read as octal.
fn read(text: &str) -> Option<IpNet> {
    let Some((address, length)) = text.split_once('/') else { return text.parse::<IpAddr>().ok().map(IpNet::from) };
    let is_number = length.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| IpNet::new(address.parse().ok()?, length.parse().ok()?).ok())?
}

/// A range that cannot be granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot grant the addresses {value:?}: {problem}")]
pub struct RangeError {
    /// The range as it was written.
    pub value: String,
    /// What is wrong with it.
    pub problem: RangeProblem,
}

/// What is wrong with a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeProblem {
    /// Not of the form.
    #[error("write a range such as 10.0.3.0/24, or one address")]
    NoRange,
    /// `10.0.3.7/24`
    #[error("it has bits set behind its prefix; write {0}")]
    BitsBehindPrefix(IpNet),
    /// `0.0.0.0/0`
    #[error("it is wider than one special range; name each, such as 10.0.0.0/8")]
    TooWide,
    /// `8.8.8.0/24`
    #[error("public addresses need no grant, and one does not keep a plugin from others; remove it")]
    Public,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    const RANGES: &str = include_str!("../../vectors/ranges.txt");

    #[test]
    fn every_range_gets_its_verdict() {
        vectors::check(RANGES, |text| match parse_range(text) {
            Ok(net) => net.to_string(),
            Err(RangeError { problem: RangeProblem::NoRange, .. }) => "no range".to_owned(),
            Err(RangeError { problem: RangeProblem::BitsBehindPrefix(net), .. }) => format!("bits behind {net}"),
            Err(RangeError { problem: RangeProblem::TooWide, .. }) => "too wide".to_owned(),
            Err(RangeError { problem: RangeProblem::Public, .. }) => "public".to_owned(),
        });
    }

    #[test]
    fn an_error_names_the_value_and_the_way_out() {
        let text = parse_range("10.0.3.7/24").unwrap_err().to_string();
        assert_eq!(
            text,
            "cannot grant the addresses \"10.0.3.7/24\": it has bits set behind its prefix; write 10.0.3.0/24"
        );
    }

    #[test]
    fn no_text_makes_it_panic() {
        let mut chance = vectors::Chance::new(3);
        for _ in 0..50_000 {
            let _ = parse_range(&chance.text("0123456789abcdef:./ %"));
        }
    }
}
