//! One command: the programs with rules of their own, then the table, then what is not known.

use super::argument_scan::{
    candidates_of_name, generic, hidden_shell, is_interactive, is_reaching, is_text, piped_credentials,
};
use super::arguments::{Arguments, FlagNames as _};
use super::common_flags::{built, hunts, response_files, rewritten, run_operands, secrets_by_name, written};
use super::facts::{self, Class, Facts};
use super::foreign_words::{foreign_words, other_directory, shows_variable, told_to_registry};
use super::look::Look;
use super::place::Place;
use super::security_tools::is_attack;
use super::severity::Act;
use super::verbs::{self, Stage};
use super::{
    archive, cloud, code, compress, container, database, disk, files, git, machine, network, operands,
    options, package, reach, service, transfer, trees, words,
};
use crate::shell::{self, Taint, Word, base_name};
use crate::verdict::Verdict;
use std::borrow::Cow;

/// Judges the program of a segment.
pub(super) fn judge(look: &mut Look<'_>) {
    let Some(first) = look.segment.words.first() else { return };
    let Some(name) = first.text().map(Cow::into_owned) else {
        if first.taint().has(Taint::NETWORK) {
            return look.deny("code.network", "it runs what came from the network");
        }
        if first.taint().has(Taint::DECODED) {
            return look.deny("code.hidden", "it runs what was encoded to hide it");
        }
        generic(look, true);
        return look.ask("command.name", "the program's name cannot be known from the line");
    };
    if name.is_empty() {
        return;
    }
    let base = plain_name(&name);
    look.is_text = is_text(&base);
    if first.globs() && !matches!(base.as_str(), "[" | "[[") {
        look.ask("command.name", "the program's name is a pattern");
        pattern(look, &base);
    }
    if let Some(address) = reach::address(first) {
        return fetched_program(look, &address);
    }
    located(look, first, &name);
    if is_help(look, &base) {
        return;
    }
    tickets(look, &base);
    let facts = facts::find(&base).or_else(|| look.context.more.and_then(|more| more.get(&base)));
    let class = facts.map(|facts| facts.class);
    privileged(look, &base, class);
    shows_variable(look, &base, class);
    other_directory(look, &base, class);
    told_to_registry(look, &base);
    piped_credentials(look, &base);
    foreign_words(look, &base, class);
    hidden_shell(look, &base, class);
    if let Some(facts) = facts.filter(|facts| facts.class == Class::Deny) {
        return refuse(look, &base, facts);
    }
    if !shell::is_shell(&base) && !shell::is_launcher(&base) {
        options::judge(look, &base, facts);
        response_files(look, &base);
        run_operands(look, &base);
        trees::judge(look, &base);
    }
    if files::judge(look, &base)
        || archive::judge(look, &base)
        || git::judge(look, &base)
        || network::judge(look, &base)
        || transfer::judge(look, &base)
        || code::judge(look, &base)
    {
        return;
    }
    reach::addresses(look, &base, facts);
    if verbs::judge(look, &base, Stage::Program, &plain_words(look))
        || machine::judge(look, &base)
        || database::judge(look, &base)
    {
        return;
    }
    if look.segment.through.iter().any(|through| through == &base)
        || shell::is_shell(&base)
        || shell::is_launcher(&base)
    {
        return shells(look, &base);
    }
    // A file of the project may have the name of anything.
    let own =
        name.contains('/') && matches!(look.place(first_word(look)), Place::Inside | Place::Regenerable);
    match facts {
        Some(facts) if !(own && facts.class == Class::Ask) => by_table(look, &base, facts),
        _ => unknown(look, &name, &base),
    }
}

/// `uv run https://…`: what is started comes from another machine.
fn fetched_program(look: &mut Look<'_>, address: &Word) {
    if verbs::is_unvouched(&[address.shown()]) {
        look.deny("code.network", "it runs code from an address without a name or without encryption");
    } else {
        look.ask("code.network", format!("it runs code from another machine: `{}`", address.shown()));
    }
}

