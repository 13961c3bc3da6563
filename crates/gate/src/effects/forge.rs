//! Forges: repositories, issues and releases on other machines.

use super::Look;
use super::arguments::Arguments;
use crate::shell::Word;

/// Judges programs for forges; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    if !matches!(base, "gh" | "glab" | "hub" | "tea" | "jira" | "bb") {
        return false;
    }
    let words: Vec<String> = arguments.operands.iter().map(Word::shown).collect();
    let all: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    let subject = matches!(
        first,
        "alias"
            | "pr"
            | "issue"
            | "repo"
            | "run"
            | "release"
            | "workflow"
            | "gist"
            | "label"
            | "project"
            | "mr"
            | "ci"
            | "cache"
            | "ruleset"
            | "variable"
            | "milestone"
            | "org"
            | "pipeline"
            | "job"
            | "search"
            | "status"
    );
    let looks = subject
        && matches!(
            second,
            "view"
                | "list"
                | "ls"
                | "status"
                | "diff"
                | "checks"
                | "verify"
                | "watch"
                | "show"
                | "trace"
                | "issues"
                | "prs"
                | "repos"
                | "code"
                | "commits"
                | "check"
                | "field-list"
                | "item-list"
        )
        || matches!(first, "status" | "help" | "version" | "completion" | "")
        || first == "browse" && has("-n")
        || first == "config" && matches!(second, "get" | "list")
        || first == "auth" && second == "status";
    let web = has("--web") || has("-w");
    if first == "auth" && second == "token"
        || has("--show-token")
        || first == "auth" && second == "status" && has("-t")
    {
        look.deny("secret", "it shows a token");
    } else if second == "delete"
        && matches!(
            first,
            "repo"
                | "release"
                | "secret"
                | "ruleset"
                | "variable"
                | "project"
                | "cache"
                | "ssh-key"
                | "gpg-key"
        )
        || first == "repo"
            && (matches!(second, "archive" | "transfer" | "mirror")
                || second == "edit" && all.iter().any(|word| word.starts_with("--visibility")))
    {
        look.deny("forge.delete", "it deletes or opens something that others use");
    } else if first == "api" {
        let method = all.windows(2).any(|pair| matches!(pair, [flag, method] if matches!(flag.as_str(), "-X" | "--method") && method == "DELETE")) || has("-XDELETE") || has("--method=DELETE");
        let output = look.rest().iter().any(|word| {
            word.why() == Some(crate::shell::UnknownReason::Output) && word.beginning().contains('=')
        });
        if method {
            look.deny("forge.delete", "it deletes something that others use");
        } else if output
            && all.iter().any(|word| matches!(word.as_str(), "PUT" | "POST" | "-XPUT" | "-XPOST"))
        {
            look.deny("send.output", "it sends the output of a command to a forge");
        } else {
            look.ask("forge", "it calls a forge");
        }
    } else if !looks || web {
        look.ask("forge", "it changes something on a forge");
    }
    true
}
