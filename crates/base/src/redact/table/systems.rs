//! Tokens and files of systems, of no single provider.

use crate::redact::shape::{Check, Edge, Shape};

#[rustfmt::skip]
pub(super) const SHAPES: &[Shape] = &[
    Shape { kind: "jwt", anchors: &["eyJ"],
        pattern: r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}",
        check: Check::Jwt, edge: Edge::Word,
        finds: &["«jwt»"],
        spares: &["eyJhIjoxfQ.eyJiIjoyfQ.«b64u:20»"] },
    Shape { kind: "netrc", anchors: &["machine ", "default login"],
        pattern: r"(?:machine [^ \t\r\n]+|default)(?:[ \t\r\n]+(?:login|account)[ \t]+[^ \t\r\n]+)+[ \t\r\n]+password[ \t]+(?<value>[^ \t\r\n]+)",
        check: Check::Always, edge: Edge::Word,
        finds: &["machine api.example.com login bob password «b62:12»"],
        spares: &["machine learning"] },
    Shape { kind: "netrc", anchors: &["machine "],
        pattern: r"machine [^ \t\r\n]+[ \t\r\n]+password[ \t]+(?<value>[^ \t\r\n]+)",
        check: Check::Mixed, edge: Edge::Word,
        finds: &["machine api.example.com password «b62:12» login bob"],
        spares: &["machine learning password manager"] },
    Shape { kind: "cookie", anchors: &["\tTRUE\t/", "\tFALSE\t/"],
        pattern: r"\t(?:TRUE|FALSE)\t/[^\t\r\n]*\t(?:TRUE|FALSE)\t[0-9]+\t[^\t\r\n]+\t(?<value>[^\t\r\n ]{12,})",
        check: Check::Mixed, edge: Edge::Any,
        finds: &[".example.com\tTRUE\t/\tTRUE\t1999999999\tsessionid\t«b62:32»"],
        spares: &[".example.com\tTRUE\t/\tTRUE\t1999999999\ttheme\tdark"] },
    Shape { kind: "pgpass", anchors: &[":5432:", ":5433:", ":5434:", ":5435:", ":5436:", ":5555:", ":6432:", ":6543:", ":15432:", ":25060:", ":26257:"],
        pattern: r":[0-9]{4,5}:[A-Za-z0-9_*.-]+:[A-Za-z0-9_.-]+:(?<value>[^ \t\r\n:]+)",
        check: Check::Mixed, edge: Edge::Any,
        finds: &["db.example.com:5432:shop:app:«b62:12»"],
        spares: &["listening on 0.0.0.0:5432", "10.0.0.1:5433:standby:replica1:streaming", "time=12:5432:a:b:c"] },
    Shape { kind: "password-hash", anchors: &[":$6$", ":$5$", ":$1$", ":$y$", ":$gy$", ":$2a$", ":$2b$", ":$2y$", ":$7$", ":$apr1$", ":$argon2"],
        pattern: r":(?<value>\$(?:[1567]|g?y|2[abxy]|apr1|argon2(?:id|i|d))\$[^ \t\r\n:]{20,})",
        check: Check::Varied, edge: Edge::Any,
        finds: &["root:$6$«b62:16»$«b62:86»:19000:0:99999:7:::"],
        spares: &["PATH=$PATH:$HOME/bin"] },
];
