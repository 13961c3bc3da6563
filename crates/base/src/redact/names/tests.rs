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
