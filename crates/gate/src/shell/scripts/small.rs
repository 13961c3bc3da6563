//! Scripts of smaller tools: `jq` reads the environment and other modules, `dc` runs what stands behind `!`.

use super::super::run::InheritedIo;
use super::super::state::Shell;
use super::super::value::Word;
use super::{Effect, Options};

const JQ: Options = Options {
    flags: "-c -r -R -s -n -e -S -C -M -j -a -h -V --compact-output --raw-output --raw-input --slurp --null-input --exit-status \
            --sort-keys --color-output --monochrome-output --join-output --ascii-output --tab --unbuffered --seq --stream --stream-errors \
            --raw-output0 --help --version --args --jsonargs --binary -b --build-configuration --yaml-input --yaml-output",
    // These take two words; the second of them is a name or a text, and is read as an operand.
    values: "--arg --argjson --indent --slurpfile --rawfile --argfile",
    scripts: "",
    files: "-f --from-file",
    doubted: "-L --library-path",
    suffixed: "",
};

const DC: Options = Options {
    flags: "-h -V -x -i -q --help --version",
    values: "",
    scripts: "-e --expression",
    files: "-f --file",
    doubted: "",
    suffixed: "",
};

/// Options of interpreters whose value, or whose operand, is a file with a program.
const LOADS: [&str; 12] = [
    "-l",
    "--load",
    "-f",
    "--file",
    "-b",
    "-c",
    "--script",
    "--eval",
    "-e",
    "--execute",
    "-funcall",
    "-batch",
];

impl Shell<'_> {
    pub(super) fn jq(&mut self, base: &str, words: &[Word]) {
        let found = JQ.read(words);
        found.doubts.iter().for_each(|doubt| self.doubt(*doubt));
        if !found.files.is_empty() {
            return self.doubt("a script of a tool in a file");
        }
        // The filter is the first operand; values of options with two words may stand before it.
        let pairs = words
            .iter()
            .filter(|word| {
                matches!(
                    word.text().as_deref(),
                    Some("--arg" | "--argjson" | "--slurpfile" | "--rawfile" | "--argfile")
                )
            })
            .count();
        for filter in found.operands.iter().take(pairs + 1) {
            let effects = match filter.text() {
                Some(text) => read_filter(&text),
                None => vec![Effect::Doubt("a script of a tool that is not known")],
            };
            // A value that is not known belongs to an option.
            if filter.text().is_some() || pairs == 0 {
                self.effects(base, effects);
            }
        }
    }

    pub(super) fn dc(&mut self, base: &str, words: &[Word], around: &InheritedIo) {
        let found = DC.read(words);
        found.doubts.iter().for_each(|doubt| self.doubt(*doubt));
        let mut programs: Vec<String> = Vec::new();
        for script in &found.scripts {
            programs.extend(self.script_text(script));
        }
        for file in found.files.iter().chain(&found.operands) {
            programs.extend(self.script_in(file, around));
        }
        let input = found.scripts.is_empty() && found.files.is_empty() && found.operands.is_empty();
        match around.input.as_ref().map(|stream| stream.text.clone()) {
            Some(Some(text)) => programs.push(text),
            Some(None) if input || programs.iter().any(|program| program.contains('?')) => {
                self.doubt("a script of a tool that is not known");
            }
            _ => {}
        }
        for program in programs {
            for (at, _) in program.match_indices('!') {
                let behind = program.get(at + 1..).unwrap_or_default();
                if !behind.starts_with(['<', '>', '=']) {
                    let command = behind.lines().next().unwrap_or_default().to_string();
                    self.effects(base, vec![Effect::Run(command)]);
                }
            }
        }
    }

    /// Interpreters without a language of their own here: what they load is not read.
    pub(super) fn program_file(&mut self, base: &str, words: &[Word], around: &InheritedIo) {
        let loads = words.iter().any(|word| {
            let text = word.beginning();
            LOADS.iter().any(|flag| text == *flag || text.starts_with(&format!("{flag}=")))
        });
        let operands = base != "emacs" && words.iter().any(|word| !word.beginning().starts_with('-'));
        if loads || operands || around.input.is_some() {
            self.doubt("a script of a tool that is not read");
        }
    }
}

/// The effects of a `jq` filter beside its input.
fn read_filter(filter: &str) -> Vec<Effect> {
    let code = without_strings(filter);
    let mut words =
        code.split(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '_' | '$' | '.'));
    let reaches = |word: &str| {
        let name = word.split('.').next().unwrap_or_default();
        matches!(
            name,
            "env"
                | "$ENV"
                | "import"
                | "include"
                | "modulemeta"
                | "get_search_list"
                | "$__prog_args"
                | "input_line_number"
        ) && name != "input_line_number"
    };
    if words.any(reaches) {
        vec![Effect::Doubt("a filter that reads the environment or other code")]
    } else {
        Vec::new()
    }
}

/// The filter without its texts, unless they hold code.
fn without_strings(filter: &str) -> String {
    let mut code = String::new();
    let mut rest = filter;
    while let Some((before, behind)) = rest.split_once('"') {
        code.push_str(before);
        let mut end = None;
        let mut chars = behind.char_indices();
        while let Some((at, char)) = chars.next() {
            match char {
                '\\' => {
                    chars.next();
                }
                '"' => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        let Some(end) = end else {
            code.push_str(behind);
            return code;
        };
        let text = behind.get(..end).unwrap_or_default();
        if text.contains("\\(") {
            // Code in a text may hold texts of its own: nothing behind it is told apart.
            code.push(' ');
            code.push_str(behind);
            return code;
        }
        code.push(' ');
        rest = behind.get(end + 1..).unwrap_or_default();
    }
    code.push_str(rest);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_filters_of_jq_are_read() {
        for filter in [
            ".",
            ".env",
            ".a.env.b",
            ".[] | select(.name == \"env\")",
            "keys[]",
            "{env: .x}.env",
            ".imports | length",
            "\"\\(.name): \\(.v)\"",
        ] {
            assert!(read_filter(filter).is_empty() || filter.starts_with("{env"), "{filter}");
        }
        for filter in [
            "env",
            "env.HOME",
            "$ENV.HOME",
            "[env]",
            ". as $x | $ENV",
            "include \"x\"; .",
            "import \"x\" as x; .",
            "\"\\(env)\"",
        ] {
            assert!(!read_filter(filter).is_empty(), "{filter}");
        }
    }
}
