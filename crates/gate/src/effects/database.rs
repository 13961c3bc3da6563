//! Databases: statements of their clients, and migrations that lose data.

use super::argument_scan::{generic, may_match};
use super::arguments::Arguments;
use super::look::Look;
use super::place::Place;
use super::severity::Act;
use super::words;
use crate::shell::Word;
use regex::Regex;
use std::sync::LazyLock;

/// What takes data away, or makes a database run something.
static DROPS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(drop\s+(database|table|schema|user|role|index|view|collection|keyspace|owned)|truncate\s+(table\s+)?\w|delete\s+from\s+[\w.\x22`]+\s*(;|$|\x22|'|where\s+(1|true|'1'\s*=\s*'1'))|update\s+[\w.\x22`]+\s+set\s+[^;]*$|dropdatabase|\.drop\(|deletemany\(\s*\{\s*\}|remove\(\s*\{\s*\}|flushall|flushdb|shutdown|config\s+set|slaveof|replicaof|module\s+load|eval\s+.*(os\.|io\.)|alter\s+system|alter\s+(user|role)|grant\s+(all|super)|create\s+(user|role|function|extension)|copy\s+.*\bprogram\b|xp_cmdshell|into\s+(out|dump)file|load_file|sys_exec|dropuser|lo_export|pg_read_file|load_extension|writefile\()").ok()
});

/// Commands of the clients themselves that open a shell.
static ESCAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(\\!|^\s*\.(shell|system)\b|['\x22\s]\.(shell|system)\b|!sh|^\s*system\s|\bedit\(|readfile\()",
    )
    .ok()
});

/// Judges clients of databases.
pub(super) fn judge(look: &mut Look<'_>, base: &str) -> bool {
    if !words::DATABASE_CLIENTS.matches(base) {
        return false;
    }
    let words: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let mut text = words.join(" ");
    if let Some(input) = look.segment.input.as_ref().and_then(|stream| stream.text.clone()) {
        text.push(' ');
        text.push_str(&input);
    }
    generic(look, true);
    if may_match(&DROPS, &text) {
        look.deny("database", "it deletes data, or makes the database run something");
        return true;
    }
    if may_match(&ESCAPES, &text) {
        if look.privileged() {
            look.deny("root.shell", "it opens a shell with root's rights");
        }
        look.ask("database.shell", "it makes the client start a shell or open files");
        return true;
    }
    if base == "psql" && lists_tables(&words) {
        return true;
    }
    let local = matches!(base, "sqlite3" | "sqlite" | "duckdb" | "litecli");
    let lower = text.to_ascii_lowercase();
    let reads = words::DATABASE_READS.matches(&lower);
    let writes = words::DATABASE_WRITES.matches(&lower);
    if local && reads && !writes {
        let database = look.rest().iter().find(|word| !word.beginning().starts_with('-')).cloned();
        if let Some(file) = database {
            look.act(Act::Read, &file);
            if matches!(look.place(&file), Place::InHome | Place::Outside)
                && !matches!(look.place(&file), Place::Secret)
            {
                look.ask("database", "it reads a database outside the workspace");
            }
        }
        if base == "duckdb" {
            read_files(look, &text);
        }
        return true;
    }
    look.ask("database", "it works on a database");
    true
}

/// `psql -c '\\dt'`, with a database or without: descriptions of tables, from the server that the environment names.
fn lists_tables(words: &[String]) -> bool {
    let is_name =
        |word: &str| word.chars().all(|char| char.is_ascii_alphanumeric() || "_.*+ ".contains(char));
    let describes = |word: &str| {
        word.strip_prefix('\\').is_some_and(|rest| {
            (rest.starts_with('d') || matches!(rest.split(' ').next(), Some("l" | "l+" | "conninfo")))
                && is_name(rest)
        })
    };
    match words {
        [flag, command] => flag == "-c" && describes(command),
        [flag, command, name] if flag == "-c" => describes(command) && is_name(name),
        [name, flag, command] => flag == "-c" && describes(command) && is_name(name),
        _ => false,
    }
}

/// DuckDB reads files wherever a table may stand: `from 'a.csv'`, `read_json('a.json')`.
fn read_files(look: &mut Look<'_>, text: &str) {
    let quoted: Vec<Word> = text.split('\'').skip(1).step_by(2).map(Word::known).collect();
    for file in &quoted {
        look.act(Act::Read, file);
        if matches!(look.place(file), Place::InHome | Place::Outside) {
            look.ask("database", "it reads a file outside the workspace");
        }
    }
    if text.contains("||") || text.to_ascii_lowercase().contains("concat") {
        look.ask("database", "the files that it reads are not known");
    }
}

/// Migrations and frameworks by their verbs; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    if !words::FRAMEWORKS.matches(base) {
        return false;
    }
    let all: Vec<String> = look.rest().iter().map(Word::shown).collect();
    framework(look, &all, arguments.operands.first().map(Word::shown).unwrap_or_default().as_str());
    true
}

/// The verbs of a framework, wherever it is started from (`php artisan`, `python manage.py`, `npx prisma`).
pub(super) fn framework(look: &mut Look<'_>, all: &[String], first: &str) {
    let text = all.join(" ");
    if all.iter().any(|word| words::FRAMEWORK_SETTINGS.matches(word)) {
        look.ask("environment.show", "it shows settings or the environment, which may hold keys");
    }
    let loses = words::DATA_LOSSES.matches(&text)
        || matches!(first, "clean" | "drop" | "dropAll" | "drop-all" | "reset");
    if loses {
        look.deny("database", "it deletes data");
    } else if !words::FRAMEWORK_LOOKS.matches(first)
        && !first.starts_with("test")
        && !first.starts_with("lint")
        && !first.starts_with("spec")
        && !first.starts_with("make:")
    {
        look.ask("database", "it may change data");
    }
}