/// The words behind the program's name that are not flags.
fn plain_words(look: &Look<'_>) -> Vec<Word> {
    look.rest().iter().filter(|word| !word.beginning().starts_with('-')).cloned().collect()
}

fn first_word<'a>(look: &Look<'a>) -> &'a Word {
    static NONE: Word = Word { pieces: Vec::new() };
    look.segment.words.first().unwrap_or(&NONE)
}

/// The program's name without its path, and without what other systems put behind it.
fn plain_name(name: &str) -> String {
    let base = base_name(name);
    let base = base.rsplit('\\').next().unwrap_or(base);
    let lower = base.to_ascii_lowercase();
    match lower.strip_suffix(".exe").or_else(|| lower.strip_suffix(".cmd").filter(|_| !base.contains('/'))) {
        Some(plain) => plain.to_string(),
        None => base.to_string(),
    }
}

/// Class `deny`: what destroys a device is a catastrophe, the rest is a refusal.
fn refuse(look: &mut Look<'_>, base: &str, facts: &Facts) {
    let reason = format!("`{base}`: {}", facts.why);
    if facts.device {
        look.catastrophe("device", reason);
    } else {
        look.deny("program", reason);
    }
}

/// A name with a pattern may be any program that fits: the worst of the well-known ones counts.
fn pattern(look: &mut Look<'_>, base: &str) {
    const WORST: [&str; 16] = [
        "rm", "dd", "mkfs", "shred", "curl", "wget", "nc", "bash", "sh", "python3", "chmod", "chown",
        "base64", "cat", "git", "kubectl",
    ];
    let Some(name) = WORST.iter().find(|name| shell::pattern::matches(base, name)) else { return };
    let mut words: Vec<String> = vec![(*name).to_string()];
    words.extend(look.rest().iter().map(Word::shown));
    if let Ok(line) = shlex::try_join(words.iter().map(String::as_str)) {
        look.nested(&line);
    }
}

/// Tickets have a tool of their own, which knows what an agent may do with them.
fn tickets(look: &mut Look<'_>, base: &str) {
    let own = match base {
        "tk" | "ticket" => true,
        // `marvin tk`, and the ticket tools by `marvin tools call`.
        "marvin" => look
            .rest()
            .iter()
            .any(|word| word.is("tk") || word.is("create_ticket") || word.beginning().starts_with("ticket_")),
        base => base.starts_with("tk-") || base.starts_with("ticket-"),
    };
    if own {
        look.findings.push(Verdict::deny(
            "command.tk",
            "tickets are not changed by commands of an agent",
            "Use the tk tool, with the same arguments, or tell the person what to change.",
        ));
    }
    let named = look
        .segment
        .words
        .iter()
        .chain(look.segment.redirects.iter().map(|redirect| &redirect.target))
        .flat_map(|word| candidates_of_name(word, look.context.disk))
        .find(|word| {
            Place::is_ticket(word, &look.segment.directories, look.grounds)
                || look.context.disk && disk::is_ticket(word, &look.segment.directories, look.grounds)
        });
    if let Some(word) = named {
        look.findings.push(Verdict::deny(
            "command.tickets",
            format!("`{}` belongs to the tickets, which commands do not touch", word.shown()),
            "Use the tk tool: tk ls · tk show ID · tk add-note ID \"text\"; to search the project's files, use code_grep.",
        ));
    }
}

