//! The machine: processes, history, environment, mounts.

use super::argument_scan::{generic, is_reaching};
use super::arguments::tail;
use super::keys;
use super::look::Look;
use super::options;
use super::security_tools::{is_attack, is_defence};
use super::severity::Act;
use super::words;
use crate::secrets::is_secret_variable;
use crate::shell::{Taint, Word};

/// Judges programs that are about the machine, beyond what `data/verbs/machine.toml` says.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    let words: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let first = words.first().map_or("", String::as_str);
    match base {
        "just" | "task" | "mage" | "inv" | "invoke" | "doit" | "nox" if !is_recipe(first) => {
            look.ask("build.recipe", format!("what the recipe `{first}` does is not known"));
        }
        "kill" | "pkill" | "killall" | "skill" | "killall5" | "xkill" => processes(look, base, &words),
        "man" | "info" => {
            pages(look, base);
            return false;
        }
        "ps" => {
            letters_of_ps(look);
            return false;
        }
        "mktemp" => {
            made_names(look);
            return false;
        }
        "valgrind" => {
            output_files(look);
            return false;
        }
        name if words::FIRST_OPERAND_WRITERS.matches(name) => {
            let target = look.rest().iter().find(|word| !word.beginning().starts_with('-')).cloned();
            target.iter().for_each(|target| look.act(Act::Write, target));
            return false;
        }
        name if words::ENVIRONMENT_TEMPLATES.matches(name) => {
            templates(look, base, &words);
            return false;
        }
        "history" | "fc" => history(look, base, &words),
        "unset" | "set" | "shopt"
            if words.iter().any(|word| word.starts_with("HIST") || word == "history") =>
        {
            look.deny("history", "it keeps commands out of the history");
        }
        "env" | "printenv" | "set" | "export" | "declare" | "typeset" | "readonly" => {
            return shows_environment(look, base, &words);
        }
        "umount" | "mount" | "swapoff" => mounts(look, base, &words),
        "gpg" | "gpg2" | "age" | "sops" | "rage" | "keytool" | "easyrsa" | "certtool" => {
            keys::keys(look, base, &words);
        }
        "openssl" => keys::openssl(look, &words),
        name if is_attack(name) && name != "lse" => {
            look.deny("attack", format!("`{base}` is made to attack or to take credentials"));
        }
        _ => return false,
    }
    true
}

/// A page that is named by its path is a file that is shown, whatever it holds.
fn pages(look: &mut Look<'_>, base: &str) {
    let is_local = |word: &Word| {
        let text = word.beginning();
        text.starts_with("--l")
            || text.starts_with("--f")
            || text.starts_with('-') && !text.starts_with("--") && text.contains(['l', 'f'])
    };
    let local = look.rest().iter().any(is_local);
    for word in look.rest().to_vec() {
        let text = word.beginning();
        let is_path = text.contains('/') || text.starts_with(['.', '~']) || local && base == "man";
        if is_path && !text.starts_with('-') {
            look.act(Act::Read, &word);
        }
    }
}

/// Templates are filled from the environment: a variable that may hold a key is shown.
fn templates(look: &mut Look<'_>, base: &str, words: &[String]) {
    let input = look.segment.input.as_ref().and_then(|stream| stream.text.clone());
    let text = format!("{} {}", words.join(" "), input.unwrap_or_default());
    // Dhall reads a variable only where it is told so.
    let reads = base == "envsubst" || text.contains("env:");
    if reads && names_key(&text) {
        look.ask("environment.show", "it shows a variable that may hold a key");
    }
    // A text that is not known may name any variable, unless the words say which ones count.
    let is_known = look.segment.input.as_ref().is_none_or(|stream| stream.text.is_some());
    let is_limited = words.iter().any(|word| word.contains('$'));
    if base == "envsubst" && !is_limited && (!is_known || !look.segment.redirects.is_empty()) {
        look.ask("environment.show", "the text that it fills may name variables that hold keys");
    }
}

/// `ps auxe`, `ps -ef e`: letters without a dash are options too, and `e` shows the environment of processes.
fn letters_of_ps(look: &mut Look<'_>) {
    let operands = options::operands("ps", look.rest()).unwrap_or_default();
    let texts: Vec<String> = operands.into_iter().map(Word::shown).collect();
    let shows = |at: usize, text: &str| {
        let before = at.checked_sub(1).and_then(|before| texts.get(before));
        let is_value = before.is_some_and(|before| before.ends_with(['o', 'O', 'k', 'p', 't', 'U', 'q']));
        !is_value && text.contains('e') && text.chars().all(|char| char.is_ascii_alphabetic())
    };
    if texts.iter().enumerate().any(|(at, text)| shows(at, text)) {
        look.ask(
            "environment.show",
            "`e` without a dash shows the environment of processes, which may hold keys",
        );
    }
}

