//! Exit codes and outputs that are kept in variables: each must be looked at, whatever happens, before the line ends.
//!
//! `check; rc=$?; …; exit $rc`, `check || failed=1; …; [ $failed = 0 ]`, `out=$(check); [ "$out" = … ]`

use super::words;
use super::{Code, Mask, Proof};
use brush_parser::ast::{
    AndOrList, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, Pipeline,
};

/// Something that a variable holds and that was not looked at yet.
#[derive(Debug, Clone)]
pub(super) struct Voice {
    /// How many branches were around that may be skipped.
    level: usize,
    /// Whether more than one may be kept in it: it is only ever set to a failure.
    pub(super) gathers: bool,
    mask: Mask,
}

impl Proof {
    /// Something must be looked at from now on.
    pub(super) fn expect(&mut self, name: &str, part: &str, gathers: bool) {
        let why =
            format!("is kept in `{name}`, which is not looked at in every case, or is overwritten before");
        let mend = if part.starts_with(&format!("{name}=$(")) || part.starts_with(&format!("{name}=\"$(")) {
            format!("compare it with something: `[ \"${name}\" = … ]`, or write `&&` behind it")
        } else {
            format!("end with `[ ${name} = 0 ]` or `exit ${name}`, or join the commands with `&&`")
        };
        let mask = Mask::new(part, why, mend);
        self.voices.insert(name.to_string(), Voice { level: self.skips, gathers, mask });
    }

    /// A word is looked at.
    pub(super) fn hear(&mut self, source: &str) {
        if !self.voices.is_empty() {
            self.hear_names(&words::variables(source));
        }
    }

    pub(super) fn hear_names(&mut self, names: &[String]) {
        let skips = self.skips;
        self.voices.retain(|name, voice| !(names.contains(name) && skips <= voice.level));
    }

    /// A variable gets another value before anybody looked at it.
    pub(super) fn overwritten(&mut self, name: &str, code: &Code) {
        if let Some(voice) = self.voices.get(name)
            && code.pass
            && !(voice.gathers && self.skips > voice.level)
        {
            let mask = voice.mask.clone();
            self.refuse(mask);
        }
    }

    /// What may be skipped: what is looked at only there is not looked at.
    pub(super) fn skippable<T>(&mut self, walk: impl FnOnce(&mut Self) -> T) -> T {
        self.skips += 1;
        let result = self.maybe(walk);
        self.skips -= 1;
        for voice in self.voices.values_mut() {
            voice.level = voice.level.min(self.skips);
        }
        result
    }

    /// What is left of something with variables of its own.
    pub(super) fn unheard_of(&self, before: &[String]) -> Option<Mask> {
        let mut new = self.voices.iter().filter(|(name, _)| !before.contains(name));
        new.next().map(|(_, voice)| voice.mask.clone())
    }

    /// The first that nobody looked at.
    pub(super) fn silent_voice(&self) -> Option<Mask> {
        self.voices.values().next().map(|voice| voice.mask.clone())
    }

    /// In a loop a variable that is set anew in every round keeps only the last.
    pub(super) fn after_rounds(&mut self, before: &[String]) {
        let lost = self.voices.iter().find(|(name, voice)| !before.contains(name) && !voice.gathers);
        if let Some((_, voice)) = lost {
            let mask = voice.mask.clone();
            self.refuse(mask);
        }
    }

    /// The variable that a fallback sets to something that stands for a failure.
    pub(super) fn marks(&self, pipeline: &Pipeline) -> Option<String> {
        let [command] = pipeline.seq.as_slice() else { return None };
        match command {
            Command::Simple(simple) if simple.word_or_name.is_none() => {
                let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
                items.filter_map(|item| self.mark(item)).next()
            }
            Command::Compound(CompoundCommand::BraceGroup(group), _) => self.marks_in(&group.list),
            Command::Compound(CompoundCommand::Arithmetic(sum), _) => counts(&sum.expr.value),
            _ => None,
        }
    }

    /// The same for commands one after the other.
    pub(super) fn marks_in(&self, list: &CompoundList) -> Option<String> {
        let plain = |list: &&AndOrList| list.additional.is_empty() && !list.first.bang;
        let chains = list.0.iter().map(|item| &item.0).filter(plain);
        chains.filter_map(|chain| self.marks(&chain.first)).next()
    }

    fn mark(&self, item: &Item) -> Option<String> {
        use brush_parser::ast::AssignmentValue;
        let Item::AssignmentWord(assignment, _) = item else { return None };
        let name = words::assigned(assignment);
        let stands = match &assignment.value {
            AssignmentValue::Array(items) => assignment.append && !items.is_empty(),
            AssignmentValue::Scalar(word) if assignment.append => words::is_never_empty(&word.value),
            AssignmentValue::Scalar(word) => match self.text(&word.value) {
                Some(text) => !matches!(text.trim(), "" | "0" | "true" | "ok"),
                // `failed=$?`, `failed=$((failed + 1))`, `failed="$failed $t"`
                None => {
                    let source = &word.value;
                    source == "$?"
                        || words::variables(source).contains(&name)
                            && (source.contains("+ 1")
                                || source.contains("+1")
                                || words::is_never_empty(source) && !source.contains("$(("))
                }
            },
        };
        stands.then_some(name)
    }
}

/// `((failed++))`, `((failed += 1))`
fn counts(sum: &str) -> Option<String> {
    let sum: String = sum.chars().filter(|char| !char.is_whitespace()).collect();
    let name = sum
        .strip_suffix("++")
        .or_else(|| sum.strip_prefix("++"))
        .or_else(|| sum.strip_suffix("+=1"))
        .or_else(|| sum.strip_suffix("=1"))?;
    let plain = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    (plain && !name.is_empty()).then(|| name.to_string())
}

/// The variables that a command sets from what programs print, if it does nothing else.
pub(super) fn set_by(pipeline: &Pipeline) -> Vec<String> {
    let [Command::Simple(simple)] = pipeline.seq.as_slice() else { return Vec::new() };
    if simple.word_or_name.is_some() || pipeline.bang {
        return Vec::new();
    }
    let items = simple.prefix.iter().flat_map(|prefix| &prefix.0);
    let names = items.filter_map(|item| match item {
        Item::AssignmentWord(assignment, _) => Some(words::assigned(assignment)),
        _ => None,
    });
    names.collect()
}
