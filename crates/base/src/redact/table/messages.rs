//! Tokens of chat, mail and telephony.

use crate::redact::shapes::{Check, Edge, Shape};

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

#[rustfmt::skip]
pub(super) const SHAPES: &[Shape] = &[
    Shape { kind: "slack", anchors: &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"],
        pattern: r"xox[abeoprscd](?:\.xox[bp])?-[A-Za-z0-9%-]{10,}",
        check: Check::Mixed, edge: Edge::Word,
        finds: &["xoxb-«dig:12»-«dig:12»-«b62:24»", "xoxp-«dig:12»-«dig:12»-«dig:12»-«hex:32»", "xoxe.xoxp-1-«b62:60»"],
        spares: &["xoxb-your-token-here", "xoxb-xxxxxxxxxxxx-xxxxxxxxxxxx"] },
    Shape { kind: "slack", anchors: &["xapp-"],
        pattern: r"xapp-[0-9]-[A-Za-z0-9-]{20,}",
        check: Check::Mixed, edge: Edge::Word,
        finds: &["xapp-1-A0«up:9»-«dig:13»-«hex:64»"],
        spares: &[] },
    Shape { kind: "slack", anchors: &["hooks.slack.com/"],
        pattern: r"hooks\.slack\.com/(?:services|workflows|triggers)/(?<value>[A-Za-z0-9/]{20,})",
        check: Check::Mixed, edge: Edge::Any,
        finds: &["https://hooks.slack.com/services/T0«up:8»/B0«up:8»/«b62:24»"],
        spares: &["https://hooks.slack.com/services/T00/B00/XXX"] },
    Shape { kind: "discord", anchors: &["/api/webhooks/"],
        pattern: r"/api/webhooks/[0-9]{15,}/(?<value>[A-Za-z0-9_-]{30,})",
        check: Check::Mixed, edge: Edge::Any,
        finds: &["https://discord.com/api/webhooks/«dig:18»/«b64u:51»"],
        spares: &[] },
    Shape { kind: "teams", anchors: &["webhook.office.com/"],
        pattern: r"webhook\.office\.com/webhookb2/(?<value>[A-Za-z0-9@/-]{40,})",
        check: Check::Mixed, edge: Edge::Any,
        finds: &["https://x.webhook.office.com/webhookb2/«uuid»@«uuid»/IncomingWebhook/«hex:32»/«uuid»"],
        spares: &[] },
    Shape { kind: "telegram", anchors: &[":AA"],
        pattern: r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}(?-u:\b)",
        check: Check::Mixed, edge: Edge::Back(is_digit),
        finds: &["«dig:10»:AAH«b62:32»"],
        spares: &["12:AAA batteries"] },
    Shape { kind: "twilio", anchors: &["SK"],
        pattern: r"SK[0-9a-f]{32}(?-u:\b)",
        check: Check::Varied, edge: Edge::Word,
        finds: &["SK«hex:32»"],
        spares: &["SKIP", "AC«hex:32»"] },
    Shape { kind: "sendgrid", anchors: &["SG."],
        pattern: r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        check: Check::Mixed, edge: Edge::Word,
        finds: &["SG.«b62:22».«b62:43»"],
        spares: &["SG.example.com"] },
    Shape { kind: "mailgun", anchors: &["key-"],
        pattern: r"key-[0-9a-f]{32}(?-u:\b)",
        check: Check::Varied, edge: Edge::Word,
        finds: &["key-«hex:32»"],
        spares: &["key-value-store"] },
    Shape { kind: "mailchimp", anchors: &["-us"],
        pattern: r"[0-9a-f]{32}-us[0-9]{1,2}(?-u:\b)",
        check: Check::Varied, edge: Edge::Back(is_hex),
        finds: &["«hex:32»-us12"],
        spares: &["en-us2"] },
    Shape { kind: "brevo", anchors: &["xkeysib-", "xsmtpsib-"],
        pattern: r"x(?:keysib|smtpsib)-[0-9a-f]{64}-[A-Za-z0-9]{16}",
        check: Check::Varied, edge: Edge::Word,
        finds: &["xkeysib-«hex:64»-«b62:16»"],
        spares: &[] },
    Shape { kind: "resend", anchors: &["re_"],
        pattern: r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?-u:\b)",
        check: Check::Mixed, edge: Edge::Word,
        finds: &["re_«b62:8»_«b62:24»"],
        spares: &["re_exports_"] },
];
