//! Names and scripts that are put together, or decoded, on the way: what hides a command from a search of its text.

use super::state::Shell;
use super::value::Word;
use brush_parser::ast::{CommandPrefixOrSuffixItem as Item, SimpleCommand};

impl Shell<'_> {
    /// Does the script hold text that was encoded on this line?
    pub(super) fn was_encoded(&self, script: &str) -> bool {
        self.decoded.iter().any(|text| script.contains(text.as_str()))
    }

    /// A name that the shell puts together on the way hides what runs.
    pub(super) fn disguised(&mut self, name: &str) {
        let plain = name.trim_matches('"');
        let array = plain.starts_with("${") && (plain.contains("[@]") || plain.contains("[*]"))
            || plain == "$@" && !self.calls.is_empty();
        let variable = plain
            .strip_prefix("${")
            .and_then(|rest| rest.strip_suffix('}'))
            .or_else(|| plain.strip_prefix('$'));
        let direct = variable.is_some_and(|variable| self.plain.contains(variable));
        let list = name.contains('{') && name.contains(',') && !name.contains('$');
        if name.contains(['$', '`']) && !array && !direct || list {
            self.doubt("a program's name that is put together on the way");
        }
    }

    /// `bash -c "$text"`: a script that is nothing but a value was made elsewhere.
    pub(super) fn scripted(&mut self, words: &[Word], simple: &SimpleCommand) {
        let value = |item: &Item| matches!(item, Item::Word(word) if is_variable(&word.value) || word.value.contains("$'\\"));
        if words.first().and_then(Word::text).is_some_and(|name| super::is_shell(super::base_name(&name)))
            && words.iter().any(|word| word.is("-c"))
            && simple.suffix.iter().flat_map(|suffix| &suffix.0).any(value)
        {
            self.doubt("a script that is put together on the way");
        }
    }
}

/// Is it nothing but a variable: `$x`, `"${x}"`?
pub(super) fn is_variable(source: &str) -> bool {
    let plain = source.trim_matches('"');
    plain.strip_prefix('$').is_some_and(|rest| {
        let name = rest.trim_start_matches('{').trim_end_matches('}');
        !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    })
}
