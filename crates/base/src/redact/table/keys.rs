//! Private keys and seeds.
//!
//! The patterns of private keys find markers; [`Check::Armor`] reads what stands behind them.

use crate::redact::shapes::{Check, Edge, Shape};

#[rustfmt::skip]
pub(super) const SHAPES: &[Shape] = &[
    Shape { kind: "private-key", anchors: &["-----BEGIN "],
        pattern: r"-----BEGIN (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----",
        check: Check::Armor, edge: Edge::Any,
        finds: &["-----BEGIN RSA PRIVATE KEY-----«nl»«pem:3»«nl»-----END RSA PRIVATE KEY-----", r#"-----BEGIN PRIVATE KEY-----\n«b64:48»\n-----END PRIVATE KEY-----\n"#, "-----BEGIN OPENSSH PRIVATE KEY-----«nl»«pem:3»«nl»-----END OPENSSH PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----«nl»«nl»«pem:3»", "-----BEGIN EC PRIVATE KEY-----«b64:48»"],
        spares: &["-----BEGIN PUBLIC KEY-----«nl»«pem:2»«nl»-----END PUBLIC KEY-----", "-----BEGIN CERTIFICATE-----«nl»«pem:2»«nl»-----END CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----«nl»...«nl»-----END PRIVATE KEY-----", "text.contains(\"-----BEGIN PRIVATE KEY-----\")"] },
    Shape { kind: "private-key", anchors: &["---- BEGIN SSH2 "],
        pattern: r"---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----",
        check: Check::Armor, edge: Edge::Any,
        finds: &["---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----«nl»«pem:2»«nl»---- END SSH2 ENCRYPTED PRIVATE KEY ----"],
        spares: &["---- BEGIN SSH2 PUBLIC KEY ----«nl»«pem:2»«nl»---- END SSH2 PUBLIC KEY ----", "---- BEGIN SSH2 PRIVATE KEY ---- begins one"] },
    Shape { kind: "private-key", anchors: &["Private-Lines:"],
        pattern: r"Private-Lines: *[0-9]+[\r\n]*(?<value>)",
        check: Check::Armor, edge: Edge::Any,
        finds: &["PuTTY-User-Key-File-3: ssh-ed25519«nl»Private-Lines: 1«nl»«b64:36»«nl»Private-MAC: «hex:64»"],
        spares: &["Public-Lines: 1«nl»«b64:36»", "Private-Lines: 14 of them"] },
    Shape { kind: "age", anchors: &["AGE-SECRET-KEY-1", "AGE-PLUGIN-"],
        pattern: r"AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]+)-1[AC-HJ-NP-Z02-9]{20,}",
        check: Check::Varied, edge: Edge::Word,
        finds: &["«agekey»"],
        spares: &["age1«low:40»"] },
    Shape { kind: "bech32", anchors: &["nsec1", "lsk1", "ed25519_sk1", "xprv1"],
        pattern: r"(?:nsec|lsk|ed25519_sk|xprv)1[02-9ac-hj-np-z]{40,}",
        check: Check::Bech32, edge: Edge::Word,
        finds: &["«bech32:nsec»"],
        spares: &["nsec1«low:58»"] },
    Shape { kind: "bip32", anchors: &["xprv", "yprv", "zprv", "tprv"],
        pattern: r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{100,112}",
        check: Check::Base58, edge: Edge::Word,
        finds: &["«xprv»"],
        spares: &["xpub«b62:107»"] },
    Shape { kind: "seed-phrase", anchors: &["nemonic", "NEMONIC", "phrase", "Phrase", "PHRASE", "seed words"],
        pattern: r"(?i:nemonic|phrase|seed words)(?: is)?['\x22]?[ \t]*[:=]?[ \t]*['\x22]?(?<value>(?:[a-z]{3,8}[ ,]+){11,23}[a-z]{3,8})",
        check: Check::Always, edge: Edge::Any,
        finds: &["mnemonic: «words:12»", r#"MNEMONIC_PHRASE="«words:24»""#],
        spares: &["the passphrase should be short and easy", "phrase: «words:5»"] },
];
