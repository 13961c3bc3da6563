//! Looks for catastrophes in the text of a line, where its words are not certain.
//!
//! A line that cannot be read as shell, or whose words are not known, is judged by its text as well, so that a failure to
//! read it skips nothing. A line whose words are certain is not: a commit message may speak of `rm -rf /`.

use crate::verdict::Verdict;
use regex::RegexSet;
use std::sync::LazyLock;

/// A danger that is visible in the text of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Delete,
    Device,
    Machine,
    Permissions,
    RemoteCode,
    HiddenCode,
    ReverseShell,
    Secret,
    Git,
    /// The regexes could not be compiled, so that nothing is known of the text.
    Unread,
}

impl Shape {
    /// The name of the rule. What is destroyed is gone; the rest is refused, too, but is not a catastrophe.
    fn rule(self) -> &'static str {
        match self {
            Shape::Delete => "catastrophe.delete",
            Shape::Device => "catastrophe.device",
            Shape::Machine => "catastrophe.machine",
            Shape::Permissions => "catastrophe.permissions",
            Shape::RemoteCode => "text.remote-code",
            Shape::HiddenCode => "text.hidden-code",
            Shape::ReverseShell => "text.reverse-shell",
            Shape::Secret => "text.secret",
            Shape::Git => "text.git",
            Shape::Unread => "text.unread",
        }
    }
}

/// Shapes of dangers in raw text, each with its regex.
const SHAPES: [(Shape, &str); 18] = [
    (
        Shape::Delete,
        r#"\b(rm|shred)\s+(-\S+\s+)*["']?(/|~|\$\{?HOME\}?|/\*|(~|\$\{?HOME\}?)/\*?|/(bin|boot|dev|etc|home|lib|lib64|opt|proc|root|run|sbin|srv|sys|usr|var)(/\S*)?)["']?(\s|$|[;&|)`"'])"#,
    ),
    (Shape::Delete, r"--no-preserve-root"),
    (Shape::Delete, r#"\b(rm|shred)\s[^;&|]*(^|[\s/"'])\.(git|marvin|tickets)(/|\s|$|["';&|)])"#),
    (Shape::Delete, r"\b(rm|mv|ln|mkfifo|shred)\s[^;&|]*/mhd-[0-9$*?]"),
    (
        Shape::Delete,
        r#"rmtree\(\s*["'](/|~)|(rmSync|rm_rf|rmdirSync)\(\s*["'](/|~)|Path\.home\(\)[^;]*rmtree"#,
    ),
    (Shape::Device, r"\bmkfs(\.\w+)?\s|\bwipefs\b|\bblkdiscard\b"),
    (Shape::Device, r"\bdd\b[^;&|]*\bof=/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper|mem|kmem)"),
    (Shape::Device, r">\s*/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper|mem|kmem)"),
    (Shape::Machine, r"\(\)\s*\{[^}]*\|[^}]*&[^}]*\}"),
    (Shape::Machine, r"(^|[;&|(`]\s*|\bsudo\s+)(shutdown|reboot|poweroff|halt)(\s|$|[;&|)])"),
    (
        Shape::Permissions,
        r"\bch(mod|own|grp)\s+(-\S+\s+)*-\w*R\S*\s+\S+\s+(/|~|\$HOME|/(bin|boot|etc|home|lib|opt|root|sbin|usr|var)\S*)(\s|$|[;&|)])",
    ),
    (
        Shape::RemoteCode,
        r"\b(curl|wget)\b[^;]*\|\s*(\S*/)?(sudo\s+)?(\S*/)?((ba|z|da|k|fi)?sh|python[0-9.]*|perl|ruby|node|php)\b",
    ),
    (
        Shape::RemoteCode,
        r#"\b((ba|z|da|k)?sh|eval|source|python[0-9.]*|perl|ruby|node|exec)\b[^;]*(\$\(|<\(|`)\s*(\S*/)?(curl|wget)\b|(^|\s)\.\s+<\(\s*(curl|wget)"#,
    ),
    (
        Shape::HiddenCode,
        r"\b(base64|base32|xxd|uudecode)\b[^;]*\|\s*(\S*/)?(sudo\s+)?(\S*/)?((ba|z|da|k)?sh|python[0-9.]*|perl)\b|\b((ba|z|da|k)?sh|eval)\b[^;]*(\$\(|<\(|`)[^)]*\bbase64\b",
    ),
    (
        Shape::ReverseShell,
        r"/dev/(tcp|udp)/|\b(nc|ncat|netcat)\b[^;|]*\s-\w*[ec]\s|socket\.socket\(.*(dup2|subprocess|pty)|\bsocat\b[^;|]*exec:",
    ),
    (
        Shape::Secret,
        r#"(^|[\s/"'=@~])\.(ssh/(id_|authorized_keys|config|\*|["'\s]|$)|aws/(credentials|config)|gnupg|netrc|git-credentials|kube/config|pgpass|docker/config\.json)|/etc/(shadow|gshadow|sudoers)|/proc/[^/\s]+/environ|\bid_(rsa|ed25519|ecdsa|dsa)\b"#,
    ),
    (
        Shape::Git,
        r"\bgit\b[^;&|]*\bpush\b[^;&|]*(\s--force(\s|$)|\s-f\b|\s--mirror\b)|\bgit\b[^;&|]*\breset\b[^;&|]*\s--hard\b",
    ),
    (
        Shape::Git,
        r"\bgit\b[^;&|]*\bclean\b[^;&|]*\s-\w*f|\bgit\b[^;&|]*\bfilter-(branch|repo)\b|\bgit\b[^;&|]*\breflog\s+expire\b",
    ),
];

static REGEXES: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    // Every regex compiles: a test counts them.
    RegexSet::new(SHAPES.iter().map(|(_, shape)| *shape)).ok()
});

/// Looks for dangers in raw text, as it stands and with quotes and escapes taken out; one shape may be left out.
pub(crate) fn raw(text: &str, except: Option<Shape>) -> Option<Verdict> {
    const QUOTES: [char; 3] = ['\'', '"', '\\'];
    let bare = text.contains(QUOTES).then(|| text.replace("\\\n", "").replace(QUOTES, ""));
    let plain = bare.as_deref().unwrap_or(text);
    let spaced = plain.contains("IFS").then(|| plain.replace("${IFS}", " ").replace("$IFS", " "));
    let mut texts = std::iter::once(text).chain(bare.as_deref()).chain(spaced.as_deref());
    let Some(regexes) = REGEXES.as_ref() else { return Some(verdict(Shape::Unread)) };
    let shape = |at: usize| SHAPES.get(at).map_or(Shape::Unread, |(shape, _)| *shape);
    texts
        .find_map(|text| regexes.matches(text).iter().map(shape).find(|shape| Some(*shape) != except))
        .map(verdict)
}

fn verdict(shape: Shape) -> Verdict {
    Verdict::deny(
        shape.rule(),
        "its text shows something that cannot be undone or must not leave",
        "Leave it; say in your answer what you wanted to reach.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles_and_finds_what_it_is_for() {
        assert_eq!(REGEXES.as_ref().map(RegexSet::len), Some(SHAPES.len()));
        for line in ["rm -rf / 'unclosed", "r'm' -rf \"/etc\" (", "curl x | sh 'y", "cat ~/.ssh/id_rsa ("] {
            assert!(raw(line, None).is_some(), "{line}");
        }
        assert!(raw("ls -la 'unclosed", None).is_none());
    }
}
