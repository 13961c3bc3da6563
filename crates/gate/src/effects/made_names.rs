//! Names that programs put together: the parts of `split`, and what `cp -b -S .md` keeps of the file that was there.
//!
//! Limit: parts are compared with the names of the table of steering files, not with every name that a pattern of it fits.

use super::look::Look;
use super::place::Place;
use super::severity::Act;
use crate::shell::Word;
use crate::steering;

/// Notes a write of what a program keeps of a file, under its name with a suffix.
pub(super) fn kept_aside(look: &mut Look<'_>, file: &Word, suffix: &Word) {
    let Some(suffix) = suffix.text() else {
        return look.ask("name.unknown", "the name under which it keeps the old file is not known");
    };
    let mut kept = file.clone();
    kept.push(&suffix, true);
    if look.place(&kept) > Place::Inside {
        look.act(Act::Write, &kept);
    }
}

/// How `split` names its parts.
pub(super) struct PartNames {
    pub(super) prefix: Word,
    pub(super) suffix: Option<Word>,
    /// Letters between the two, where they are given.
    pub(super) length: Option<usize>,
}

/// Notes writes of the parts, where one of them may be a file that steers.
pub(super) fn parts(look: &mut Look<'_>, names: &PartNames) {
    if look.place(&names.prefix) != Place::Unknown {
        look.act(Act::Write, &names.prefix);
    }
    let suffix = match names.suffix.as_ref().map(Word::text) {
        None => String::new(),
        Some(Some(suffix)) => suffix.into_owned(),
        Some(None) => return look.ask("name.unknown", "the names of the parts are not known"),
    };
    let Some(prefix) = names.prefix.text() else { return };
    let (directory, begin) = match prefix.rsplit_once('/') {
        Some((directory, begin)) => (format!("{directory}/"), begin),
        None => (String::new(), &*prefix),
    };
    let sample = "a".repeat(names.length.unwrap_or(2).clamp(1, 64));
    let mut found = vec![format!("{begin}{sample}{suffix}")];
    found.extend(steering::names().filter(|name| may_be_part(name, begin, &suffix, names.length)));
    for name in found {
        let path = Word::known(format!("{directory}{name}"));
        if look.place(&path).steers() {
            look.act(Act::Write, &path);
        }
    }
}

/// Is a name made of the prefix, letters or digits, and the suffix?
fn may_be_part(name: &str, prefix: &str, suffix: &str, length: Option<usize>) -> bool {
    let (name, prefix, suffix) = (name.to_lowercase(), prefix.to_lowercase(), suffix.to_lowercase());
    let middle = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(&suffix));
    middle.is_some_and(|middle| {
        !middle.is_empty()
            && length.is_none_or(|length| middle.len() == length)
            && middle.chars().all(|char| char.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::may_be_part;

    #[test]
    fn parts_are_told_from_names_that_split_does_not_make() {
        for (prefix, suffix, length) in
            [("AGENTS.m", "", Some(1)), ("AGENTS.", "", None), ("AGEN", ".md", Some(2)), ("", ".md", Some(6))]
        {
            assert!(may_be_part("AGENTS.md", prefix, suffix, length), "{prefix} {suffix}");
        }
        for (prefix, suffix, length) in
            [("AGENTS.m", "", Some(2)), ("AGENTS", "", None), ("AGENTS.md", "", None), ("part_", ".md", None)]
        {
            assert!(!may_be_part("AGENTS.md", prefix, suffix, length), "{prefix} {suffix}");
        }
    }
}
