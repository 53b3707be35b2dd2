//! What an address is: the special ranges, by the registries of special-purpose addresses (RFC 6890 and its successors), and the forms
//! in which an IPv6 address carries an IPv4 one.
//!
//! It knows nothing of grants.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// What a refused address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// This machine.
    Loopback,
    /// A private network (RFC 1918).
    Private,
    /// The link that the machine is on.
    LinkLocal,
    /// Where clouds hand out credentials to whoever asks.
    CloudMetadata,
    /// Shared by a provider and its customers (RFC 6598).
    CarrierGradeNat,
    /// Many receivers.
    Multicast,
    /// Everybody on the link.
    Broadcast,
    /// No address, or this network.
    Unspecified,
    /// For examples in texts.
    Documentation,
    /// For measurements of networks.
    Benchmarking,
    /// Set aside for protocols, for later, or for nothing.
    Reserved,
    /// The private networks of IPv6 (RFC 4193).
    UniqueLocal,
    /// What those were before (RFC 3879).
    SiteLocal,
    /// Carries this IPv4 address.
    Disguised(Disguise, Ipv4Addr),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::CloudMetadata => "cloud metadata",
            Self::CarrierGradeNat => "carrier-grade NAT",
            Self::Multicast => "multicast",
            Self::Broadcast => "broadcast",
            Self::Unspecified => "unspecified",
            Self::Documentation => "for documentation",
            Self::Benchmarking => "for benchmarking",
            Self::Reserved => "reserved",
            Self::UniqueLocal => "unique local",
            Self::SiteLocal => "site-local",
            Self::Disguised(how, inside) => {
                write!(f, "{inside} in disguise ({how})")?;
                return match range_of_v4(*inside) {
                    Some((_, kind)) => write!(f, ", which is {kind}"),
                    None => Ok(()),
                };
            }
        };
        f.write_str(words)
    }
}

/// How an IPv6 address carries an IPv4 one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disguise {
    /// `::ffff:a.b.c.d`
    Mapped,
    /// `::a.b.c.d`
    Compatible,
    /// `::ffff:0:a.b.c.d` (RFC 2765)
    Translated,
    /// `64:ff9b::a.b.c.d` (RFC 6052)
    Nat64,
    /// Inside `64:ff9b:1::/48` (RFC 8215). Its last 32 bits are taken; shorter forms of translation cannot be told from the address.
    LocalNat64,
    /// `2002:abcd:…`
    SixToFour,
    /// Inside `2001::/32`, the client's address inverted in the last 32 bits.
    Teredo,
    /// `…:5efe:a.b.c.d` under any prefix (RFC 5214)
    Isatap,
}

impl fmt::Display for Disguise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mapped => "IPv4-mapped",
            Self::Compatible => "IPv4-compatible",
            Self::Translated => "IPv4-translated",
            Self::Nat64 => "NAT64",
            Self::LocalNat64 => "local NAT64",
            Self::SixToFour => "6to4",
            Self::Teredo => "Teredo",
            Self::Isatap => "ISATAP",
        })
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(s: [u16; 8], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]), length)
}

/// The special ranges of IPv4, the narrower before the wider.
pub(super) const V4: &[(Ipv4Net, Kind)] = &[
    // What clouds serve credentials or the machine's own settings from. 168.63.129.16 looks public and is not routed outside its cloud.
    (v4(169, 254, 169, 254, 32), Kind::CloudMetadata),
    (v4(169, 254, 170, 2, 32), Kind::CloudMetadata),
    (v4(169, 254, 170, 23, 32), Kind::CloudMetadata),
    (v4(100, 100, 100, 200, 32), Kind::CloudMetadata),
    (v4(168, 63, 129, 16, 32), Kind::CloudMetadata),
    (v4(192, 0, 0, 192, 32), Kind::CloudMetadata),
    (v4(255, 255, 255, 255, 32), Kind::Broadcast),
    (v4(0, 0, 0, 0, 8), Kind::Unspecified),
    (v4(10, 0, 0, 0, 8), Kind::Private),
    (v4(100, 64, 0, 0, 10), Kind::CarrierGradeNat),
    (v4(127, 0, 0, 0, 8), Kind::Loopback),
    (v4(169, 254, 0, 0, 16), Kind::LinkLocal),
    (v4(172, 16, 0, 0, 12), Kind::Private),
    (v4(192, 0, 0, 0, 24), Kind::Reserved),
    (v4(192, 0, 2, 0, 24), Kind::Documentation),
    (v4(192, 31, 196, 0, 24), Kind::Reserved),
    (v4(192, 52, 193, 0, 24), Kind::Reserved),
    (v4(192, 88, 99, 0, 24), Kind::Reserved),
    (v4(192, 168, 0, 0, 16), Kind::Private),
    (v4(192, 175, 48, 0, 24), Kind::Reserved),
    (v4(198, 18, 0, 0, 15), Kind::Benchmarking),
    (v4(198, 51, 100, 0, 24), Kind::Documentation),
    (v4(203, 0, 113, 0, 24), Kind::Documentation),
    (v4(224, 0, 0, 0, 4), Kind::Multicast),
    (v4(240, 0, 0, 0, 4), Kind::Reserved),
];

/// What stands in the table for a range whose addresses carry IPv4 ones; which one is worked out from the address.
const CARRIES: Kind = Kind::Reserved;

