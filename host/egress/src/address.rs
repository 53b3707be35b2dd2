//! Which addresses a plugin may be connected to: public ones, and those of special ranges that the operator granted.
//!
//! It is pure: it knows no names, no sockets and no guest.

mod kind;
mod range;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};

pub use kind::{Disguise, Kind};
pub use range::{RangeError, RangeProblem, parse_range};

/// Judges addresses. Without a grant only global unicast passes.
///
/// A grant opens an address when the granted range contains it *and* lies within the special range that the address belongs to. So
/// `10.0.0.0/8` opens 10.x and nothing else; `169.254.0.0/16` does not open the metadata service inside it, which is a range of its own
/// and wants `169.254.169.254/32`; and `0.0.0.0/0` opens nothing ([`parse_range`] refuses it).
///
/// An IPv6 address that carries an IPv4 address has to pass twice: the disguise itself has to be granted, and the IPv4 address inside has
/// to pass by itself. A grant of `10.0.0.0/8` therefore does not open `::ffff:10.0.0.1`. No name has such an address unless somebody wrote
/// it there, so nothing useful is lost, and there is one spelling less to get past a check. Granting `64:ff9b::/96` is what a network with
/// NAT64 needs: public IPv4 addresses then pass in that form, private ones still do not.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    granted: Vec<IpNet>,
}

impl AddressPolicy {
    /// A policy with these ranges granted.
    pub fn new(granted: Vec<IpNet>) -> Self {
        Self { granted }
    }

    /// Judges one address.
    ///
    /// # Errors
    ///
    /// What the address is, and the ranges whose grant would open it.
    pub fn judge(&self, address: IpAddr) -> Result<(), Forbidden> {
        match address {
            IpAddr::V4(address) => self.judge_v4(address),
            IpAddr::V6(address) => self.judge_v6(address),
        }
    }

    fn judge_v4(&self, address: Ipv4Addr) -> Result<(), Forbidden> {
        let Some((range, kind)) = kind::range_of_v4(address) else { return Ok(()) };
        let opens = |net: &IpNet| matches!(net, IpNet::V4(net) if net.contains(&address) && range.contains(net));
        if self.granted.iter().any(opens) {
            return Ok(());
        }
        Err(Forbidden { address: address.into(), kind, missing: vec![IpAddr::V4(address).into()] })
    }

    fn judge_v6(&self, address: Ipv6Addr) -> Result<(), Forbidden> {
        let range = kind::range_of_v6(address);
        let isatap = kind::isatap(address);
        // The address inside an ISATAP interface is known by the last 64 bits, under whatever prefix.
        let isatap_range = isatap.map(|_| kind::last_32_bits_of(address));
        let whole = [range.map(|(range, _)| range), isatap_range];
        let is_closed = whole.iter().flatten().any(|range| !self.opens_v6(address, range));

        let disguised = kind::disguised(address);
        let inside = disguised.and_then(|(_, inside)| self.judge_v4(inside).err());

        let mut missing = Vec::new();
        if is_closed {
            missing.push(IpAddr::V6(address).into());
        }
        missing.extend(inside.into_iter().flat_map(|inside| inside.missing));
        if missing.is_empty() {
            return Ok(());
        }
        let kind = match (disguised, range) {
            (Some((how, inside)), _) => Kind::Disguised(how, inside),
            (None, Some((_, kind))) => kind,
            (None, None) => Kind::Reserved,
        };
        Err(Forbidden { address: address.into(), kind, missing })
    }

    fn opens_v6(&self, address: Ipv6Addr, range: &Ipv6Net) -> bool {
        let opens = |net: &IpNet| matches!(net, IpNet::V6(net) if net.contains(&address) && range.contains(net));
        self.granted.iter().any(opens)
    }
}

/// Why an address is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {kind}")]
pub struct Forbidden {
    /// The address as it was asked for or resolved to.
    pub address: IpAddr,
    /// What it is.
    pub kind: Kind,
    /// The narrowest ranges whose grant would open it, one each.
    pub missing: Vec<IpNet>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    const ADDRESSES: &str = include_str!("../vectors/addresses.txt");

    fn policy(granted: &str) -> AddressPolicy {
        AddressPolicy::new(granted.split_whitespace().map(|net| parse_range(net).unwrap()).collect())
    }

    #[test]
    fn every_address_gets_its_verdict() {
        vectors::check(ADDRESSES, |address| match policy("").judge(address.parse().unwrap()) {
            Ok(()) => "open".to_owned(),
            Err(forbidden) => forbidden.kind.to_string(),
        });
    }

