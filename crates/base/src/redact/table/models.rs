//! Keys of providers of models.

use crate::redact::shapes::{Check, Edge, Shape};

#[rustfmt::skip]
pub(super) const SHAPES: &[Shape] = &[
    Shape { kind: "anthropic", anchors: &["sk-ant-"],
        pattern: r"sk-ant-[A-Za-z0-9_-]{10,}",
        check: Check::Varied, edge: Edge::Word,
        finds: &["sk-ant-api03-«b62:93»AA"],
        spares: &["sk-ant-your-key-here", "sk-ant-xxxxxxxxxxxxxxxx"] },
    Shape { kind: "openai", anchors: &["sk-"],
        pattern: r"sk-[A-Za-z0-9_-]{10,}",
        check: Check::Run, edge: Edge::Word,
        finds: &["sk-proj-«b62:48»T3BlbkFJ«b62:48»", "sk-«b62:20»T3BlbkFJ«b62:20»", "sk-svcacct-«b62:60»"],
        spares: &["sk-learn-is-a-library", "sk-circle12-before", "sk-your-api-key-1234567890abc"] },
    Shape { kind: "groq", anchors: &["gsk_"],
        pattern: r"gsk_[A-Za-z0-9]{20,}",
        check: Check::Run, edge: Edge::Word,
        finds: &["gsk_«b62:52»"],
        spares: &[] },
    Shape { kind: "huggingface", anchors: &["hf_", "api_org_"],
        pattern: r"(?:hf|api_org)_[A-Za-z0-9]{30,}",
        check: Check::Varied, edge: Edge::Word,
        finds: &["hf_«b62:34»"],
        spares: &["hf_hub_download_with_a_long_name_here", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"] },
    Shape { kind: "model-key", anchors: &["xai-", "pplx-", "nvapi-", "tvly-", "csk-", "fw_", "r8_", "pcsk_", "lsv2_", "gapi-"],
        pattern: r"(?:(?:xai|pplx|nvapi|tvly|csk)-[A-Za-z0-9_-]{24,}|fw_[A-Za-z0-9]{22,}|r8_[A-Za-z0-9]{30,}|pcsk_[A-Za-z0-9_]{40,}|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10})",
        check: Check::Run, edge: Edge::Word,
        finds: &["xai-«b62:80»", "pplx-«b62:48»", "nvapi-«b62:64»", "r8_«b62:37»", "lsv2_pt_«hex:32»_«hex:10»", "pcsk_«b62:60»"],
        spares: &["fw_update_the_whole_firmware_image"] },
];
