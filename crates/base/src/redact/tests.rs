use super::*;
use serde_json::json;

fn redactor() -> Redactor {
    let environment = Environment::from_iter([
        ("MY_API_KEY", "correct-horse-battery"),
        ("DB_PASSWORD", "two words"),
        ("PGPASSWORD", "correcthorsebatterystaple"),
        ("DATABASE_URL", "postgres://app:plum-Harbor7@db/shop"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("USE_TOKEN", "true"),
        ("EDITOR", "nano-is-fine"),
    ]);
    Redactor::new(&environment, [("file", "from-a-file")])
}

#[test]
fn known_values_are_replaced_by_their_name() {
    let clean = redactor();
    assert_eq!(
        clean.text("say correcthorsebatterystaple correct-horse-battery and two words and from-a-file"),
        "say [REDACTED:PGPASSWORD] [REDACTED:MY_API_KEY] and [REDACTED:DB_PASSWORD] and [REDACTED:file]"
    );
    assert_eq!(clean.text("true /tmp/agent nano-is-fine"), "true /tmp/agent nano-is-fine");
    assert_eq!(clean.text("connect with plum-Harbor7 now"), "connect with [REDACTED:DATABASE_URL] now");
}

#[test]
fn known_values_are_found_in_every_encoding() {
    let clean = redactor();
    let value = "correct-horse-battery";
    for before in ["", "a", "ab", "abc:"] {
        let text = format!("{before}{value} after");
        let encoded = checks::to_base64(text.as_bytes());
        assert!(clean.finds(&encoded), "{text}");
        assert!(clean.text(&encoded).contains("[REDACTED:MY_API_KEY]"));
    }
    assert!(clean.finds(&hex::encode(value)));
    assert!(clean.finds("two%20words") && clean.finds("x=two+words&"));
    let quoted = Redactor::new(&Environment::from_iter([("A_TOKEN", "a\"b\\c-9876")]), []);
    assert!(quoted.finds(&json!({"x": "a\"b\\c-9876"}).to_string()));
}

#[test]
fn a18_hashes_and_ids_are_not_secrets() {
    let clean = redactor();
    assert!(clean.finds("https://h/?q=correct-horse-battery"));
    assert!(clean.finds("https://h/ghp_0123456789abcdefghijABCDEFGHIJ456789"));
    assert!(!clean.finds("https://h/commit/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"));
    assert!(!clean.finds("https://example.com/a?page=2"));
}

#[test]
fn values_are_cleaned_all_the_way_down() {
    let mut value = json!({
        "a": ["correct-horse-battery", "--token", "abc123", "--verbose", "yes"],
        "password": "hunter2",
        "AKIAIOSFODNN7EXAMPLE": 1,
        "id": "0123456789abcdef0123456789abcdef",
        "text": "0123456789abcdef0123456789abcdef",
        "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "EDITOR", "value": "hunter2"}],
        "headers": {"Authorization": "Basic Ym9iOmh1bnRlcjI="},
        "max_tokens": "4096",
        "token": "identifier",
    });
    redactor().value(&mut value);
    assert_eq!(
        value,
        json!({
            "a": ["[REDACTED:MY_API_KEY]", "--token", "[REDACTED:flag]", "--verbose", "yes"],
            "password": "[REDACTED:password]",
            "[REDACTED:aws]": 1,
            "id": "0123456789abcdef0123456789abcdef",
            "text": "0123456789abcdef0123456789abcdef",
            "env": [{"name": "DB_PASSWORD", "value": "[REDACTED:value]"}, {"name": "EDITOR", "value": "hunter2"}],
            "headers": {"Authorization": "[REDACTED:Authorization]"},
            "max_tokens": "4096",
            "token": "identifier",
        })
    );
}

#[test]
fn generated_values_below_a_plural_are_cleaned() {
    let secret = samples::expand("«b62:24»", 1);
    let id = samples::expand("«uuid»", 2);
    let mut value = json!({
        "tokens": [secret, "identifier"],
        "apiKeys": {"first": secret, "id": id, "deep": [{"value": secret}]},
        "token": {"value": secret},
        "special_tokens": [secret],
        "keys": [secret],
        "passwords": ["hunter2zz9"],
    });
    redactor().value(&mut value);
    assert_eq!(
        value,
        json!({
            "tokens": ["[REDACTED:tokens]", "identifier"],
            "apiKeys": {"first": "[REDACTED:apiKeys]", "id": id, "deep": [{"value": "[REDACTED:apiKeys]"}]},
            "token": {"value": "[REDACTED:token]"},
            "special_tokens": [secret],
            "keys": [secret],
            "passwords": ["hunter2zz9"],
        })
    );
}

#[test]
fn every_line_of_a_secret_is_replaced_on_its_own() {
    let key = samples::expand(
        "a\n  -----BEGIN PRIVATE KEY-----\r\n  «b64:48»\r\n\n-----END PRIVATE KEY-----\nb",
        1,
    );
    let marker = "[REDACTED:private-key]";
    let clean = redactor().lines_for(&key, Scope::Model).into_owned();
    assert_eq!(clean, format!("a\n  {marker}\r\n  {marker}\r\n\n{marker}\nb"));
    assert_eq!(redactor().lines_for(&clean, Scope::Model), clean);
    let [secret] = redactor().multiline_secrets(&key, Scope::Model).try_into().unwrap();
    assert!(key.get(secret.range).unwrap().starts_with("-----BEGIN") && secret.marker == marker);
}

#[test]
fn s9_the_scope_decides_which_evidence_counts() {
    let clean = redactor();
    let fixture = "let password = \"hunter2!\";";
    assert!(clean.finds(fixture));
    assert_eq!(clean.text_for(fixture, Scope::Model), fixture);
    let generated = "password: \"kX9vQ2mZ7pL4wR8t\"";
    assert!(clean.finds_for(generated, Scope::Model));
    assert_eq!(clean.text_for(generated, Scope::Caller), generated);
    assert!(clean.finds_for("say correct-horse-battery", Scope::Caller));
    assert!(clean.finds_for("AKIAIOSFODNN7EXAMPLE", Scope::Caller));
}

#[test]
fn names_of_variables() {
    for name in [
        "OPENAI_API_KEY",
        "github_token",
        "DB_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SMTP_PASS",
        "SLACK_WEBHOOK_URL",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in ["PATH", "KEYBOARD", "MONKEY", "PATTERN", "PWD", "OLDPWD", "COMPASS"] {
        assert!(!is_secret_name(name), "{name}");
    }
}

#[test]
fn a18_harmless_lines_stay() {
    let clean = Redactor::patterns_only();
    let lines: Vec<_> = samples::list(samples::HARMLESS).collect();
    assert!(lines.len() >= 300, "{} lines", lines.len());
    let changed: Vec<String> = lines
        .iter()
        .enumerate()
        .filter_map(|(seed, (kind, template))| {
            let text = samples::expand(template, seed as u64);
            let redacted = clean.text(&text).into_owned();
            (redacted != text).then(|| format!("{kind}: {text}\n    -> {redacted}"))
        })
        .collect();
    assert!(changed.is_empty(), "{} of {} changed:\n{}", changed.len(), lines.len(), changed.join("\n"));
}

#[test]
fn s11_no_secret_of_the_list_stays() {
    let clean = Redactor::patterns_only();
    let lines: Vec<_> = samples::list(samples::SECRETS).collect();
    let kinds: std::collections::BTreeSet<_> = lines.iter().map(|(kind, _)| *kind).collect();
    assert!(lines.len() >= 200 && kinds.len() >= 60, "{} lines, {} kinds", lines.len(), kinds.len());
    let mut missed = Vec::new();
    for (seed, (kind, template)) in lines.iter().enumerate() {
        let (text, secret) = samples::secret(template, seed as u64);
        let redacted = clean.text(&text).into_owned();
        let parts = secret.lines().filter(|line| line.len() >= 6 && !line.contains("-----"));
        if redacted.contains(&secret) || parts.into_iter().any(|part| redacted.contains(part)) {
            missed.push(format!("{kind}: {text}\n    -> {redacted}"));
        }
        assert_eq!(clean.text(&redacted), redacted, "a second pass changes nothing");
    }
    assert!(missed.is_empty(), "{} of {} missed:\n{}", missed.len(), lines.len(), missed.join("\n"));
}

/// CPU time of this thread, which other processes do not change.
fn cpu() -> std::time::Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    std::time::Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[test]
#[ignore = "a measurement: cargo test -p marvin-base --lib -- --ignored --nocapture measure_redaction"]
fn measure_redaction() {
    let prose =
        "The quick brown fox looks at the lazy dog, and says that nothing of this is new to it. ".repeat(700);
    let code = include_str!("commands.rs").repeat(4);
    let started = cpu();
    let redactor = Redactor::new(&Environment::from_iter([("MY_API_KEY", "correct-horse-battery")]), []);
    let built = cpu() - started;
    let started = cpu();
    let _ = redactor.text("let password = \"hunter2!\"; Bearer abc.def-123 AKIAIOSFODNN7EXAMPLE");
    eprintln!("new {built:?}, first use {:?}", (cpu() - started));
    for (name, text) in [("prose", &prose), ("code", &code)] {
        let started = cpu();
        for _ in 0..50 {
            std::hint::black_box(redactor.text(text));
        }
        let each = (cpu() - started) / 50;
        let rate = text.len() as f64 / each.as_secs_f64() / 1e6;
        eprintln!("{name}: {} bytes in {each:?}, {rate:.0} MB/s", text.len());
    }
    let code = include_str!("stream.rs").get(..4096).unwrap();
    let words = "plain words of a text ".repeat(186);
    let colors = "\u{1b}[32mplain words\u{1b}[0m of a text ".repeat(120);
    for (name, text) in [("code", code), ("words", &words), ("colors", &colors)] {
        let started = cpu();
        for _ in 0..2000 {
            std::hint::black_box(redactor.text_for(text, Scope::Model));
        }
        eprintln!("4 KB of {name}: {:?}", (cpu() - started) / 2000);
    }
    let trace = json!({"type": "tool.completed", "run_id": "run_20261116_113000_ab12cd", "seq": 17, "data": {
        "tool": "read_file", "arguments": {"path": "src/main.rs"}, "summary": "120 lines",
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "text": include_str!("stream.rs").get(..2000)}});
    let started = cpu();
    for _ in 0..1000 {
        let mut value = trace.clone();
        redactor.value(&mut value);
        std::hint::black_box(value);
    }
    eprintln!("trace line: {:?}", (cpu() - started) / 1000);
    let started = cpu();
    for _ in 0..10_000 {
        std::hint::black_box(redactor.text("cargo test -p marvin-base --lib redact"));
    }
    eprintln!("short line: {:?}", (cpu() - started) / 10_000);
}