    #[test]
    fn what_is_said_to_be_missing_opens_the_address() {
        for [address, _] in vectors::rows::<2>(ADDRESSES) {
            let address: IpAddr = address.parse().unwrap();
            if let Err(forbidden) = policy("").judge(address) {
                assert_eq!(AddressPolicy::new(forbidden.missing.clone()).judge(address), Ok(()), "{forbidden:?}");
                let lines = forbidden.missing.iter().map(ToString::to_string).collect::<Vec<_>>();
                assert_eq!(policy(&lines.join(" ")).judge(address), Ok(()), "as it is written in a configuration");
            }
        }
    }

    #[test]
    fn a_grant_opens_what_it_contains_and_nothing_else() {
        let ten = policy("10.0.3.0/24");
        assert_eq!(ten.judge("10.0.3.255".parse().unwrap()), Ok(()));
        for closed in ["10.0.2.255", "10.0.4.0", "127.0.0.1", "192.168.0.1", "fd00::a00:301"] {
            assert!(ten.judge(closed.parse().unwrap()).is_err(), "{closed}");
        }
        let local = policy("fd12:3456::/32");
        assert_eq!(local.judge("fd12:3456::1".parse().unwrap()), Ok(()));
        assert!(local.judge("fd12:3457::1".parse().unwrap()).is_err());
    }

    #[test]
    fn a_grant_of_ipv4_does_not_open_its_disguises() {
        let ten = policy("10.0.0.0/8");
        for spelling in [
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "::ffff:0:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::10.0.0.1",
            "2002:a00:1::1",
            "2001:0:1:2::f5ff:fffe",
            "2a00::5efe:10.0.0.1",
        ] {
            let forbidden = ten.judge(spelling.parse().unwrap()).unwrap_err();
            assert_eq!(forbidden.missing, [IpNet::from(forbidden.address)], "{spelling}: 10.0.0.1 itself is granted");
        }
    }

    #[test]
    fn a_granted_disguise_is_still_judged_by_what_is_inside() {
        let nat64 = policy("64:ff9b::/96");
        assert_eq!(nat64.judge("64:ff9b::8.8.8.8".parse().unwrap()), Ok(()));
        let inside = nat64.judge("64:ff9b::10.0.0.1".parse().unwrap()).unwrap_err();
        assert_eq!(inside.missing, ["10.0.0.1/32".parse::<IpNet>().unwrap()]);
        assert_eq!(policy("64:ff9b::/96 10.0.0.0/8").judge("64:ff9b::10.0.0.1".parse().unwrap()), Ok(()));
        assert!(
            policy("::/8 10.0.0.0/8").judge("::ffff:10.0.0.1".parse().unwrap()).is_err(),
            "wider than the disguise"
        );
    }

    #[test]
    fn the_metadata_service_is_opened_by_its_own_address_only() {
        let address: IpAddr = "169.254.169.254".parse().unwrap();
        assert!(policy("169.254.0.0/16").judge(address).is_err());
        assert!(policy("169.254.169.254/31").judge(address).is_err());
        assert_eq!(policy("169.254.169.254/32").judge(address), Ok(()));
        assert!(policy("100.64.0.0/10").judge("100.100.100.200".parse().unwrap()).is_err());
        assert_eq!(policy("100.64.0.0/10").judge("100.100.100.201".parse().unwrap()), Ok(()));
    }

    #[test]
    fn isatap_wants_the_grant_of_its_range_and_of_its_form() {
        let address: IpAddr = "fe80::5efe:10.0.0.1".parse().unwrap();
        assert!(policy("fe80::/10 10.0.0.1/32").judge(address).is_err());
        assert_eq!(policy("fe80::5efe:0:0/96 10.0.0.1/32").judge(address), Ok(()));
    }

    #[test]
    fn whatever_the_address_a_verdict_is_reached_and_only_global_unicast_passes() {
        let mut chance = vectors::Chance::new(7);
        let policy = policy("");
        for _ in 0..200_000 {
            let v4 = Ipv4Addr::from_bits(chance.next() as u32);
            if policy.judge(v4.into()).is_ok() {
                assert!(!v4.is_private() && !v4.is_loopback() && !v4.is_link_local(), "{v4}");
                assert!(
                    !v4.is_multicast() && !v4.is_broadcast() && !v4.is_unspecified() && !v4.is_documentation(),
                    "{v4}"
                );
            }
            let v6 = Ipv6Addr::from_bits(u128::from(chance.next()) << 64 | u128::from(chance.next()));
            if policy.judge(v6.into()).is_ok() {
                assert_eq!(v6.segments()[0] & 0xe000, 0x2000, "{v6}");
            }
            let mapped = v4.to_ipv6_mapped();
            assert!(policy.judge(mapped.into()).is_err(), "{mapped}");
        }
    }
}
