//! The compiler: facts of a card to its face with typed abilities, the whole card or nothing.

use super::facts::CardFacts;
use super::grammar::{ParagraphError, parse_paragraph, print_paragraph};
use super::normalise::normalise;
use super::overrides::find_override;
use crate::ability::{
    Ability, Change, Duration, Effect, EventPattern, EventRole, Filter, Instruction, Selector, Zone,
};
use crate::card::{CardFace, CardType, Color, ColorSet, ManaCost, Subtype, Supertype};
use serde::Serialize;
use thiserror::Error;

/// Why a card is not supported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Error)]
#[serde(rename_all = "snake_case", tag = "kind", content = "value")]
pub enum DeclineReason {
    #[error("the layout `{0}` has more than one face")]
    Layout(String),
    #[error("`{0}` is not a card type that the engine knows")]
    Type(String),
    #[error("`{0}` is not a subtype that the engine knows")]
    Subtype(String),
    #[error("`{0}` is not a mana cost")]
    ManaCost(String),
    #[error("`{0}` is not a number")]
    Number(String),
    #[error("no rule of the grammar reads it")]
    Unread,
    #[error("it has two readings")]
    Ambiguous,
    #[error("it would be printed as `{0}`")]
    Printed(String),
}

/// A card that is not supported: the first line that was declined, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Error)]
#[error("cannot compile `{line}`: {reason}")]
pub struct Decline {
    /// The line of the rules text in normal form; the type line or cost where that is the reason.
    pub line: String,
    pub reason: DeclineReason,
}

/// Compiles the card.
pub fn compile(facts: &CardFacts) -> Result<CardFace, Decline> {
    let decline = |line: &str, reason| Decline { line: line.to_owned(), reason };
    if !facts.has_one_face() {
        return Err(decline(&facts.type_line, DeclineReason::Layout(facts.layout.clone())));
    }
    let mut face = compile_facts(facts)?;
    let is_spell = face.has_type(CardType::Instant) || face.has_type(CardType::Sorcery);
    let lines = normalise(facts);
    if let Some(abilities) = overridden(&lines.join("\n"), is_spell)? {
        face.abilities = abilities;
        name_abilities(&mut face.abilities, None);
        return Ok(face);
    }
    let mut spell_lines: Vec<String> = Vec::new();
    for line in lines {
        let mut abilities = read_line(&line, is_spell)?;
        name_abilities(&mut abilities, Some(&line));
        if matches!(abilities.as_slice(), [Ability::Spell(_)]) {
            spell_lines.push(line);
        } else {
            face.abilities.extend(abilities);
        }
    }
    // The paragraphs of a spell are one effect: "it" and "that creature" reach across them.
    if !spell_lines.is_empty() {
        face.abilities.extend(read_line(&spell_lines.join(" "), is_spell)?);
    }
    link_exile(&mut face.abilities);
    link_player(&mut face.abilities);
    define_color(&mut face);
    Ok(face)
}

/// The text of one ability in normal form, if the grammar can print it.
pub(crate) fn print_ability(ability: &Ability) -> Option<String> {
    print_paragraph(&vec![ability.clone()], false, None)
}

/// Gives activated abilities the text by which they are named: their line, or what is printed.
fn name_abilities(abilities: &mut [Ability], line: Option<&str>) {
    let is_single = abilities.len() == 1;
    for ability in abilities {
        let printed = match line.filter(|_| is_single) {
            Some(line) => Some(line.to_owned()),
            None => print_ability(ability),
        };
        if let Ability::Activated(activated) = ability
            && activated.text.is_empty()
        {
            activated.text = printed.unwrap_or_default();
        }
    }
}

/// "Exile target creature" with "return the exiled card" in another ability is one pair (607.2a).
fn link_exile(abilities: &mut [Ability]) {
    let names_link =
        |ability: &Ability| match ability {
            Ability::Triggered(triggered) => triggered.body.effects.iter().any(|instruction| {
                matches!(&instruction.effect, Effect::Move { what: Selector::Linked, .. })
            }),
            _ => false,
        };
    if !abilities.iter().any(names_link) {
        return;
    }
    for ability in abilities {
        if let Ability::Triggered(triggered) = ability {
            triggered.body.effects.iter_mut().for_each(link_instruction);
        }
    }
}

/// "When ~ leaves the battlefield, that player gains 6 life" means the target of the ability of
/// entering (607.2): that one makes a delayed trigger, which keeps its target.
fn link_player(abilities: &mut Vec<Ability>) {
    let Some(leaving) = abilities.iter().position(gives_back) else { return };
    let Some(entering) = abilities.iter().position(targets_player) else { return };
    let Some(Ability::Triggered(mut trigger)) = abilities.get(leaving).cloned() else { return };
    for instruction in &mut trigger.body.effects {
        if let Effect::GainLife { who, .. } = &mut instruction.effect {
            *who = Selector::Target(0);
        }
    }
    let delayed = Effect::DelayedTrigger { trigger, once: true, until: Duration::Forever };
    if let Some(Ability::Triggered(entering)) = abilities.get_mut(entering) {
        entering.body.effects.push(delayed.into());
        abilities.remove(leaving);
    }
}