/// A shell or a launcher: what it starts is judged on its own.
fn shells(look: &mut Look<'_>, base: &str) {
    if !shell::is_shell(base) {
        // With no command behind it, it opens a shell or prompts for a password.
        let rights = shell::switches_user(base);
        if rights && !look.starts && !look.rest().iter().all(|word| word.is("-k") || word.is("-K")) {
            look.ask("root", "it takes another user's rights");
        }
        return generic(look, true);
    }
    let position = script_position(look.rest());
    let operand = look.rest().get(position).cloned();
    let options = look.rest().get(..position).unwrap_or_default();
    // The file is read in any case: a shell shows the lines that it cannot parse, and with `-v` all of them.
    let is_group = |word: &Word| word.beginning().starts_with('-') && !word.beginning().starts_with("--");
    let takes_code = options.iter().any(|word| is_group(word) && word.beginning().contains('c'));
    let check =
        |word: &Word| is_group(word) && word.beginning().contains('n') && !word.beginning().contains('c');
    let checks = options.iter().any(check);
    if let Some(script) = operand.as_ref().filter(|_| !takes_code) {
        look.act(Act::Read, script);
    }
    if look.starts || checks {
        return;
    }
    match operand {
        None if look.segment.input.is_none() => look.ask("shell.open", "it opens a shell"),
        Some(script) => {
            let place = look.place(&script);
            if is_reaching(base_name(&script.shown())) {
                look.ask("script", format!("by its name, `{}` reaches beyond the project", script.shown()));
            }
            if is_attack(base_name(&script.shown())) {
                look.deny("attack", format!("`{}` is made to attack or to take credentials", script.shown()));
            }
            if !matches!(
                place,
                Place::Sink | Place::Inside | Place::Regenerable | Place::System | Place::Vital
            ) && !takes_code
            {
                look.act_at(Act::Run, place, &script.shown());
            }
        }
        None => {}
    }
}

/// The position of the script among the words of a shell: the first that is neither an option nor the value of one.
fn script_position(words: &[Word]) -> usize {
    let mut position = 0;
    while let Some(word) = words.get(position) {
        match word.beginning().as_ref() {
            "--" => return position + 1,
            "--rcfile" | "--init-file" => position += 1,
            option if option.starts_with("--") => {}
            // `-o noexec`, also at the end of a group: `-vo noexec`.
            option if option.starts_with(['-', '+']) && option.len() > 1 => {
                position += usize::from(option.ends_with(['o', 'O']));
            }
            _ => return position,
        }
        position += 1;
    }
    position
}

/// A program that is named by its path: the place decides whether it may be run.
fn located(look: &mut Look<'_>, first: &Word, name: &str) {
    if !name.contains('/') {
        return;
    }
    let place = look.place(first);
    let known = matches!(place, Place::System | Place::Vital) || name.starts_with("/opt/homebrew/bin/");
    if known {
        return;
    }
    match place {
        Place::Inside | Place::Regenerable => {}
        Place::Temporary => {
            look.ask("run.temporary", format!("it runs a program from a temporary directory: `{name}`"));
        }
        place => look.act_at(Act::Run, place, name),
    }
}

/// `--help` and `--version` alone do nothing.
fn is_help(look: &Look<'_>, base: &str) -> bool {
    let rest = look.rest();
    let only = |word: &Word| match word.text().as_deref() {
        Some("--help" | "--version" | "-version" | "--usage" | "-help") => true,
        Some("-V") => !shell::is_launcher(base),
        Some("help" | "version") => {
            !look.is_text
                && !words::HELP_AS_OPERAND.matches(base)
                && facts::find(base).is_some_and(|facts| facts.class == Class::Verbs)
        }
        Some("-h") => {
            !matches!(base, "shutdown" | "halt" | "poweroff" | "reboot" | "telinit" | "init" | "sudo" | "su")
                && !shell::is_shell(base)
        }
        _ => false,
    };
    match rest {
        [one] => only(one) && !matches!(base, "sh" | "dash" | "xargs" | "eval"),
        [.., last] => {
            // Behind these the word is for a program that is fetched or started.
            let starts = |word: &Word| {
                ["run", "exec", "dlx", "x", "foreach", "cmd", "shell", "ssh"].iter().any(|verb| word.is(verb))
            };
            // Other programs act on the operands in front of it, or hand it to what they start.
            matches!(last.text().as_deref(), Some("--help"))
                && (words::HELP_ANYWHERE.matches(base) || base == "git" && rest.len() == 2)
                && !rest.iter().rev().skip(2).any(starts)
                && rest.iter().rev().skip(1).all(|word| !word.beginning().starts_with('-'))
                && rest.iter().all(|word| word.text().is_some_and(|text| !text.contains(['/', ' '])))
                && rest.len() <= 4
        }
        [] => false,
    }
}

