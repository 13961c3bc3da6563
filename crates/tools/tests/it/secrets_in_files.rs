//! Secrets over several lines of ordinary files, in tools that show parts of a file.

use crate::support::Fixture;
use marvin_base::redact::samples;
use serde_json::json;

/// A text with a private key, and the lines of its body.
fn key_file(before: &str) -> (String, Vec<String>) {
    let body = samples::expand("«pem:6»", 5);
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\r\n{}\r\n-----END RSA PRIVATE KEY-----",
        body.replace('\n', "\r\n")
    );
    let text = format!("{before}notes of the server\n\n{key}\r\nlast line\n");
    (text, body.lines().map(str::to_string).collect())
}

#[tokio::test]
async fn a_range_of_a_file_shows_no_part_of_a_private_key() {
    let fixture = Fixture::new();
    for (before, from) in [(String::new(), 0), ("a line before it\n".repeat(40_000), 40_000)] {
        let (text, body) = key_file(&before);
        fixture.write("notes.txt", &text);
        let total = text.lines().count();
        for first in from + 1..=total {
            for last in [first, total] {
                let arguments = json!({"path": "notes.txt", "start_line": first, "end_line": last});
                let shown = fixture.good("read_file", arguments).await;
                assert!(!body.iter().any(|line| shown.contains(line.as_str())), "{first}-{last}: {shown}");
                assert_eq!(shown.lines().count(), 2 + last - first, "every line has its number: {shown}");
                assert!(last < total || shown.ends_with(&format!("{total} | last line")), "{shown}");
            }
        }
    }
}

#[tokio::test]
async fn a_search_shows_no_part_of_a_private_key() {
    let fixture = Fixture::new();
    for before in [String::new(), "a line before it\n".repeat(40_000)] {
        let (text, body) = key_file(&before);
        fixture.write("notes.txt", &text);
        for line in &body {
            let called = fixture
                .call("code_grep", json!({"pattern": line.get(..12).unwrap().replace('+', "\\+")}))
                .await;
            let shown = format!("{}{}", called.result.for_model(), called.result.data);
            assert!(
                shown.contains("[REDACTED:private-key]") && called.result.data["matches"] == 1,
                "{shown}"
            );
            assert!(!body.iter().any(|line| shown.contains(line.get(..12).unwrap())), "{shown}");
        }
        let shown = fixture.good("code_grep", json!({"pattern": "last line"})).await;
        assert!(
            shown.contains("last line") && !body.iter().any(|line| shown.contains(line.as_str())),
            "{shown}"
        );
    }
}

#[tokio::test]
async fn numbers_of_lines_hide_no_evidence() {
    let fixture = Fixture::new();
    let templates = [
        "- name: ACME_TOKEN\n  value: \"⟦«b62:24»⟧\"\n",
        "token: >-\n  ⟦«b62:24»⟧\n",
        "variable \"api_token\" {\n  default = \"⟦«b62:24»⟧\"\n}\n",
    ];
    for (seed, template) in templates.into_iter().enumerate() {
        let (text, secret) = samples::secret(template, seed as u64);
        fixture.write("deploy.txt", &format!("first\n{text}last\n"));
        for arguments in [json!({"path": "deploy.txt"}), json!({"path": "deploy.txt", "start_line": 3})] {
            let shown = fixture.good("read_file", arguments).await;
            assert!(!shown.contains(&secret) && shown.contains("[REDACTED:"), "{shown}");
            assert!(shown.ends_with("| last"), "{shown}");
        }
    }
}

#[tokio::test]
async fn source_code_with_a_marker_of_a_key_is_shown_whole() {
    let fixture = Fixture::new();
    let code = "const BEGIN: &str = \"-----BEGIN PRIVATE KEY-----\";\nfn first() {}\nfn second() {}\n";
    fixture.write("key.rs", code);
    let shown = fixture.good("read_file", json!({"path": "key.rs"})).await;
    assert!(shown.contains("PRIVATE KEY-----\";\n2 | fn first() {}\n3 | fn second() {}"), "{shown}");
}
