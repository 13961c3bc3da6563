//! Normal form of rules text: the form that the compiler reads and the printer writes.
//!
//! Reminder text is removed, the card's own name and "this creature" become `~`, sentences begin
//! with a small letter unless the word is a name, and typographic characters become plain ones. A
//! line with modes is joined with its modes, so that a unit of text is one ability or one paragraph
//! of a spell.

use super::facts::CardFacts;
use crate::card::Subtype;

/// Words after "this" that stand for the object itself.
const SELF_NOUNS: [&str; 13] = [
    "creature",
    "artifact",
    "land",
    "enchantment",
    "Aura",
    "spell",
    "card",
    "Equipment",
    "permanent",
    "Vehicle",
    "planeswalker",
    "token",
    "Saga",
];

/// Names of cards that are also verbs of the rules; they are not replaced.
const VERB_NAMES: [&str; 6] = ["Regenerate", "Fear", "Counterspell", "Sacrifice", "Scry", "Discard"];

/// Verbs that begin a part of a cost.
const COST_VERBS: [&str; 10] =
    ["Sacrifice", "Discard", "Pay", "Exile", "Tap", "Untap", "Remove", "Return", "Reveal", "Put"];

/// Words before a dash that have no meaning of their own (207.2c).
const ABILITY_WORDS: [&str; 45] = [
    "adamant",
    "addendum",
    "alliance",
    "battalion",
    "celebration",
    "chroma",
    "cohort",
    "constellation",
    "converge",
    "corrupted",
    "coven",
    "delirium",
    "domain",
    "eerie",
    "eminence",
    "enrage",
    "fateful hour",
    "ferocious",
    "flurry",
    "formidable",
    "grandeur",
    "hellbent",
    "heroic",
    "imprint",
    "inspired",
    "kinship",
    "landfall",
    "lieutenant",
    "magecraft",
    "metalcraft",
    "morbid",
    "pack tactics",
    "paradox",
    "parley",
    "radiance",
    "raid",
    "rally",
    "revolt",
    "spell mastery",
    "survival",
    "sweep",
    "threshold",
    "undergrowth",
    "valiant",
    "strive",
];

/// The wording of older texts, and the current one.
const REWORDINGS: [(&str, &str); 2] =
    [("enters the battlefield", "enters"), ("enter the battlefield", "enter")];

const REPLACED_CHARACTERS: [(char, &str); 7] =
    [('−', "-"), ('’', "'"), ('‘', "'"), ('“', "\""), ('”', "\""), ('–', "-"), ('\u{a0}', " ")];

/// The paragraphs of a card's rules text in normal form.
#[must_use]
pub fn normalise(facts: &CardFacts) -> Vec<String> {
    let plain = replace_characters(&facts.oracle_text);
    let without_reminders = remove_reminders(&plain);
    let mut paragraphs: Vec<String> = Vec::new();
    for line in without_reminders.lines() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let line = replace_self(line, facts);
        let line = REWORDINGS.iter().fold(line, |line, (old, new)| line.replace(old, new));
        let line = remove_ability_word(&lower_sentences(&line)).to_owned();
        match paragraphs.last_mut() {
            // A mode belongs to the paragraph that offers it.
            Some(last) if line.starts_with('•') => {
                last.push(' ');
                last.push_str(&line);
            }
            _ => paragraphs.push(line),
        }
    }
    paragraphs
}

fn remove_ability_word(line: &str) -> &str {
    match line.split_once(" — ") {
        Some((before, rest)) if ABILITY_WORDS.contains(&before) => rest,
        _ => line,
    }
}

fn replace_characters(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match REPLACED_CHARACTERS.iter().find(|(known, _)| *known == character) {
            Some((_, replacement)) => plain.push_str(replacement),
            None => plain.push(character),
        }
    }
    plain
}

/// Removes text in parentheses, with the space before it.
pub(super) fn remove_reminders(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '(' => {
                depth += 1;
                if depth == 1 {
                    kept.truncate(kept.trim_end_matches(' ').len());
                }
            }
            ')' if depth > 0 => depth -= 1,
            '\n' => {
                depth = 0;
                kept.push('\n');
            }
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
    }
    kept
}

/// The names by which a text means its own card, longest first.
fn own_names(facts: &CardFacts) -> Vec<&str> {
    let name = facts.name.strip_prefix("A-").unwrap_or(&facts.name);
    if VERB_NAMES.contains(&name) {
        return Vec::new();
    }
    let mut names = vec![name];
    if facts.type_words().any(|word| word == "Legendary") {
        let short = [", ", " the ", " of ", " and "].iter().find_map(|mark| name.split_once(mark));
        names.extend(short.map(|(short, _)| short));
        // A hero is also called by the first name alone.
        names.extend(name.split_once(' ').map(|(first, _)| first.trim_end_matches(',')));
    }
    names
}

fn replace_self(line: &str, facts: &CardFacts) -> String {
    let mut line = line.to_owned();
    for name in own_names(facts) {
        line = replace_words(&line, name, "~", facts);
    }
    for noun in SELF_NOUNS {
        for this in ["this", "This"] {
            line = replace_words(&line, &format!("{this} {noun}"), "~", facts);
        }
    }
    line
}

