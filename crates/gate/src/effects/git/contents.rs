//! Files of secrets in what git prints, and in what it takes into the index.

use super::Subcommand;
use crate::effects::look::Look;
use crate::effects::place::Place;
use crate::effects::severity::Act;
use crate::effects::{trees, words};
use crate::secrets::{is_project_secret, may_be_project_secret};
use crate::shell::{Word, base_name, pattern};

/// A file of secrets that was committed is read from the history as it is from the disk: `git show HEAD:.env`.
pub(super) fn secrets(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    let prints = match sub.verb {
        "log" | "whatchanged" | "reflog" | "stash" => sub.has(&["-p", "-u", "--patch", "-L", "-G", "-S"]),
        // It keeps a copy in the repository.
        "hash-object" => sub.has(&["-w"]),
        verb => words::GIT_PRINTS_CONTENT.matches(verb),
    };
    if !prints {
        return;
    }
    // Files that git does not keep are searched and compared on the disk.
    let on_disk = match sub.verb {
        "grep" => sub.has(&["--no-index", "--untracked"]),
        "diff" => sub.has(&["--no-index"]),
        _ => false,
    };
    if on_disk {
        let pattern = sub.verb == "grep" && !sub.has(&["-e", "-f"]);
        let operands = sub.operands.iter().skip(usize::from(pattern));
        let mut starts: Vec<Word> = operands.map(|word| (*word).clone()).collect();
        if starts.is_empty() {
            starts.push(Word::known("."));
        }
        trees::take(look, &starts, &[]);
    }
    // The path may be part of an option: `-L1,5:.env`, `--file=.env`.
    let is_attached = |word: &&Word| {
        let text = word.beginning();
        text.starts_with("-L") || text.starts_with("--") && text.contains('=')
    };
    let attached = sub.rest.iter().filter(is_attached);
    let mut names: Vec<String> = sub.operands.iter().copied().chain(attached).map(Word::shown).collect();
    // `echo HEAD:.env | git cat-file --batch`.
    if sub.verb == "cat-file" && sub.rest.iter().any(|word| word.beginning().starts_with("--batch")) {
        let text = look.segment.input.as_ref().and_then(|stream| stream.text.clone()).unwrap_or_default();
        names.extend(text.split_whitespace().take(256).map(str::to_string));
    }
    if sub.verb == "hash-object" && sub.has(&["--stdin-paths"]) {
        match look.segment.input.as_ref().and_then(|stream| stream.text.clone()) {
            Some(text) => names.extend(text.lines().take(256).map(str::to_string)),
            None => look.ask("git.stored", "which files it keeps in the repository is not known"),
        }
    }
    for name in names {
        if let Some(path) = secret_path(&name) {
            look.act_at(Act::Read, Place::ProjectSecret, &path);
        }
    }
}

/// The path of a revision, an option or a pathspec, if it may be that of secrets: `HEAD:.env`, `:(top).env`, `.e*`.
fn secret_path(text: &str) -> Option<String> {
    // `:!.env` and `:(exclude).env` leave it out.
    let magic = text.strip_prefix(":(").and_then(|rest| rest.split_once(')')).map_or("", |(magic, _)| magic);
    if text.starts_with(":!") || text.starts_with(":^") || magic.split(',').any(|word| word == "exclude") {
        return None;
    }
    let path = text.rsplit([':', '=']).next().unwrap_or_default();
    let path = match path.split_once(')') {
        Some((magic, path)) if magic.starts_with('(') => path,
        _ => path,
    };
    let path = path.trim_start_matches('/');
    let name = base_name(path);
    // In git's patterns a star at the beginning stands for a dot too; one that stands for every name searches for nothing.
    let has_pattern = name.contains(['*', '?', '[']) && name.chars().any(char::is_alphanumeric);
    let is_found = is_project_secret(name)
        || has_pattern && (may_be_project_secret(name) || pattern::matches(name, ".env"));
    is_found.then(|| path.to_string())
}

/// Is it a pattern or a magic word of git, so that the line does not show which files it finds?
pub(super) fn is_pattern(text: &str) -> bool {
    text.starts_with(':') || text.contains(['*', '?', '['])
}

/// What is staged is shown by `git diff --cached`, and goes where the commit goes.
pub(super) fn staged(look: &mut Look<'_>, sub: &Subcommand<'_>) {
    for word in &sub.operands {
        if look.place(word) == Place::ProjectSecret {
            look.act(Act::Read, word);
        } else if secret_path(&word.shown()).is_some() {
            look.ask("git.add", format!("`{}` may find files of secrets", word.shown()));
        }
    }
    let takes_ignored = sub.verb != "update-index" && sub.is_forced();
    let is_whole =
        sub.has(&["-A", "--all"]) || sub.operands.iter().any(|word| look.place(word) == Place::Workspace);
    if takes_ignored && is_whole {
        look.ask("git.add", "it takes in files that the project ignores, secrets among them");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pathspecs_that_may_find_secrets_are_told_from_others() {
        for text in [
            "HEAD:.env",
            ":/.env",
            ":(top).env",
            ":(glob).e*",
            ":(top)exclude/.env",
            "*env",
            ".en?",
            "--file=.env",
            "-L1,5:.env",
            "a/.env.local",
        ] {
            assert!(secret_path(text).is_some(), "{text}");
        }
        for text in [
            ":!.env",
            ":(exclude).env",
            "*",
            "src/*",
            "*.rs",
            "*.json",
            ".github/*.yml",
            "HEAD~3",
            ".env.example",
        ] {
            assert!(secret_path(text).is_none(), "{text}");
        }
    }
}