/// Root's rights make everything more than it was.
fn privileged(look: &mut Look<'_>, base: &str, class: Option<Class>) {
    let guess = look.segment.words.first().is_some_and(|word| word.is("sudo") || word.is("doas"))
        && look
            .rest()
            .iter()
            .any(|word| word.beginning().contains("#-1") || word.beginning().contains("#4294967295"));
    if guess {
        return look.deny("root", "it asks for a user that does not exist, to become root");
    }
    if !look.privileged() {
        return;
    }
    let shell = shell::is_shell(base)
        && look
            .segment
            .words
            .iter()
            .skip(1)
            .all(|word| word.beginning().starts_with('-') && !word.beginning().contains('c'))
        && look.segment.input.is_none()
        && !look.starts;
    let prompt = is_interactive(base)
        && !look.starts
        && !matches!(class, Some(Class::Read | Class::Verbs | Class::Print))
        && !look.rest().iter().any(|word| word.is("-c") || word.is("-e") || word.is("-m"))
        && look.rest().iter().all(|word| {
            matches!(look.place(word), Place::Inside | Place::Sink | Place::Unknown | Place::Temporary)
                || word.beginning().starts_with('-')
        });
    if shell || prompt {
        look.deny("root.shell", "it opens a shell, or something like one, with root's rights");
    } else {
        look.ask("root", "it runs with another user's rights");
    }
}

fn by_table(look: &mut Look<'_>, base: &str, facts: &Facts) {
    let arguments = Arguments::new(look.rest(), &facts.values);
    for value in arguments.values(&facts.reads) {
        look.act(Act::Read, value);
    }
    for value in arguments.values(&facts.writes) {
        look.act(Act::Write, value);
    }
    for value in arguments.values(&facts.runs) {
        let text = value.shown();
        let program = text.split_whitespace().next().unwrap_or_default();
        if shell::is_shell(base_name(program)) {
            look.deny("run.flag", format!("a flag of `{base}` makes a shell run what it reads"));
        } else {
            look.ask("run.flag", format!("a flag of `{base}` names a program to run"));
        }
        look.nested(&text);
    }
    if arguments.has(&facts.asks) {
        look.ask("flag", format!("a flag of `{base}` makes it more than reading"));
    }
    if arguments.has(&facts.denies) {
        look.deny("flag", format!("a flag of `{base}` makes it destructive"));
    }
    written(look);
    if matches!(facts.class, Class::Build | Class::Verbs | Class::Convert) || matches!(base, "xsv" | "qsv") {
        rewritten(look);
    }
    reach::reaching_verb(look, base, facts, &arguments);
    let files = || operands::files(base, look.segment.words.get(1..).unwrap_or_default(), facts);
    match facts.class {
        Class::Print if look.is_text => {}
        Class::Print => generic(look, true),
        Class::List => {}
        Class::Read => {
            hunts(look, base, &arguments);
            trees::contents(look, base, &arguments);
            files().iter().for_each(|word| look.act(Act::Read, word));
            generic(look, false);
            if facts.skip == 0 {
                secrets_by_name(look);
            }
        }
        Class::Change => {
            let act = if only_checks(look, base) { Act::Read } else { Act::Change };
            files().iter().for_each(|word| look.act(act, word));
            compress::judge(look, base);
        }
        Class::Write => files().iter().for_each(|word| look.act(Act::Write, word)),
        Class::Directory => files().iter().for_each(|word| look.act(Act::MakeDirectory, word)),
        Class::Convert => {
            for reading in operands::readings(base, look.rest(), facts) {
                converted(look, base, &reading);
            }
            cleaned(look, base);
            generic(look, false);
            secrets_by_name(look);
        }
        Class::Build => {
            secrets_by_name(look);
            built(look, base, &arguments);
        }
        Class::Verbs => by_verb(look, base, facts, &arguments),
        Class::Ask => {
            generic(look, true);
            look.ask("program", format!("`{base}`: {}", facts.why));
        }
        Class::Deny => refuse(look, base, facts),
    }
}