/// The special ranges of IPv6, the narrower before the wider. All of 2000::/3 that is not here is global unicast; all else is reserved.
pub(super) const V6: &[(Ipv6Net, Kind)] = &[
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), Kind::Unspecified),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), Kind::Loopback),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), CARRIES),
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), CARRIES),
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), CARRIES),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), CARRIES),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), CARRIES),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), Kind::CloudMetadata),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23], 128), Kind::CloudMetadata),
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), Kind::CloudMetadata),
    (v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128), Kind::CloudMetadata),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), CARRIES),
    (v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), Kind::Benchmarking),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), Kind::Reserved),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), Kind::Documentation),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), CARRIES),
    (v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), Kind::Reserved),
    (v6([0x3ffe, 0, 0, 0, 0, 0, 0, 0], 16), Kind::Reserved),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), Kind::Documentation),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), Kind::UniqueLocal),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), Kind::LinkLocal),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), Kind::SiteLocal),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), Kind::Multicast),
    // What is left around 2000::/3.
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 3), Kind::Reserved),
    (v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 2), Kind::Reserved),
    (v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 2), Kind::Reserved),
    (v6([0xc000, 0, 0, 0, 0, 0, 0, 0], 3), Kind::Reserved),
    (v6([0xe000, 0, 0, 0, 0, 0, 0, 0], 4), Kind::Reserved),
    (v6([0xf000, 0, 0, 0, 0, 0, 0, 0], 5), Kind::Reserved),
    (v6([0xf800, 0, 0, 0, 0, 0, 0, 0], 6), Kind::Reserved),
    (v6([0xfe00, 0, 0, 0, 0, 0, 0, 0], 9), Kind::Reserved),
];

/// The narrowest special range that the address is in.
pub(super) fn range_of_v4(address: Ipv4Addr) -> Option<(Ipv4Net, Kind)> {
    V4.iter().find(|(range, _)| range.contains(&address)).copied()
}

/// The narrowest special range that the address is in.
pub(super) fn range_of_v6(address: Ipv6Addr) -> Option<(Ipv6Net, Kind)> {
    V6.iter().find(|(range, _)| range.contains(&address)).copied()
}

/// The IPv4 address that this one carries, by its range or by its last 64 bits.
pub(super) fn disguised(address: Ipv6Addr) -> Option<(Disguise, Ipv4Addr)> {
    let s = address.segments();
    let pair = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    let last = pair(s[6], s[7]);
    match s {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0, _, _] => Some((Disguise::Compatible, last)),
        [0, 0, 0, 0, 0, 0xffff, _, _] => Some((Disguise::Mapped, last)),
        [0, 0, 0, 0, 0xffff, 0, _, _] => Some((Disguise::Translated, last)),
        [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some((Disguise::Nat64, last)),
        [0x64, 0xff9b, 1, ..] => Some((Disguise::LocalNat64, last)),
        [0x2001, 0, ..] => Some((Disguise::Teredo, Ipv4Addr::from_bits(!last.to_bits()))),
        [0x2002, high, low, ..] => Some((Disguise::SixToFour, pair(high, low))),
        _ => isatap(address).map(|inside| (Disguise::Isatap, inside)),
    }
}

/// The IPv4 address in an interface identifier of ISATAP, whose two bits for "universal" and "group" may be set.
pub(super) fn isatap(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let s = address.segments();
    let is_isatap = s[4] & 0xfcff == 0 && s[5] == 0x5efe;
    is_isatap.then(|| Ipv4Addr::from_bits(u32::from(s[6]) << 16 | u32::from(s[7])))
}

/// The range of all addresses that differ from this one in the last 32 bits at most.
pub(super) fn last_32_bits_of(address: Ipv6Addr) -> Ipv6Net {
    Ipv6Net::new_assert(address, 96).trunc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_range_stands_before_the_wider() {
        for (at, (range, _)) in V4.iter().enumerate() {
            assert!(V4[at + 1..].iter().all(|(later, _)| !range.contains(later)), "{range}");
        }
        for (at, (range, _)) in V6.iter().enumerate() {
            assert!(V6[at + 1..].iter().all(|(later, _)| !range.contains(later)), "{range}");
        }
    }

    #[test]
    fn the_ranges_that_carry_an_address_are_these() {
        let carrying = V6.iter().map(|(range, _)| range).filter(|range| {
            let inside = range.network().to_bits() | 0x0a00_0001;
            (4..128).contains(&range.prefix_len()) && disguised(Ipv6Addr::from_bits(inside)).is_some()
        });
        let found: Vec<String> = carrying.map(ToString::to_string).collect();
        let all = "::/96 ::ffff:0.0.0.0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 2001::/32 2001::/23 2002::/16";
        assert_eq!(found.join(" "), all, "2001::/23 is around 2001::/32");
    }

    #[test]
    fn all_that_is_not_global_unicast_is_in_a_range() {
        let mut address = 0_u128;
        for _ in 0..=u16::MAX {
            let first = (address >> 112) as u16;
            let in_range = range_of_v6(Ipv6Addr::from_bits(address | 1 << 100)).is_some();
            assert!(in_range || first & 0xe000 == 0x2000, "{first:x}");
            address = address.wrapping_add(1 << 112);
        }
    }
}
