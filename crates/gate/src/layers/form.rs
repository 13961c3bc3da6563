//! Commands as rules see them: one text per command, with everything in it that a rule must answer for.
//!
//! For a denylist a command has several texts, and one that is found is enough. For an allowlist it has exactly one, with
//! its wrappers, variables and redirections, words quoted so that an argument cannot pass for two; and none at all
//! where a word is not certain.

use crate::effects::{Act, Grounds, Place, SegmentJudgement, weigh};
use crate::shell::{self, RedirectKind, Segment, Taint, Word};
use crate::verdict::Decision;

/// Programs that run what they are given as text.
const INTERPRETERS: [&str; 24] = [
    "python",
    "python2",
    "python3",
    "node",
    "nodejs",
    "deno",
    "bun",
    "ruby",
    "perl",
    "php",
    "lua",
    "Rscript",
    "osascript",
    "awk",
    "gawk",
    "sed",
    "psql",
    "mysql",
    "sqlite3",
    "mongosh",
    "redis-cli",
    "pwsh",
    "powershell",
    "tclsh",
];

/// Flags behind which an interpreter takes code.
const CODE: [&str; 10] = ["-c", "-e", "-E", "-p", "-pe", "-ne", "-r", "-m", "--eval", "--command"];

/// A command as an allowlist sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Form {
    /// The text; `None` where something of it is not certain.
    pub(super) text: Option<String>,
    /// The reason why it is not certain.
    pub(super) why: &'static str,
    /// Whether its output goes where anything may be written.
    pub(super) contained: bool,
    /// The class of directory that it runs in.
    pub(super) directory: &'static str,
    /// Its words, where all are certain.
    pub(super) words: Vec<String>,
    /// Programs that start it and count.
    pub(super) through: Vec<String>,
    /// Whether variables are set for it, or exported before it.
    pub(super) environment: bool,
    /// Whether files are looked for by a pattern.
    pub(super) globs: bool,
    /// Whether it runs on another machine or in a container.
    pub(super) elsewhere: bool,
}

/// A line as an allowlist sees it.
#[derive(Debug, Clone)]
pub(super) struct Forms {
    /// Each command.
    pub(super) commands: Vec<Form>,
    /// Whether the line as a whole was understood.
    pub(super) certain: bool,
}

/// Reads a line.
pub(super) fn read(line: &str, directory: &str, grounds: Grounds<'_>) -> Forms {
    let untainted = |_: &str, _: &[Word], _: &[Word]| Taint::NONE;
    let reading = shell::read(line, directory, grounds.home, &untainted);
    Forms {
        certain: reading.doubts.is_empty() && !reading.recursion,
        commands: reading.segments.iter().map(|segment| form(segment, grounds)).collect(),
    }
}

fn form(segment: &Segment, grounds: Grounds<'_>) -> Form {
    let through: Vec<String> = segment
        .through
        .iter()
        .filter(|name| !shell::is_transparent(shell::base_name(name)))
        .cloned()
        .collect();
    let words: Option<Vec<String>> =
        segment.words.iter().map(|word| word.text().map(std::borrow::Cow::into_owned)).collect();
    let name = words.as_ref().and_then(|words| words.first()).map_or("", |name| shell::base_name(name));
    let fed = segment.input.as_ref().is_some_and(|stream| stream.text.is_none());
    let (text, why) = if words.is_none() {
        (None, "a word of it is not certain")
    } else if fed && runs_text(name) {
        (None, "it runs what another program gives it")
    } else {
        match text(segment, &through) {
            Some(text) => (Some(text), ""),
            None => (None, "a variable or a file of it is not certain"),
        }
    };
    let contained = writes(segment).all(|target| {
        let place = Place::classify(target, &segment.directories, grounds);
        weigh(Act::Write, place) == Decision::Allow
    });
    Form {
        text,
        why,
        contained,
        directory: directory_class(segment, grounds),
        words: words.unwrap_or_default(),
        through,
        environment: !segment.environment.is_empty() || !segment.inherited.is_empty(),
        globs: segment.words.iter().any(Word::globs),
        elsewhere: segment.elsewhere,
    }
}

/// Does this program run text?
fn runs_text(name: &str) -> bool {
    shell::is_shell(name) || INTERPRETERS.contains(&versionless(name))
}

/// `python3.12` is `python3`.
fn versionless(name: &str) -> &str {
    name.split_once('.').map_or(name, |(before, _)| before)
}

/// Do these words hold code for an interpreter?
pub(super) fn holds_code(words: &[String]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    let name = shell::base_name(program);
    let flagged = |word: &String| {
        CODE.iter().any(|flag| word == flag || word.strip_prefix(flag).is_some_and(|after| after.starts_with('=')))
            // `-ce`, `-ic`: flags written together.
            || (word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'e']))
    };
    // A program of rules (`awk`, `sed`) is code without any flag.
    runs_text(name) && (matches!(name, "awk" | "gawk" | "sed") || rest.is_empty() || rest.iter().any(flagged))
}