/// Formatters that write nothing when they are asked to check.
const CHECKING_FORMATTERS: [&str; 8] =
    ["black", "isort", "mdformat", "prettier", "prettierd", "rustfmt", "stylua", "taplo"];
/// Beginnings of options that make such a formatter write all the same.
const WRITING_OPTIONS: [&str; 4] = ["--em", "--o", "--w", "-w"];

/// `prettier --check AGENTS.md` reads; beside an option that writes nothing is certain.
fn only_checks(look: &Look<'_>, base: &str) -> bool {
    let checks = |word: &Word| word.text().is_some_and(|text| text == "--check" || text == "--check-only");
    let may_write = |word: &Word| {
        let beginning = word.beginning();
        WRITING_OPTIONS.iter().any(|option| beginning.starts_with(option))
            || beginning.starts_with('-') && !beginning.starts_with("--") && beginning.contains('w')
            || beginning.is_empty()
            || beginning == "--"
    };
    CHECKING_FORMATTERS.contains(&base)
        && look.rest().iter().any(checks)
        && !look.rest().iter().any(may_write)
}

/// Reads all files but the last, and writes that.
fn converted(look: &mut Look<'_>, base: &str, files: &[Word]) {
    let [sources @ .., target] = files else { return };
    sources.iter().for_each(|word| look.act(Act::Read, word));
    if base == "mksquashfs" {
        trees::take(look, sources, &[]);
    }
    // `convert a.png +write FILE b.png` writes in between.
    if words::PICTURE_CONVERTERS.matches(base) {
        let written = sources.iter().filter(|word| look.place(word).steers()).cloned();
        written.collect::<Vec<Word>>().iter().for_each(|word| look.act(Act::Write, word));
    }
    let only_reads = sources.is_empty() && !words::WRITING_CONVERTERS.matches(base);
    look.act(if only_reads { Act::Read } else { Act::Write }, target);
}

/// `sphinx-build -M clean SOURCE OUTPUT` deletes everything in the output directory.
fn cleaned(look: &mut Look<'_>, base: &str) {
    if base != "sphinx-build" {
        return;
    }
    let arguments = Arguments::new(look.rest(), &["-M"]);
    let may_clean = |goal: &Word| goal.text().is_none_or(|goal| goal == "clean");
    if let Some(output) = arguments.operands.get(1).filter(|_| arguments.values(&["-M"]).any(may_clean)) {
        look.act(Act::DeleteTree, output);
    }
}

/// Programs whose first words say what they do.
fn by_verb(look: &mut Look<'_>, base: &str, facts: &Facts, arguments: &Arguments) {
    generic(look, false);
    judge_verb(look, base, facts, arguments);
    // The value of an option must not pass for the verb: `systemctl -n status stop nginx`.
    let listed: Option<Vec<Word>> =
        options::operands(base, look.rest()).map(|operands| operands.into_iter().cloned().collect());
    if let Some(operands) = listed.filter(|operands| operands.first() != arguments.operands.first()) {
        judge_verb(look, base, facts, &Arguments { flags: arguments.flags.clone(), operands });
    }
}

