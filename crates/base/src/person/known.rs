//! The table of agents and terminals that ancestors are compared with: `data/known_programs.toml`.

use super::process::Process;
use serde::Deserialize;
use std::path::Path;
use std::sync::LazyLock;

const TABLE: &str = include_str!("../../data/known_programs.toml");

/// Characters of a process name that the kernel keeps.
const MAX_COMM_CHARS: usize = 15;

/// Programs that run another program's text: what counts is the script.
const INTERPRETERS: [&str; 22] = [
    "node", "nodejs", "bun", "deno", "npx", "npm", "pnpm", "yarn", "bunx", "python", "pypy", "ruby", "perl",
    "uv", "uvx", "pipx", "sh", "bash", "dash", "zsh", "env", "electron",
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    agent: Vec<AgentRow>,
    terminal: Vec<TerminalRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentRow {
    title: String,
    names: Vec<String>,
    paths: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test of the table"))]
    examples: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TerminalRow {
    kind: TerminalKind,
    names: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the test of the table"))]
    examples: Vec<String>,
}

/// Kinds of programs that a person's shell is a child of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TerminalKind {
    /// A login on a console or from another machine; runs as root.
    Login,
    /// A window.
    Emulator,
    /// A server that keeps shells alive while no client is attached.
    Multiplexer,
    /// A program that the person's own settings name.
    Named,
}

static ROWS: LazyLock<Option<Table>> = LazyLock::new(|| toml::from_str(TABLE).ok());

/// Whether the table could be read; without it every decision is refused.
pub(super) fn is_loaded() -> bool {
    ROWS.is_some()
}

/// The title of the agent or sandbox that this process is.
pub(super) fn find_agent(process: &Process) -> Option<&'static str> {
    let rows = ROWS.as_ref()?;
    let names = process.program_names();
    let script = script_of(process);
    let path = process.exe.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    rows.agent.iter().find_map(|row| {
        let named = row.names.iter().any(|name| {
            let short: String = name.chars().take(MAX_COMM_CHARS).collect();
            names.iter().any(|known| known == name)
                || process.name.to_lowercase() == short
                || script.as_deref().is_some_and(|script| stem(script) == *name)
        });
        let placed = row.paths.iter().any(|part| {
            path.contains(part.as_str())
                || script.as_deref().is_some_and(|script| format!("/{script}/").contains(part.as_str()))
        });
        (named || placed).then_some(row.title.as_str())
    })
}

/// The kind of terminal that a program of this file name is.
pub(super) fn find_terminal(file_name: &str) -> Option<TerminalKind> {
    let rows = ROWS.as_ref()?;
    let named = |row: &&TerminalRow| row.names.iter().any(|name| name == file_name);
    rows.terminal.iter().find(named).map(|row| row.kind)
}

/// The script or module that an interpreter was started with.
fn script_of(process: &Process) -> Option<String> {
    let runs = process.program_names().iter().any(|name| {
        let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        INTERPRETERS.contains(&plain)
    });
    if !runs {
        return None;
    }
    let mut words = process.arguments.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-c" => return None,
            "-m" => return words.next().map(|module| module.replace('.', "/")),
            "exec" | "run" | "tool" | "x" | "dlx" | "start" => {}
            option if option.starts_with('-') => {}
            assignment if assignment.contains('=') && !assignment.contains('/') => {}
            script => return Some(script.to_string()),
        }
    }
    None
}

/// The file name of a script without its suffix or version.
fn stem(script: &str) -> String {
    let name =
        Path::new(script).file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.split('@').next().unwrap_or_default();
    for suffix in [".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".pl", ".sh"] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return stem.to_string();
        }
    }
    name.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(line: &str) -> Process {
        let arguments: Vec<String> = line.split(' ').map(str::to_string).collect();
        let exe = std::path::PathBuf::from(&arguments[0]);
        let name = exe.file_name().unwrap().to_string_lossy().chars().take(15).collect();
        Process { exe: Some(exe), name, arguments, ..Process::default() }
    }

    #[test]
    fn every_example_is_recognised() {
        let table: Table = toml::from_str(TABLE).unwrap();
        for row in &table.agent {
            assert!(!row.examples.is_empty(), "{}", row.title);
            for example in &row.examples {
                assert_eq!(find_agent(&process(example)), Some(row.title.as_str()), "{example}");
            }
        }
        for row in &table.terminal {
            for example in &row.examples {
                let name = Path::new(example).file_name().unwrap().to_str().unwrap();
                assert_eq!(find_terminal(name), Some(row.kind), "{example}");
            }
        }
    }

    #[test]
    fn everyday_programs_are_not_agents() {
        for line in [
            "bash",
            "-zsh",
            "/usr/bin/fish",
            "/usr/bin/tmux",
            "/usr/bin/node /srv/app/server.js",
            "vim claude.md",
            "git log claude",
            "/usr/bin/python3 manage.py runserver",
            "cargo test",
            "/usr/lib/systemd/systemd --user",
            "make codex-docs",
            "less codex",
            "/usr/bin/gnome-shell",
            "ssh host",
            "/usr/sbin/cron -f",
            "npm test",
            "/usr/bin/perl x.pl",
        ] {
            assert_eq!(find_agent(&process(line)), None, "{line}");
        }
    }

    #[test]
    fn renamed_agents_are_found_by_what_remains() {
        // The title that Claude Code gives itself, over the interpreter's own file name.
        let titled =
            Process { name: "claude".into(), arguments: vec!["claude".into()], ..process("/usr/bin/node") };
        assert_eq!(find_agent(&titled), Some("Claude Code"));
        // `exec -a bash claude`.
        let renamed = Process { arguments: vec!["bash".into()], ..process("/usr/local/bin/claude") };
        assert_eq!(find_agent(&renamed), Some("Claude Code"));
        assert_eq!(find_agent(&process("/usr/bin/npx @openai/codex@latest exec")), Some("Codex"));
        assert_eq!(find_agent(&process("/usr/bin/uvx aider-chat")), Some("aider"));
        assert_eq!(find_agent(&process("/usr/bin/env FOO=1 gemini")), Some("Gemini CLI"));
    }
}
