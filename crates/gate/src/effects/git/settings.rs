//! `git config`: settings that run programs, that say where the repository is sent to, and that hold credentials.

use super::Subcommand;
use crate::effects::look::Look;
use crate::effects::words;
use crate::shell::Word;

pub(super) fn config(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let reads =
        sub.has(&["--get", "--get-all", "--list", "-l", "--get-regexp", "--get-urlmatch", "--show-origin"])
            || sub.starts_with(&["list", "get"]);
    if reads {
        let key = sub.operands.last().map(|word| word.shown().to_ascii_lowercase()).unwrap_or_default();
        let is_list = |word: &Word| {
            let text = word.beginning();
            word.is("-l") || ["--l", "--get-r", "--get-u"].iter().any(|flag| text.starts_with(flag))
        };
        let matches_more = sub.starts_with(&["get"]) && sub.has(&["--regexp", "--url"]);
        let lists = sub.rest.iter().any(is_list) || sub.starts_with(&["list"]) || matches_more;
        if lists && !sub.has(&["--name-only"]) || words::GIT_CREDENTIAL_SETTINGS.matches(&key) {
            look.ask("secret", "values of git's settings may be credentials");
        }
        return;
    }
    let words: Vec<String> = sub.operands.iter().map(|word| word.shown()).collect();
    let (name, value) = match words.as_slice() {
        [set, name, value, ..] if set == "set" => (name.to_ascii_lowercase(), value.clone()),
        [name, value, ..] => (name.to_ascii_lowercase(), value.clone()),
        [name]
            if sub.rest.len() == 1 && words::GIT_CREDENTIAL_SETTINGS.matches(&name.to_ascii_lowercase()) =>
        {
            return look.ask("secret", "values of git's settings may be credentials");
        }
        // A key has a dot; `git config edit` opens an editor.
        [name] if sub.rest.len() == 1 && name.contains('.') => return,
        _ => (String::new(), String::new()),
    };
    if name == "core.hookspath" && !value.starts_with('.') {
        look.deny("git.hooks", "it switches off the project's own checks, or puts others in their place");
    }
    if name.starts_with("url.")
        || name == "http.sslverify"
        || name.starts_with("remote.")
        || name == "user.signingkey"
    {
        look.ask("git.remote", "it changes where the repository is sent to, or whom it trusts");
    }
    if words::GIT_COMMAND_SETTINGS.matches(&name) {
        look.nested(value.trim_start_matches('!'));
        look.ask("git.setting", format!("the setting `{name}` makes git run something"));
    }
    look.ask("git.config", "it changes git's settings");
}
