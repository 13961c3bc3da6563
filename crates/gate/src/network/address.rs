//! Classes of IP addresses: public, private, loopback, metadata services.
//!
//! Everything that is not known to be public counts as not public. An IPv4 address inside an IPv6 one is judged as the
//! IPv4 address that it is.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an address that is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// This machine.
    Loopback,
    /// A private network.
    Private,
    /// The network that the machine is plugged into.
    LinkLocal,
    /// Metadata services, by which clouds hand out credentials without asking.
    Metadata,
    /// Shared by the customers of a provider.
    Shared,
    /// No address at all, which many systems take for this machine.
    Unspecified,
    /// Several machines at once.
    Multicast,
    /// Every machine at once.
    Broadcast,
    /// For examples in documents.
    Documentation,
    /// Set aside.
    Reserved,
}

impl Class {
    /// May an operator name such an address?
    #[must_use]
    pub fn can_be_named(self) -> bool {
        !matches!(self, Class::Unspecified | Class::Multicast | Class::Broadcast)
    }
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Class::Loopback => "a loopback address (this machine)",
            Class::Private => "an address of a private network",
            Class::LinkLocal => "a link-local address",
            Class::Metadata => "the address of a cloud's metadata service",
            Class::Shared => "a shared address (carrier-grade NAT)",
            Class::Unspecified => "an unspecified address (this machine)",
            Class::Multicast => "a multicast address",
            Class::Broadcast => "the broadcast address",
            Class::Documentation => "an address for documentation",
            Class::Reserved => "a reserved address",
        })
    }
}

/// Metadata services that answer on IPv4; one of them has an address that looks public.
const METADATA: [Ipv4Addr; 5] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(168, 63, 129, 16),
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
/// The same on IPv6.
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

/// Classifies an address; `None` for a public one.
#[must_use]
pub fn class(address: IpAddr) -> Option<Class> {
    match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => class_v6(address),
    }
}

fn class_v4(address: Ipv4Addr) -> Option<Class> {
    if METADATA.contains(&address) {
        return Some(Class::Metadata);
    }
    match address.octets() {
        [0, ..] => Some(Class::Unspecified),
        [127, ..] => Some(Class::Loopback),
        [10, ..] | [192, 168, ..] => Some(Class::Private),
        [172, second, ..] if second & 0xf0 == 16 => Some(Class::Private),
        [169, 254, ..] => Some(Class::LinkLocal),
        [100, second, ..] if second & 0xc0 == 64 => Some(Class::Shared),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Some(Class::Documentation),
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => Some(Class::Reserved),
        [255, 255, 255, 255] => Some(Class::Broadcast),
        [first, ..] if first & 0xf0 == 224 => Some(Class::Multicast),
        [first, ..] if first & 0xf0 == 240 => Some(Class::Reserved),
        _ => None,
    }
}

