//! Secret files, and every way in which a tool could show them.
//!
//! Every file holds a canary that redaction does not recognise, so that only the closing of the file protects it. Each way
//! has a control: the same tool shows the same kind of text from an ordinary file.

use crate::support::Fixture;
use marvin_gate::Access;
use marvin_model::Arguments;
use marvin_testing::git;
use marvin_tools::Mode;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

const CANARY: &str = "canary-of-a-closed-file";
const OPEN: &str = "canary-of-an-open-file";

/// Files that are closed.
const CLOSED: [&str; 26] = [
    ".env",
    ".env.local",
    ".env.production.local",
    ".ENV",
    ".env~",
    ".env-staging",
    "config/.env",
    "deploy/prod.env",
    ".envrc",
    "secrets.yml",
    "secrets.yaml",
    "config/secrets.json",
    ".streamlit/secrets.toml",
    "terraform.tfvars",
    "infra/terraform.tfstate",
    "credentials.json",
    "service-account-prod.json",
    "id_rsa",
    "keys/id_ed25519",
    "vault.kdbx",
    "cert.p12",
    "store.jks",
    ".netrc",
    ".pypirc",
    ".aws/credentials",
    ".kube/config",
];

/// Files that look similar and are open.
const ORDINARY: [&str; 9] = [
    ".env.example",
    ".env.sample",
    ".env.template",
    ".env.local.example",
    "src/env.rs",
    "id_rsa.pub",
    "docs/secrets.md",
    "src/secrets/mod.rs",
    "tokens.txt",
];

/// A repository in which every closed file is committed and changed since, and lies in the index in between.
fn fixture(variables: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::with(Mode::Coding, &Access::Full, variables).with_run();
    git(&fixture.root, &["init", "-q", "-b", "main"]);
    for round in ["one", "two", "three"] {
        for path in CLOSED {
            fixture.write(path, &format!("SETTING={CANARY}\nround {round}\n"));
        }
        for path in ORDINARY {
            fixture.write(path, &format!("SETTING={OPEN}\nround {round}\n"));
        }
        match round {
            "one" => {
                git(&fixture.root, &["add", "-f", "."]);
                git(&fixture.root, &["commit", "-qm", "first"]);
            }
            "two" => {
                git(&fixture.root, &["add", "-f", "."]);
            }
            _ => {}
        }
    }
    fixture.write("tls.key", &format!("-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----\n"));
    fixture
        .write(".npmrc", &format!("//r.io/:_authToken=3f2504e0-4f89-41d3-9a0c-0305e82c3301\n; {CANARY}\n"));
    symlink(".env", fixture.root.join("link.txt")).unwrap();
    symlink("link.txt", fixture.root.join("chain.txt")).unwrap();
    symlink("config", fixture.root.join("linked")).unwrap();
    std::fs::hard_link(fixture.root.join(".env"), fixture.root.join("second-name.txt")).unwrap();
    std::fs::create_dir_all(fixture.root.join(".marvin/notes")).unwrap();
    symlink("../../.env", fixture.root.join(".marvin/notes/note.md")).unwrap();
    fixture
}

/// Everything that a call shows or keeps.
async fn shown(fixture: &Fixture, tool: &str, arguments: Value) -> String {
    let called = fixture.call(tool, arguments).await;
    let result = called.result;
    let mut text =
        format!("{}\n{}\n{:?}\n{:?}", result.for_model(), result.summary, result.data, result.error);
    if let Some(artifact) = &result.artifact {
        text.push_str(&std::fs::read_to_string(fixture.root.join(&artifact.path)).unwrap_or_default());
    }
    text
}