/// Replaces a phrase where it stands as whole words; names of planeswalkers stay subtypes.
fn replace_words(line: &str, phrase: &str, replacement: &str, facts: &CardFacts) -> String {
    let mut result = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(phrase) {
        let starts = !before.ends_with(|character: char| character.is_alphanumeric());
        let ends = !after.starts_with(|character: char| character.is_alphanumeric());
        let is_subtype =
            after.starts_with(" planeswalker") && facts.subtype_words().any(|word| word == phrase);
        let after_named = result.ends_with("named ") || before.ends_with("named ");
        let is_part_of_name = after_named && phrase != facts.name;
        result.push_str(before);
        result.push_str(if starts && ends && !is_subtype && !is_part_of_name { replacement } else { phrase });
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Makes the first letter of every sentence, effect, mode and cost verb small.
fn lower_sentences(line: &str) -> String {
    let mut result = String::with_capacity(line.len());
    let mut rest = line;
    let mut at_start = true;
    while !rest.is_empty() {
        let word_length = rest.find(|character: char| !is_word_character(character)).unwrap_or(rest.len());
        if word_length == 0 {
            let mut characters = rest.chars();
            let Some(character) = characters.next() else { break };
            result.push(character);
            rest = characters.as_str();
            at_start = starts_sentence(&result, at_start);
            continue;
        }
        let (word, tail) = rest.split_at_checked(word_length).unwrap_or((rest, ""));
        let is_cost_verb = result.ends_with(", ") && COST_VERBS.contains(&word);
        if (at_start || is_cost_verb) && !is_name(word) {
            let mut characters = word.chars();
            result.extend(characters.next().into_iter().flat_map(char::to_lowercase));
            result.push_str(characters.as_str());
        } else {
            result.push_str(word);
        }
        at_start = false;
        rest = tail;
    }
    result
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '\'' || character == '-'
}

/// Whether the next word begins a sentence, after what was written so far.
fn starts_sentence(written: &str, at_start: bool) -> bool {
    const MARKS: [&str; 7] = [". ", ": ", "— ", "—", "• ", " \"", ".\" "];
    if written.ends_with(' ') && at_start {
        return true;
    }
    MARKS.iter().any(|mark| written.ends_with(mark)) || written == "\""
}

/// Whether a word is the name of a subtype, in the singular or plural, or a symbol such as `X`.
fn is_name(word: &str) -> bool {
    word == "X"
        || word.chars().all(|character| matches!(character, 'I' | 'V'))
        || find_subtype(word).is_some()
}

/// The subtype that a word names, in the singular or plural.
#[must_use]
pub fn find_subtype(word: &str) -> Option<(Subtype, bool)> {
    if let Some(subtype) = Subtype::find(word) {
        return Some((subtype, false));
    }
    if let Some((_, singular)) = IRREGULAR_PLURALS.iter().find(|(plural, _)| *plural == word) {
        return Subtype::find(singular).map(|subtype| (subtype, true));
    }
    let candidates = [
        word.strip_suffix("ies").map(|stem| format!("{stem}y")),
        word.strip_suffix("ves").map(|stem| format!("{stem}f")),
        word.strip_suffix("men").map(|stem| format!("{stem}man")),
        word.strip_suffix("es").map(str::to_owned),
        word.strip_suffix('s').map(str::to_owned),
    ];
    candidates.into_iter().flatten().find_map(|singular| {
        let subtype = Subtype::find(&singular)?;
        (plural_name(subtype) == word).then_some((subtype, true))
    })
}

/// Plurals of subtypes that no rule gives.
const IRREGULAR_PLURALS: [(&str, &str); 9] = [
    ("Mice", "Mouse"),
    ("Oxen", "Ox"),
    ("Cyclopes", "Cyclops"),
    ("Fungi", "Fungus"),
    ("Dwarves", "Dwarf"),
    ("Elves", "Elf"),
    ("Wolves", "Wolf"),
    ("Werewolves", "Werewolf"),
    ("Sphinxes", "Sphinx"),
];

/// Subtypes whose plural is the singular.
const INVARIANT_PLURALS: [&str; 9] =
    ["Merfolk", "Myr", "Eldrazi", "Kithkin", "Plains", "Samurai", "Moonfolk", "Treefolk", "Homarid"];

/// The plural of a subtype as rules text writes it.
#[must_use]
pub fn plural_name(subtype: Subtype) -> String {
    let name = subtype.name();
    if INVARIANT_PLURALS.contains(&name) {
        return name.to_owned();
    }
    if let Some((plural, _)) = IRREGULAR_PLURALS.iter().find(|(_, singular)| *singular == name) {
        return (*plural).to_owned();
    }
    if let Some(stem) = name.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        return format!("{stem}ies");
    }
    if name.ends_with(['s', 'x']) || name.ends_with("ch") || name.ends_with("sh") {
        return format!("{name}es");
    }
    match name.strip_suffix("man") {
        Some(stem) if stem.len() > 2 && name != "Human" && name != "Shaman" => format!("{stem}men"),
        _ => format!("{name}s"),
    }
}