fn class_v6(address: Ipv6Addr) -> Option<Class> {
    if METADATA_V6.contains(&address) {
        return Some(Class::Metadata);
    }
    let [a, b, c, d, e, f, g, h] = address.segments();
    let inner = |high: u16, low: u16| {
        let ([one, two], [three, four]) = (high.to_be_bytes(), low.to_be_bytes());
        class_v4(Ipv4Addr::new(one, two, three, four))
    };
    match [a, b, c, d, e, f] {
        // Mapped, and the well-known prefix of NAT64: the address inside is where it goes.
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => return inner(g, h),
        // `::`, `::1`, and the long abandoned form with an IPv4 address at its end.
        [0, 0, 0, 0, 0, 0] => {
            return Some(match (g, h) {
                (0, 0) => Class::Unspecified,
                (0, 1) => Class::Loopback,
                _ => inner(g, h).unwrap_or(Class::Reserved),
            });
        }
        _ => {}
    }
    // 6to4 carries the address of its gateway; ISATAP carries the address of the machine.
    if a == 0x2002
        && let Some(class) = inner(b, c)
    {
        return Some(class);
    }
    if matches!((e, f), (0 | 0x200, 0x5efe))
        && let Some(class) = inner(g, h)
    {
        return Some(class);
    }
    match a {
        _ if a & 0xfe00 == 0xfc00 => Some(Class::Private),
        _ if a & 0xffc0 == 0xfe80 => Some(Class::LinkLocal),
        // Site-local, abandoned, but still routed inside some sites.
        _ if a & 0xffc0 == 0xfec0 => Some(Class::Private),
        _ if a & 0xff00 == 0xff00 => Some(Class::Multicast),
        0x2001 if b == 0xdb8 => Some(Class::Documentation),
        0x3fff if b & 0xf000 == 0 => Some(Class::Documentation),
        // Protocol assignments: Teredo, benchmarks, identifiers that are not addresses.
        0x2001 if b & 0xfe00 == 0 => Some(Class::Reserved),
        _ if a & 0xe000 == 0x2000 => None,
        _ => Some(Class::Reserved),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_is_known_in_both_families() {
        let cases = [
            ("127.0.0.1", Class::Loopback),
            ("127.255.255.254", Class::Loopback),
            ("::1", Class::Loopback),
            ("::ffff:127.0.0.1", Class::Loopback),
            ("::127.0.0.1", Class::Loopback),
            ("64:ff9b::127.0.0.1", Class::Loopback),
            ("2002:7f00:1::", Class::Loopback),
            ("2001:470::5efe:127.0.0.1", Class::Loopback),
            ("2001:470::200:5efe:10.0.0.1", Class::Private),
            ("10.0.0.1", Class::Private),
            ("172.16.0.1", Class::Private),
            ("172.31.255.255", Class::Private),
            ("192.168.1.1", Class::Private),
            ("::ffff:10.0.0.1", Class::Private),
            ("2002:c0a8:101::1", Class::Private),
            ("fc00::1", Class::Private),
            ("fd12:3456::1", Class::Private),
            ("fec0::1", Class::Private),
            ("169.254.1.1", Class::LinkLocal),
            ("fe80::1", Class::LinkLocal),
            ("169.254.169.254", Class::Metadata),
            ("169.254.170.2", Class::Metadata),
            ("168.63.129.16", Class::Metadata),
            ("100.100.100.200", Class::Metadata),
            ("::ffff:169.254.169.254", Class::Metadata),
            ("64:ff9b::169.254.169.254", Class::Metadata),
            ("fd00:ec2::254", Class::Metadata),
            ("100.64.0.1", Class::Shared),
            ("100.127.255.255", Class::Shared),
            ("0.0.0.0", Class::Unspecified),
            ("0.1.2.3", Class::Unspecified),
            ("::", Class::Unspecified),
            ("::ffff:0.0.0.0", Class::Unspecified),
            ("224.0.0.1", Class::Multicast),
            ("239.255.255.255", Class::Multicast),
            ("ff02::1", Class::Multicast),
            ("255.255.255.255", Class::Broadcast),
            ("192.0.2.1", Class::Documentation),
            ("198.51.100.1", Class::Documentation),
            ("203.0.113.1", Class::Documentation),
            ("2001:db8::1", Class::Documentation),
            ("3fff:fff::1", Class::Documentation),
            ("240.0.0.1", Class::Reserved),
            ("198.18.0.1", Class::Reserved),
            ("192.88.99.1", Class::Reserved),
            ("2001::1", Class::Reserved),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Class::Reserved),
            ("64:ff9b:1::1", Class::Reserved),
            ("100::1", Class::Reserved),
            ("::8.8.8.8", Class::Reserved),
            ("4000::1", Class::Reserved),
        ];
        for (text, expected) in cases {
            assert_eq!(class(text.parse().unwrap()), Some(expected), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_public() {
        for text in [
            "8.8.8.8",
            "1.1.1.1",
            "172.32.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "169.253.1.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450:4001:80e::200e",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert_eq!(class(text.parse().unwrap()), None, "{text}");
        }
    }
}