/// Whether an ability of leaving the battlefield lets "that player" gain life.
fn gives_back(ability: &Ability) -> bool {
    let Ability::Triggered(triggered) = ability else { return false };
    let leaving = EventPattern::ZoneChange { what: Filter::This, from: Some(Zone::Battlefield), to: None };
    let player = Selector::Event(EventRole::Player);
    triggered.events == [leaving]
        && triggered
            .body
            .effects
            .iter()
            .all(|instruction| matches!(&instruction.effect, Effect::GainLife { who, .. } if *who == player))
}

/// Whether an ability of entering has one target, a player.
fn targets_player(ability: &Ability) -> bool {
    let Ability::Triggered(triggered) = ability else { return false };
    let entering = EventPattern::ZoneChange { what: Filter::This, from: None, to: Some(Zone::Battlefield) };
    let is_at_player = matches!(triggered.body.targets.as_slice(), [spec] if spec.filter == Filter::Player);
    triggered.events == [entering] && is_at_player
}

/// "~ is colorless" defines a characteristic, which holds in all zones (604.3).
fn define_color(face: &mut CardFace) {
    let is_colorless = |ability: &Ability| {
        matches!(ability, Ability::Static(fixed) if fixed.affected == Selector::This
            && fixed.condition.is_none()
            && fixed.changes == [Change::SetColors(ColorSet::EMPTY)])
    };
    if face.abilities.iter().any(is_colorless) {
        face.colors = ColorSet::EMPTY;
    }
}

fn link_instruction(instruction: &mut Instruction) {
    match &mut instruction.effect {
        Effect::Exile { what } => instruction.effect = Effect::ExileLinked { what: what.clone() },
        Effect::May { then, .. } | Effect::MayPay { then, .. } | Effect::If { then, .. } => {
            then.iter_mut().for_each(link_instruction);
        }
        _ => {}
    }
}

/// The abilities that an override gives for the text.
fn overridden(text: &str, is_spell: bool) -> Result<Option<Vec<Ability>>, Decline> {
    let Some(entry) = find_override(text) else { return Ok(None) };
    let mut abilities = entry.abilities.clone();
    for line in &entry.lines {
        abilities.extend(read_line(line, is_spell)?);
    }
    Ok(Some(abilities))
}

/// Reads one paragraph and prints it back.
pub(super) fn read_line(line: &str, is_spell: bool) -> Result<Vec<Ability>, Decline> {
    let decline = |reason| Decline { line: line.to_owned(), reason };
    if let Some(abilities) = overridden(line, is_spell)? {
        return Ok(abilities);
    }
    let abilities = parse_paragraph(line, is_spell).map_err(|error| {
        decline(match error {
            ParagraphError::Unread => DeclineReason::Unread,
            ParagraphError::Ambiguous => DeclineReason::Ambiguous,
        })
    })?;
    if print_paragraph(&abilities, is_spell, Some(line)).as_deref() != Some(line) {
        let printed = print_paragraph(&abilities, is_spell, None).unwrap_or_default();
        return Err(decline(DeclineReason::Printed(printed)));
    }
    Ok(abilities)
}

/// Everything but the abilities.
fn compile_facts(facts: &CardFacts) -> Result<CardFace, Decline> {
    let mut face =
        CardFace { name: facts.name.clone(), text: facts.oracle_text.clone(), ..CardFace::default() };
    let decline = |line: &str, reason| Decline { line: line.to_owned(), reason };
    for word in facts.type_words() {
        if let Some(supertype) = Supertype::find(word) {
            face.supertypes.insert(supertype);
        } else if let Some(card_type) = CardType::find(word) {
            face.types.insert(card_type);
        } else {
            return Err(decline(&facts.type_line, DeclineReason::Type(word.to_owned())));
        }
    }
    for word in facts.subtype_words() {
        let subtype = Subtype::find(word)
            .ok_or_else(|| decline(&facts.type_line, DeclineReason::Subtype(word.to_owned())))?;
        face.subtypes.push(subtype);
    }
    if !facts.mana_cost.is_empty() {
        let cost: ManaCost = facts
            .mana_cost
            .parse()
            .map_err(|_| decline(&facts.mana_cost, DeclineReason::ManaCost(facts.mana_cost.clone())))?;
        face.colors = cost.colors();
        face.mana_cost = Some(cost);
    }
    let colors: ColorSet =
        facts.colors.iter().filter_map(|letter| Color::from_letter(&letter.to_string())).collect();
    face.colors = face.colors.union(colors);
    face.power = compile_number(facts.power.as_deref())?;
    face.toughness = compile_number(facts.toughness.as_deref())?;
    face.loyalty = match facts.loyalty.as_deref() {
        Some(text) => Some(text.parse().map_err(|_| decline(text, DeclineReason::Number(text.to_owned())))?),
        None => None,
    };
    Ok(face)
}

/// Power or toughness; a star is 0 and has an ability that defines it.
fn compile_number(text: Option<&str>) -> Result<Option<i32>, Decline> {
    match text {
        None => Ok(None),
        Some("*" | "1+*") => Ok(Some(0)),
        Some(text) => text
            .parse()
            .map(Some)
            .map_err(|_| Decline { line: text.to_owned(), reason: DeclineReason::Number(text.to_owned()) }),
    }
}