/// The ways beside reading each closed file by its name.
fn ways() -> Vec<(&'static str, Value)> {
    let update = |path: &str| {
        format!("*** Begin Patch\n*** Update File: {path}\n@@\n-no such line\n+x\n*** End Patch")
    };
    let moved = "*** Begin Patch\n*** Update File: .env\n*** Move to: plain.txt\n@@\n-round three\n+round four\n*** End Patch";
    let unified = "--- a/.env\n+++ b/.env\n@@ -1,2 +1,2 @@\n-nothing\n+x\n round three\n";
    vec![
        ("read_file", json!({"path": "./.env"})),
        ("read_file", json!({"path": "config/../.env"})),
        ("read_file", json!({"path": "config//.env"})),
        ("read_file", json!({"path": ".env", "start_line": 1, "end_line": 1})),
        ("read_file", json!({"path": "link.txt"})),
        ("read_file", json!({"path": "chain.txt"})),
        ("read_file", json!({"path": "linked/.env"})),
        ("read_file", json!({"path": "second-name.txt"})),
        ("read_file", json!({"path": "tls.key"})),
        ("read_file", json!({"path": ".npmrc"})),
        ("read_note", json!({"path": "note.md"})),
        ("read_note", json!({"path": "../../.env"})),
        ("file_read_lines", json!({"path": "note.md", "start": 1, "end": 2})),
        ("file_apply_patch", json!({"path": "note.md", "patch": "@@\n-no such line\n+x\n"})),
        ("code_grep", json!({"pattern": "SETTING"})),
        ("code_grep", json!({"pattern": "canary.of.a.closed.file"})),
        ("code_grep", json!({"pattern": ".", "glob": ".env*"})),
        ("code_grep", json!({"pattern": "SETTING", "glob": "**/.env"})),
        ("code_grep", json!({"pattern": "SETTING", "path": ".env"})),
        ("code_grep", json!({"pattern": "SETTING", "path": "config"})),
        ("code_grep", json!({"pattern": "SETTING", "path": "link.txt"})),
        ("code_grep", json!({"pattern": "SETTING", "path": ".aws"})),
        ("code_grep", json!({"pattern": "round", "context_lines": 5})),
        ("tree", json!({"path": "."})),
        ("git_diff", json!({})),
        ("git_diff", json!({"staged": true})),
        ("git_diff", json!({"path": ".env"})),
        ("git_diff", json!({"path": "./.env", "staged": true})),
        ("git_diff", json!({"path": "config"})),
        ("git_diff", json!({"path": "deploy", "staged": true})),
        ("git_status", json!({})),
        ("git_log", json!({"oneline": false})),
        ("git_commit", json!({"message": "all"})),
        ("apply_patch", json!({"path": ".env", "old_str": "SETTING=x", "new_str": "y"})),
        ("apply_patch", json!({"path": "link.txt", "old_str": "SETTING=x", "new_str": "y"})),
        ("apply_patch", json!({"patch": update(".env")})),
        ("apply_patch", json!({"patch": update("config/secrets.json")})),
        ("apply_patch", json!({"patch": moved})),
        ("apply_patch", json!({"patch": unified})),
        ("append_file", json!({"path": ".env", "content": "A=1\n"})),
        ("create_file", json!({"path": ".env", "content": "A=1\n"})),
        ("run_command", json!({"command": "cat .env"})),
        ("run_command", json!({"command": "cat config/.env"})),
        ("github_read_file", json!({"repo": "o/r", "path": ".env"})),
    ]
}

#[tokio::test]
async fn s11_no_tool_shows_a_file_of_secrets() {
    let fixture = fixture(&[]);
    let mut ways = ways();
    ways.extend(CLOSED.iter().map(|path| ("read_file", json!({"path": path}))));
    assert!(ways.len() >= 60);
    let mut open = Vec::new();
    for (tool, arguments) in ways {
        let text = shown(&fixture, tool, arguments.clone()).await;
        if text.contains(CANARY) {
            open.push(format!("{tool} {arguments}:\n{text}"));
        }
    }
    assert!(open.is_empty(), "{} ways are open:\n{}", open.len(), open.join("\n----\n"));
    assert!(!fixture.root.join("plain.txt").exists(), "nothing was moved");
}