/// `mktemp /etc/profile.d/aXXX`: a template with a directory says where the file is made.
fn made_names(look: &mut Look<'_>) {
    for word in look.rest().to_vec() {
        let text = word.beginning();
        let target = match text.strip_prefix("--tmpdir=") {
            Some(_) => tail(&word, "--tmpdir=".len()),
            None => word.clone(),
        };
        if target.beginning().starts_with(['/', '~', '.']) {
            look.act(Act::Write, &target);
        }
    }
}

/// `valgrind --massif-out-file=FILE PROGRAM …`: files that its own options name.
fn output_files(look: &mut Look<'_>) {
    let own = look.rest().iter().take_while(|word| word.beginning().starts_with("--"));
    let values: Vec<Word> = own
        .filter_map(|word| {
            let text = word.beginning();
            let (name, _) = text.split_once('=')?;
            name.ends_with("-file").then(|| tail(word, name.len() + 1))
        })
        .collect();
    values.iter().for_each(|file| look.act(Act::Write, file));
}

/// Does a text name a variable that may hold a key?
fn names_key(text: &str) -> bool {
    text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_').any(is_secret_variable)
}

fn mounts(look: &mut Look<'_>, base: &str, words: &[String]) {
    let has = |word: &str| words.iter().any(|own| own == word);
    if base == "mount" && (words.is_empty() || words == ["-l"]) {
        return;
    }
    if words.iter().any(|word| word.contains("remount")) {
        look.deny("mount", "it changes how a disk is mounted");
    } else if base == "mount" && words.iter().any(|word| word.contains("suid") && !word.contains("nosuid"))
        || has("--bind") && has("/")
    {
        look.deny("mount", "it mounts with rights that a disk should not give");
    } else {
        generic(look, false);
        look.ask("mount", "it changes what is mounted");
    }
}

/// Recipes that stay in the project, by their names.
fn is_recipe(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    !is_reaching(name) && !words::RELEASING_RECIPES.matches(&lower)
}

fn processes(look: &mut Look<'_>, base: &str, words: &[String]) {
    let has = |word: &str| words.iter().any(|own| own == word);
    if words.iter().any(|word| matches!(word.as_str(), "-l" | "-L" | "--list" | "-0")) {
        return;
    }
    // `kill %1`: a job of this shell.
    let mut operands = words.iter().filter(|word| !word.starts_with('-')).peekable();
    if base == "kill" && operands.peek().is_some() && operands.all(|word| word.starts_with('%')) {
        return;
    }
    let everything = base == "kill"
        && has("-1")
        && (words.last().is_some_and(|last| last == "-1") && words.len() > 1 || has("--"))
        || base == "killall5"
        || base == "pkill" && words.iter().any(|word| word == "." || word == ".*");
    let root = words.windows(2).any(|pair| matches!(pair, [flag, user] if matches!(flag.as_str(), "-u" | "-U" | "--user" | "--euid") && user == "root"));
    let first_process = base == "kill" && (words.iter().skip(1).any(|word| word == "1") || words == ["1"]);
    let watched = words.iter().any(|word| is_defence(word) || words::VITAL_PROCESSES.matches(word));
    let found = look.rest().iter().any(|word| word.text().is_none());
    if everything || root || first_process || watched && base != "kill" {
        return look.deny("process", "it stops what the machine needs");
    }
    if found && look.privileged() {
        return look.deny("process", "with root's rights it stops processes that cannot be known");
    }
    look.ask("process", "it stops other processes");
}

fn history(look: &mut Look<'_>, base: &str, words: &[String]) {
    if base == "history"
        && words
            .iter()
            .any(|word| word.starts_with('-') && word.contains(['c', 'd', 'w', 'r', 'a', 's', 'n']))
    {
        let target = words.iter().find(|word| !word.starts_with('-')).map(|word| Word::known(word.as_str()));
        if let Some(target) = target {
            look.act(Act::Write, &target);
        }
        look.deny("history", "it changes the shell's history");
    } else {
        look.ask("history", "it shows the shell's history");
    }
}

fn shows_environment(look: &mut Look<'_>, base: &str, words: &[String]) -> bool {
    let prints = |word: &String| word.starts_with('-') && !word.contains(['f', 'F']);
    let bare = words.is_empty() || base != "set" && words.iter().all(prints);
    // `declare -p NAME`
    let declared = words.iter().any(|word| !word.starts_with('-'))
        && words.iter().any(|word| word.starts_with('-') && word.contains('p'));
    let named = base == "printenv" && !words.is_empty()
        || matches!(base, "declare" | "typeset" | "export" | "readonly") && declared;
    if look.starts || !(bare || named) {
        return false;
    }
    let is_copy = |word: &String| {
        let own = look.segment.environment.iter().find(|(name, _)| name == word);
        own.is_some_and(|(_, value)| value.taint().has(Taint::SECRET))
    };
    // `xargs printenv`, `printenv $x`: which variable it is cannot be known.
    let is_open = look.rest().iter().any(|word| word.text().is_none());
    if named && !is_open && !words.iter().any(|word| is_secret_variable(word) || is_copy(word)) {
        return true;
    }
    look.ask("environment.show", "it shows the environment, which may hold keys");
    true
}