fn judge_verb(look: &mut Look<'_>, base: &str, facts: &Facts, arguments: &Arguments) {
    if cloud::verbs(look, base, arguments)
        || package::verbs(look, base, &arguments.operands)
        || container::verbs(look, base, arguments)
        || service::verbs(look, base, &arguments.operands)
        || verbs::judge(look, base, Stage::Verbs, &arguments.operands)
        || database::verbs(look, base, arguments)
    {
        return;
    }
    let words: Vec<String> =
        arguments.operands.iter().map_while(|word| word.text().map(Cow::into_owned)).take(3).collect();
    let phrase = |count: usize| words.get(..count).map(|words| words.join(" "));
    for count in [3, 2, 1] {
        let Some(text) = phrase(count) else { continue };
        if facts.deny.has_name(&text) {
            return look.deny("verb", format!("`{base} {text}` cannot be undone"));
        }
        if facts.ask.has_name(&text) {
            return look.ask("verb", format!("`{base} {text}` changes something outside the project"));
        }
        if facts.allow.has_name(&text) {
            return;
        }
    }
    if words.is_empty() {
        let version = arguments.has(&["--version", "-v", "-V", "--help", "-h"]);
        return if version {
        } else {
            look.ask("verb", format!("what `{base}` does without a word is not known"));
        };
    }
    let looks = |at: usize| {
        words.get(at).is_some_and(|word| {
            words::LOOKING_VERBS.matches(word)
                || word.starts_with("list-")
                || word.starts_with("describe-")
                || word.starts_with("get-")
                || word.starts_with("is-")
                || word.starts_with("show-")
        })
    };
    // The second word is the verb only behind the name of a group: `direnv allow show` allows.
    let is_group = words.first().is_some_and(|word| words::VERB_GROUPS.matches(word));
    if is_local(base)
        && (looks(0) || is_group && looks(1))
        && !words.iter().take(3).any(|word| cloud::changes(word))
    {
        return;
    }
    look.ask(
        "verb",
        format!("`{base} {}` is not known to be harmless", words.first().map_or("", String::as_str)),
    );
}

/// Programs whose looking verbs look at nothing but this machine and this project.
fn is_local(base: &str) -> bool {
    base.starts_with("systemd-") || words::LOCAL_PROGRAMS.matches(base)
}

/// A program that the table does not know.
fn unknown(look: &mut Look<'_>, name: &str, base: &str) {
    generic(look, true);
    // A runner of a build system finds the executables of the project by their names.
    let is_built =
        look.segment.through.last().is_some_and(|through| words::PROJECT_EXECUTABLE_RUNNERS.matches(through));
    if is_built && !name.contains('/') && !is_reaching(base) {
        return;
    }
    let first = look.segment.words.first().cloned().unwrap_or_default();
    // `uv run a.py` is `uv run python a.py`.
    let is_script =
        base.ends_with(".py") && look.segment.through.last().is_some_and(|through| through == "uv");
    let inside =
        (name.contains('/') || is_script) && matches!(look.place(&first), Place::Inside | Place::Regenerable);
    if !inside {
        return look.ask("program.unknown", format!("nothing is known of the program `{base}`"));
    }
    let parts: Vec<&str> = name.split('/').collect();
    let script = base
        .rsplit_once('.')
        .is_some_and(|(_, end)| matches!(end, "sh" | "bash" | "py" | "rb" | "js" | "ts" | "pl" | "out"));
    let own = script
        || parts.iter().any(|part| words::PROJECT_PROGRAM_DIRECTORIES.matches(part))
        || parts.len() == 2 && base.len() <= 24;
    // Running the project's own code is what a build does too; what it is told to reach is more.
    let reaches = look.rest().iter().any(|word| {
        let text = word.beginning();
        text.contains("://") || text.parse::<std::net::IpAddr>().is_ok() || text.contains("stratum")
    });
    if !own || reaches || is_reaching(base) {
        look.ask("program.own", format!("`{name}` is a program of the project whose effects cannot be seen"));
    }
}
