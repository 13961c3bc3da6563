use super::*;

#[test]
fn names_are_read_in_every_spelling() {
    for name in
        ["password", "DB_PASSWORD", "dbPassword", "PGPASSWORD", "mysql-pwd", "spring.datasource.password"]
    {
        assert_eq!(kind_of(name), Some(NameKind::Password), "{name}");
    }
    for name in [
        "apiKey",
        "API_KEY",
        "x-api-key",
        "aws_secret_access_key",
        "client-key-data",
        "clientSecret",
        "APIKey",
    ] {
        assert_eq!(kind_of(name), Some(NameKind::Key), "{name}");
    }
    for name in ["token", "authToken", "_authToken", "GITHUB_TOKEN", "access_token", "GITHUB_PAT"] {
        assert_eq!(kind_of(name), Some(NameKind::Token), "{name}");
    }
    for name in [
        "tokens",
        "max_tokens",
        "token_type",
        "key",
        "primary_key",
        "public_key",
        "ssh_public_key",
        "access_key_id",
        "next_page_token",
        "passwordless",
        "password_hash",
        "secrets",
        "tokenizer",
        "keyboard",
        "compass",
        "secretName",
        "credentials",
        "eos_token",
    ] {
        assert_eq!(kind_of(name), None, "{name}");
    }
}

/// Templates of lists; nothing between ⟦ and ⟧ may remain.
const LISTS: &[&str] = &[
    "{\"tokens\": [\"a\", \"⟦«b62:24»⟧\"]}",
    "{\"apiKeys\": {\"first\": \"⟦«b62:32»⟧\", \"id\": \"«uuid»\"}}",
    "{\\\"tokens\\\": [\\\"⟦«b62:24»⟧\\\"]}",
    "const API_KEYS: &[&str] = &[\n    \"⟦«b62:24»⟧\",\n];",
    "tokens = ['⟦«b62:24»⟧']",
    "tokens:\n  - first\n  - ⟦«b62:24»⟧ # of the office\nother: 1",
    "secrets:\n- \"⟦«b62:24»⟧\"\n",
    "env:\n  passwords:\n    db: ⟦«b62:24»⟧\n  other: 1",
    "token: {value: ⟦«b62:24»⟧}",
];

const HARMLESS_LISTS: &[&str] = &[
    "{\"tokens\": [\"let\", \"fn\", \"identifier\"]}",
    "{\"max_tokens\": [\"«b62:24»\"], \"usage\": {\"tokens\": {\"prompt\": 12}}}",
    "tokens:\n  - first\nother: «b62:24»",
    "secrets:\n  - id: «uuid»\n    name: of-the-office\n",
    "secrets: inherit\njobs:\n  build: «hex:40»",
    "{\"secrets\": [{\"name\": \"a\", \"sha256\": \"«hex:64»\"}]}",
    "keys: [\"«hex:40»\"]",
    "passwords = [\"hunter2zz9\"]",
    "let tokens = [Token::new(), parse(input)];",
];

#[test]
fn generated_values_in_lists_under_a_plural_are_secrets() {
    use crate::redact::{Redactor, StreamRedactor, samples};
    let redactor = std::sync::Arc::new(Redactor::patterns_only());
    for (seed, template) in LISTS.iter().chain(HARMLESS_LISTS).enumerate() {
        let marked = samples::expand(template, seed as u64);
        let text = format!("{}\nand more\n", marked.replace(['⟦', '⟧'], ""));
        let expected = match (marked.split_once('⟦'), marked.split_once('⟧')) {
            (Some((before, _)), Some((_, after))) => {
                format!("{before}[REDACTED:assignment]{after}\nand more\n")
            }
            _ => text.clone(),
        };
        assert_eq!(redactor.text(&text), expected);
        assert_eq!(redactor.text(&expected), expected, "a second pass changes nothing");
        for size in [1, 4, 15] {
            let mut stream = StreamRedactor::new(redactor.clone());
            let mut out = String::new();
            for piece in text.chars().collect::<Vec<_>>().chunks(size) {
                stream.push(&piece.iter().collect::<String>());
                stream.drain(&mut out);
            }
            stream.finish(&mut out);
            assert_eq!(out, expected, "in pieces of {size}");
        }
    }
}