#[tokio::test]
async fn refusals_say_how_a_person_opens_the_file() {
    let fixture = fixture(&[]);
    let text = fixture.bad("read_file", json!({"path": ".env"})).await;
    assert!(text.contains("may hold secrets") && text.contains("secrets.granted"), "{text}");
}

#[tokio::test]
async fn ordinary_files_with_similar_names_stay_open() {
    let fixture = fixture(&[]);
    for path in ORDINARY {
        assert!(fixture.good("read_file", json!({"path": path})).await.contains(OPEN), "{path}");
    }
    fixture.write("ca.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    fixture.write("web/.npmrc", "registry=https://registry.npmjs.org/\n");
    assert!(fixture.good("read_file", json!({"path": "ca.pem"})).await.contains("MIIB"));
    assert!(fixture.good("read_file", json!({"path": "web/.npmrc"})).await.contains("registry"));
    assert!(fixture.good("code_grep", json!({"pattern": "SETTING"})).await.contains(OPEN));
    assert!(fixture.good("git_diff", json!({})).await.contains("round three"));
}

#[tokio::test]
async fn a_person_opens_a_file_by_setting_or_by_answer() {
    let granted = fixture(&[("MARVIN_SECRETS_GRANTED", ".env.local,config/.env")]);
    for path in [".env.local", "config/.env"] {
        assert!(granted.good("read_file", json!({"path": path})).await.contains(CANARY), "{path}");
    }
    assert!(!granted.bad("read_file", json!({"path": ".env"})).await.contains(CANARY));
    let mut asked = fixture(&[]);
    asked.context.attended = true;
    let arguments = Arguments::from_value(json!({"path": ".env"}));
    let called = asked.toolbox.call_approved("read_file", &arguments, &asked.context).await;
    assert!(called.result.for_model().contains(CANARY), "{}", called.result.for_model());
}

#[tokio::test]
async fn s9_secrets_in_ordinary_files_do_not_reach_the_model_and_hashes_do() {
    let fixture = Fixture::new();
    let token = marvin_base::redact::samples::expand("ghp_«b62:30»«crc»", 3);
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b";
    fixture.write("notes.txt", &format!("commit {hash}\nremote {token}\npassword = \"hunter2\"\n"));
    let text = fixture.good("read_file", json!({"path": "notes.txt"})).await;
    assert!(!text.contains(&token) && text.contains("[REDACTED:github]"), "{text}");
    assert!(text.contains(hash) && text.contains("hunter2"), "hashes and fixtures stay: {text}");
    // What stands for the secret is not written over it.
    let patch = json!({"path": "notes.txt", "old_str": format!("commit {hash}\n"), "new_str": "remote [REDACTED:github]\n"});
    let refused = fixture.bad("apply_patch", patch).await;
    assert!(refused.contains("stands for a secret"), "{refused}");
    assert!(fixture.read("notes.txt").contains(&token));
    let patch = json!({"path": "notes.txt", "old_str": "hunter2", "new_str": "hunter3"});
    fixture.good("apply_patch", patch).await;
    assert!(fixture.read("notes.txt").contains("hunter3"));
}

#[tokio::test]
async fn s11_tickets_are_written_without_secrets() {
    let fixture = Fixture::new();
    let mut all = String::new();
    for (seed, (_, template)) in
        marvin_base::redact::samples::list(marvin_base::redact::samples::SECRETS).enumerate()
    {
        let (text, secret) = marvin_base::redact::samples::secret(template, seed as u64);
        let made = fixture.call("create_ticket", json!({"title": "look at this", "description": text})).await;
        assert!(made.result.ok, "{}", made.result.for_model());
        all.push_str(&secret);
        all.push('\n');
    }
    let tickets = std::fs::read_dir(fixture.root.join(".tickets")).unwrap();
    for ticket in tickets.map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        let text = std::fs::read_to_string(ticket.path()).unwrap();
        for secret in all.lines().filter(|line| line.len() >= 6 && !line.contains("-----")) {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}