fn writes(segment: &Segment) -> impl Iterator<Item = &Word> {
    segment
        .redirects
        .iter()
        .filter(|redirect| redirect.kind != RedirectKind::Read)
        .map(|redirect| &redirect.target)
        .filter(|target| !target.is("/dev/null"))
}

fn text(segment: &Segment, through: &[String]) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for (name, value) in segment.inherited.iter().chain(&segment.environment) {
        parts.push(format!("{name}={}", quoted(value)?));
    }
    parts.extend(through.iter().cloned());
    for word in &segment.words {
        parts.push(quoted(word)?);
    }
    for redirect in segment.redirects.iter().filter(|redirect| !redirect.target.is("/dev/null")) {
        let sign = match redirect.kind {
            RedirectKind::Read => "<",
            RedirectKind::Write => ">",
            RedirectKind::Append => ">>",
        };
        parts.push(format!("{sign} {}", quoted(&redirect.target)?));
    }
    Some(parts.join(" "))
}

/// A word as it would be typed, so that two different words never look the same.
fn quoted(word: &Word) -> Option<String> {
    let text = word.text()?;
    let plain = |char: char| char.is_ascii_alphanumeric() || "@%+=:,./_-~".contains(char) || !char.is_ascii();
    let glob = |char: char| plain(char) || "*?[]!".contains(char);
    let bare = !text.is_empty() && (text.chars().all(plain) || (word.globs() && text.chars().all(glob)));
    Some(if bare { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) })
}

fn directory_class(segment: &Segment, grounds: Grounds<'_>) -> &'static str {
    let class = |directory: &Word| match directory.text() {
        Some(directory) if shell::normal(&directory) == shell::normal(grounds.workspace) => "workspace",
        Some(directory) if Place::of_path(&directory, true, false, grounds) <= Place::Inside => "inside",
        _ => "elsewhere",
    };
    let mut classes = segment.directories.iter().map(class);
    let first = classes.next().unwrap_or("elsewhere");
    if classes.all(|class| class == first) { first } else { "elsewhere" }
}

/// The texts of a command that a denylist is asked about.
pub(super) fn refusable(judged: &SegmentJudgement) -> Vec<String> {
    let words = judged.words.join(" ");
    let mut texts = Vec::new();
    if let Some((program, rest)) = judged.words.split_first() {
        let name = shell::base_name(program);
        let mut based = vec![name];
        based.extend(rest.iter().map(String::as_str));
        let based = based.join(" ");
        if !judged.through.is_empty() {
            let through: Vec<&str> = judged.through.iter().map(|name| shell::base_name(name)).collect();
            texts.push(format!("{} {based}", through.join(" ")));
        }
        if based != words {
            texts.push(based);
        }
    }
    let written = judged.effects.iter().filter(|effect| matches!(effect.act, Act::Write | Act::Change));
    for effect in written.filter(|effect| !judged.words.contains(&effect.target)).take(8) {
        texts.push(format!("{words} > {}", effect.target));
    }
    texts.push(words);
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(line: &str) -> Forms {
        read(line, "/w/p", Grounds { workspace: "/w/p", home: "/home/a" })
    }

    fn texts(line: &str) -> Vec<Option<String>> {
        forms(line).commands.into_iter().map(|form| form.text).collect()
    }

    #[test]
    fn a_text_holds_all_that_counts() {
        assert_eq!(texts("g\"\"it  push 'a b'"), [Some("git push 'a b'".to_string())]);
        assert_eq!(texts("timeout 5 foo x").last().unwrap().as_deref(), Some("foo x"));
        assert_eq!(texts("sudo foo x").last().unwrap().as_deref(), Some("sudo foo x"));
        assert_eq!(texts("A=1 foo > out 2>/dev/null"), [Some("A=1 foo > out".to_string())]);
        assert_eq!(texts("foo $X"), [None]);
        assert_eq!(texts("foo '*' *"), [Some("foo '*' *".to_string())]);
        assert_eq!(texts("X=a; foo $X").last().unwrap().as_deref(), Some("foo a"));
    }

    #[test]
    fn what_is_piped_into_an_interpreter_is_not_certain() {
        assert!(texts("foo | python3 -").last().unwrap().is_none());
        assert!(texts("foo | wc").last().unwrap().is_some());
    }

    #[test]
    fn output_elsewhere_and_directories_are_seen() {
        let one = |line: &str| forms(line).commands.pop().unwrap();
        assert!(
            one("foo > out").contained && !one("foo > /opt/x").contained && !one("foo >> ../x").contained
        );
        assert_eq!(one("foo").directory, "workspace");
        assert_eq!(one("cd sub && foo").directory, "inside");
        assert_eq!(one("(cd /opt; foo)").directory, "elsewhere");
    }

    #[test]
    fn code_in_arguments_is_seen() {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        for line in
            ["python3 -c x", "node -e x", "perl -pe x", "bash -lc x", "python3.12 -c x", "awk x", "python3"]
        {
            assert!(holds_code(&words(line)), "{line}");
        }
        assert!(!holds_code(&words("python3 tool.py")) && !holds_code(&words("cargo -c")));
    }
}
