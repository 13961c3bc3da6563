//! Looks for catastrophes in the text of a line, where its words are not certain.
//!
//! A line that cannot be read as shell, or whose words are not known, is judged by its text as well, so that a failure to
//! read it skips nothing. A line whose words are certain is not: a commit message may speak of `rm -rf /`.

use crate::verdict::Verdict;
use regex::RegexSet;
use std::sync::LazyLock;

/// Shapes of catastrophes in raw text, as (rule, expression).
const SHAPES: [(&str, &str); 18] = [
    (
        "delete",
        r#"\b(rm|shred)\s+(-\S+\s+)*["']?(/|~|\$\{?HOME\}?|/\*|(~|\$\{?HOME\}?)/\*?|/(bin|boot|dev|etc|home|lib|lib64|opt|proc|root|run|sbin|srv|sys|usr|var)(/\S*)?)["']?(\s|$|[;&|)`"'])"#,
    ),
    ("delete", r"--no-preserve-root"),
    ("delete", r#"\b(rm|shred)\s[^;&|]*(^|[\s/"'])\.(git|marvin|tickets)(/|\s|$|["';&|)])"#),
    ("delete", r"\b(rm|mv|ln|mkfifo|shred)\s[^;&|]*/mhd-[0-9$*?]"),
    ("delete", r#"rmtree\(\s*["'](/|~)|(rmSync|rm_rf|rmdirSync)\(\s*["'](/|~)|Path\.home\(\)[^;]*rmtree"#),
    ("device", r"\bmkfs(\.\w+)?\s|\bwipefs\b|\bblkdiscard\b"),
    ("device", r"\bdd\b[^;&|]*\bof=/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper|mem|kmem)"),
    ("device", r">\s*/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper|mem|kmem)"),
    ("machine", r"\(\)\s*\{[^}]*\|[^}]*&[^}]*\}"),
    ("machine", r"(^|[;&|(`]\s*|\bsudo\s+)(shutdown|reboot|poweroff|halt)(\s|$|[;&|)])"),
    (
        "permissions",
        r"\bch(mod|own|grp)\s+(-\S+\s+)*-\w*R\S*\s+\S+\s+(/|~|\$HOME|/(bin|boot|etc|home|lib|opt|root|sbin|usr|var)\S*)(\s|$|[;&|)])",
    ),
    (
        "remote-code",
        r"\b(curl|wget)\b[^;]*\|\s*(\S*/)?(sudo\s+)?(\S*/)?((ba|z|da|k|fi)?sh|python[0-9.]*|perl|ruby|node|php)\b",
    ),
    (
        "remote-code",
        r#"\b((ba|z|da|k)?sh|eval|source|python[0-9.]*|perl|ruby|node|exec)\b[^;]*(\$\(|<\(|`)\s*(\S*/)?(curl|wget)\b|(^|\s)\.\s+<\(\s*(curl|wget)"#,
    ),
    (
        "hidden-code",
        r"\b(base64|base32|xxd|uudecode)\b[^;]*\|\s*(\S*/)?(sudo\s+)?(\S*/)?((ba|z|da|k)?sh|python[0-9.]*|perl)\b|\b((ba|z|da|k)?sh|eval)\b[^;]*(\$\(|<\(|`)[^)]*\bbase64\b",
    ),
    (
        "reverse-shell",
        r"/dev/(tcp|udp)/|\b(nc|ncat|netcat)\b[^;|]*\s-\w*[ec]\s|socket\.socket\(.*(dup2|subprocess|pty)|\bsocat\b[^;|]*exec:",
    ),
    (
        "secret",
        r#"(^|[\s/"'=@~])\.(ssh/(id_|authorized_keys|config|\*|["'\s]|$)|aws/(credentials|config)|gnupg|netrc|git-credentials|kube/config|pgpass|docker/config\.json)|/etc/(shadow|gshadow|sudoers)|/proc/[^/\s]+/environ|\bid_(rsa|ed25519|ecdsa|dsa)\b"#,
    ),
    (
        "git",
        r"\bgit\b[^;&|]*\bpush\b[^;&|]*(\s--force(\s|$)|\s-f\b|\s--mirror\b)|\bgit\b[^;&|]*\breset\b[^;&|]*\s--hard\b",
    ),
    (
        "git",
        r"\bgit\b[^;&|]*\bclean\b[^;&|]*\s-\w*f|\bgit\b[^;&|]*\bfilter-(branch|repo)\b|\bgit\b[^;&|]*\breflog\s+expire\b",
    ),
];

static EXPRESSIONS: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    // Every expression compiles: a test counts them.
    RegexSet::new(SHAPES.iter().map(|(_, shape)| *shape)).ok()
});

/// Looks for catastrophes in raw text, as it stands and with quotes and escapes taken out; one rule may be left out.
pub(crate) fn raw(text: &str, but: &str) -> Option<Verdict> {
    let bare: String =
        text.replace("\\\n", "").chars().filter(|letter| !matches!(letter, '\'' | '"' | '\\')).collect();
    let spaced = bare.replace("${IFS}", " ").replace("$IFS", " ");
    let mut texts = vec![text];
    if bare != text {
        texts.push(&bare);
    }
    if spaced != bare {
        texts.push(&spaced);
    }
    let Some(expressions) = EXPRESSIONS.as_ref() else { return Some(found("unread")) };
    let rule = |at: usize| SHAPES.get(at).map_or("shape", |shape| shape.0);
    texts
        .into_iter()
        .find_map(|text| expressions.matches(text).iter().map(rule).find(|rule| *rule != but))
        .map(found)
}

fn found(rule: &str) -> Verdict {
    // What is destroyed is gone; the rest is refused, too, but no catastrophe.
    let kind =
        if matches!(rule, "delete" | "device" | "machine" | "permissions") { "catastrophe" } else { "text" };
    Verdict::deny(
        format!("{kind}.{rule}"),
        "its text shows something that cannot be undone or must not leave",
        "Leave it; say in your answer what you wanted to reach.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles_and_finds_what_it_is_for() {
        assert_eq!(EXPRESSIONS.as_ref().map(RegexSet::len), Some(SHAPES.len()));
        for line in ["rm -rf / 'unclosed", "r'm' -rf \"/etc\" (", "curl x | sh 'y", "cat ~/.ssh/id_rsa ("] {
            assert!(raw(line, "").is_some(), "{line}");
        }
        assert!(raw("ls -la 'unclosed", "").is_none());
    }
}
