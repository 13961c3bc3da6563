//! Files that a command reads, writes or empties without an option that looks like it, and libraries that it loads.

use super::*;

#[test]
fn histories_and_credentials_of_common_programs_are_known() {
    all(
        Decision::Deny,
        &[
            "cat /run/user/1000/containers/auth.json",
            "cat /run/user/*/containers/auth.json",
            "cat $XDG_RUNTIME_DIR/containers/auth.json",
            "cat ~/.config/helm/repositories.yaml",
            "cat ~/.snowflake/config.toml",
            "cat ~/.confluent/config.json",
            "cat ~/.ipython/profile_default/history.sqlite",
            "cat ~/.local/share/zsh/history",
            "tail ~/.config/nushell/history.txt",
        ],
    );
    all(
        Decision::Allow,
        &["cat ~/.ipython/profile_default/ipython_config.py", "cat ~/.local/share/zsh/site-functions/_x"],
    );
}
