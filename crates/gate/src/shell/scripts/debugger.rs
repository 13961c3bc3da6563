//! Commands of debuggers: only those that look are certain.

use super::super::state::Shell;
use super::super::value::Word;
use super::Effect;

/// Commands of `gdb` that look, or run the program that is debugged.
const GDB_LOOKS: &str = "bt backtrace where info list l quit q run r start c continue n next s step finish up down frame f thread \
    threads x disassemble disas break b tbreak delete until kill watch set show file help display ptype whatis p print";
/// Commands of `lldb` that look.
const LLDB_LOOKS: &str = "bt run r continue c quit q n s next step finish up down frame thread disassemble b breakpoint register help \
    process image target version";
/// Settings that change nothing outside of the debugger.
const SETTINGS: &str = "pagination confirm width height print disassembly-flavor style args listsize verbose";

const GDB_FLAGS: &str = "-batch --batch -q -quiet --quiet -silent --silent -nx --nx -n -nh --nh -batch-silent --args -args -nw --nw \
    -return-child-result --return-child-result";
const LLDB_FLAGS: &str = "--batch -b --no-lldbinit -x -X --no-use-colors -Q --source-quietly --";

fn lists(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|own| own == name)
}

impl Shell<'_> {
    pub(super) fn gdb(&mut self, base: &str, words: &[Word]) {
        self.debugger(
            base,
            words,
            &["-ex", "-iex", "-eval-command", "-init-eval-command"],
            GDB_FLAGS,
            GDB_LOOKS,
        );
    }

    pub(super) fn lldb(&mut self, base: &str, words: &[Word]) {
        self.debugger(
            base,
            words,
            &["-o", "-O", "-k", "-one-line", "-one-line-before-file"],
            LLDB_FLAGS,
            LLDB_LOOKS,
        );
    }

    fn debugger(&mut self, base: &str, words: &[Word], commands: &[&str], flags: &str, looks: &str) {
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let text = word.beginning();
            if !text.starts_with('-') {
                continue;
            }
            if lists(flags, &text) {
                if matches!(&*text, "--args" | "-args" | "--") {
                    return;
                }
                continue;
            }
            let long =
                text.strip_prefix('-').filter(|text| text.starts_with('-')).unwrap_or(&text).to_string();
            let (name, attached) = match long.split_once('=') {
                Some((name, value)) => (name.to_string(), Some(value.to_string())),
                None => (long, None),
            };
            if !commands.contains(&name.as_str()) {
                self.doubt("an option of a debugger that is not known");
                continue;
            }
            let command = match attached {
                Some(value) if word.text().is_some() => Some(value),
                Some(_) => None,
                None => rest.next().and_then(|word| word.text().map(std::borrow::Cow::into_owned)),
            };
            match command {
                Some(command) => {
                    let effects = read(&command, looks);
                    self.effects(base, effects);
                }
                None => self.doubt("a command of a debugger that is not known"),
            }
        }
    }
}

/// The effects of a debugger's command.
fn read(command: &str, looks: &str) -> Vec<Effect> {
    let command = command.trim();
    let (name, rest) = command
        .split_once(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '-' | '_'))
        .unwrap_or((command, ""));
    if let Some(run) = command.strip_prefix('!') {
        return vec![Effect::Run(run.to_string())];
    }
    if name == "shell" || command.starts_with("platform shell") {
        return vec![Effect::Run(rest.trim_start_matches("shell ").to_string())];
    }
    let setting = name != "set" || rest.split_whitespace().next().is_some_and(|name| lists(SETTINGS, name));
    // A call in an expression runs a function of the program; a pipe or a redirection leaves the debugger.
    let calls =
        rest.contains(['(', '|', '>', '`', '<', ';']) || rest.contains("--command") || rest.contains("-s ");
    if lists(looks, name) && setting && !calls {
        Vec::new()
    } else {
        vec![Effect::Doubt("a command of a debugger that may do more than look")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_commands_of_debuggers_are_read() {
        for command in [
            "bt",
            "info threads",
            "thread apply all bt",
            "p x",
            "x/10i $pc",
            "set pagination off",
            "run",
            "quit",
            "list main",
        ] {
            assert_eq!(read(command, GDB_LOOKS), [], "{command}");
        }
        for command in [
            "shell id",
            "!id",
            "python import os",
            "source x",
            "pipe info | sh",
            "make x",
            "call system(\"id\")",
            "p system(\"id\")",
            "dump memory x 0 1",
            "set logging file x",
            "set auto-load safe-path /",
            "define x",
            "dprintf main, \"x\"",
            "target remote | sh",
        ] {
            assert_ne!(read(command, GDB_LOOKS), [], "{command}");
        }
        assert_eq!(read("bt", LLDB_LOOKS), []);
        for command in [
            "platform shell id",
            "script import os",
            "command script import x.py",
            "shell id",
            "expr (int)system(\"id\")",
        ] {
            assert_ne!(read(command, LLDB_LOOKS), [], "{command}");
        }
    }
}
