//! Paragraphs: one ability each, or a line of keywords.

use super::body::BodyPhrase;
use super::condition::{ActivationTime, ConditionPhrase};
use super::core::{Context, Input, ParseResult, Phrase, Printer, attempt, has_word, longest, word};
use super::cost::CostPhrase;
use super::event::Events;
use super::keyword::KeywordLine;
use super::statics::StaticPhrase;
use super::words::ColorName;
use crate::ability::{
    Ability, ActivatedAbility, Body, Cost, CostPart, Effect, EventPattern, Selector, TriggeredAbility, Zone,
};
use thiserror::Error;
use winnow::error::EmptyError;
use winnow::stream::Stateful;

/// Why a paragraph has no meaning for the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum ParagraphError {
    #[error("no rule of the grammar reads it")]
    Unread,
    #[error("it has two readings")]
    Ambiguous,
}

/// Reads a paragraph in normal form.
pub(crate) fn parse_paragraph(text: &str, is_spell: bool) -> Result<Vec<Ability>, ParagraphError> {
    let mut input = Stateful { input: text, state: Context::default() };
    let parsed = if is_spell { SPELL_PARAGRAPH.parse(&mut input) } else { PARAGRAPH.parse(&mut input) };
    let abilities = parsed.map_err(|_| ParagraphError::Unread)?;
    if !input.input.is_empty() {
        return Err(ParagraphError::Unread);
    }
    if input.state.is_ambiguous { Err(ParagraphError::Ambiguous) } else { Ok(abilities) }
}

/// Writes abilities as one paragraph; of equal wordings the one in the guide.
pub(crate) fn print_paragraph(
    abilities: &Vec<Ability>,
    is_spell: bool,
    guide: Option<&str>,
) -> Option<String> {
    let mut out = Printer::new(guide, Context::default());
    let is_printed = if is_spell {
        SPELL_PARAGRAPH.print(abilities, &mut out)
    } else {
        PARAGRAPH.print(abilities, &mut out)
    };
    if is_printed { out.finish() } else { None }
}

/// A paragraph of a permanent or of a spell.
#[derive(Debug, Clone, Copy)]
struct Paragraph {
    is_spell: bool,
}

const PARAGRAPH: Paragraph = Paragraph { is_spell: false };
const SPELL_PARAGRAPH: Paragraph = Paragraph { is_spell: true };

impl Phrase for Paragraph {
    type Value = Vec<Ability>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Vec<Ability>> {
        if self.is_spell {
            return longest(
                input,
                &[
                    |input| KeywordLine.parse(input),
                    |input| StaticPhrase.parse(input).map(|ability| vec![ability]),
                    |input| Triggered.parse(input).map(|ability| vec![ability]),
                    |input| Activated.parse(input).map(|ability| vec![ability]),
                    |input| BodyPhrase.parse(input).map(|body| vec![Ability::Spell(body)]),
                ],
            );
        }
        longest(
            input,
            &[
                |input| KeywordLine.parse(input),
                |input| StaticPhrase.parse(input).map(|ability| vec![ability]),
                |input| Triggered.parse(input).map(|ability| vec![ability]),
                |input| Activated.parse(input).map(|ability| vec![ability]),
            ],
        )
    }

    fn print(&self, value: &Vec<Ability>, out: &mut Printer<'_>) -> bool {
        match value.as_slice() {
            [Ability::Spell(body)] if self.is_spell => BodyPhrase.print(body, out),
            [ability @ Ability::Triggered(_)] => Triggered.print(ability, out),
            [ability @ Ability::Activated(_)] => Activated.print(ability, out),
            [ability] if out.attempt(|out| StaticPhrase.print(ability, out)) => true,
            _ => KeywordLine.print(value, out),
        }
    }
}

/// "When ~ enters, draw a card."
#[derive(Debug, Clone, Copy)]
struct Triggered;

impl Phrase for Triggered {
    type Value = Ability;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Ability> {
        if let Ok(chapters) = attempt(input, parse_chapters) {
            return BodyPhrase.parse(input).map(|body| chapter_ability(chapters, body));
        }
        let (events, batch) = Events.parse(input)?;
        word(input, ", ")?;
        let condition = attempt(input, |input| {
            word(input, "if ")?;
            let condition = ConditionPhrase.parse(input)?;
            word(input, ", ")?;
            Ok(condition)
        })
        .ok();
        let body = BodyPhrase.parse(input)?;
        let per_turn = has_word(input, " this ability triggers only once each turn.").then_some(1);
        let zone = graveyard_zone(&body);
        Ok(Ability::Triggered(Box::new(TriggeredAbility {
            events,
            batch,
            condition,
            body,
            per_turn,
            zone,
            text: String::new(),
        })))
    }

    fn print(&self, value: &Ability, out: &mut Printer<'_>) -> bool {
        let Ability::Triggered(ability) = value else { return false };
        if let [EventPattern::Chapter(chapters)] = ability.events.as_slice() {
            return print_chapters(chapters, out) && BodyPhrase.print(&ability.body, out);
        }
        Events.print(&(ability.events.clone(), ability.batch), out)
            && out.word(", ")
            && ability.condition.as_ref().is_none_or(|condition| {
                out.word("if ") && ConditionPhrase.print(condition, out) && out.word(", ")
            })
            && BodyPhrase.print(&ability.body, out)
            && (ability.per_turn.is_none() || out.word(" this ability triggers only once each turn."))
    }
}

/// Numbers of chapters (714.2b).
const CHAPTERS: [&str; 6] = ["I", "II", "III", "IV", "V", "VI"];

fn chapter_ability(chapters: Vec<u8>, body: Body) -> Ability {
    Ability::Triggered(Box::new(TriggeredAbility {
        events: vec![EventPattern::Chapter(chapters)],
        batch: false,
        condition: None,
        body,
        per_turn: None,
        zone: None,
        text: String::new(),
    }))
}

/// "I, II — ".
fn parse_chapters(input: &mut Input<'_>) -> ParseResult<Vec<u8>> {
    let (numbers, _) = input.input.split_once(" — ").ok_or(EmptyError)?;
    let mut chapters = Vec::new();
    for number in numbers.split(", ") {
        let position = CHAPTERS.iter().position(|known| *known == number).ok_or(EmptyError)?;
        chapters.push(u8::try_from(position + 1).map_err(|_| EmptyError)?);
    }
    super::words::skip(input, numbers);
    word(input, " — ")?;
    input.state.mention(&Selector::This);
    Ok(chapters)
}

fn print_chapters(chapters: &[u8], out: &mut Printer<'_>) -> bool {
    let names: Option<Vec<&str>> =
        chapters.iter().map(|chapter| CHAPTERS.get(usize::from(*chapter).checked_sub(1)?).copied()).collect();
    out.context.mention(&Selector::This);
    names.is_some_and(|names| out.word(&names.join(", "))) && out.word(" — ")
}

/// The graveyard, if the ability returns its own source from there.
fn graveyard_zone(body: &Body) -> Option<Zone> {
    returns_itself(&body.effects).then_some(Zone::Graveyard)
}

fn returns_itself(effects: &[crate::ability::Instruction]) -> bool {
    effects.iter().any(|instruction| match &instruction.effect {
        Effect::Move { what: Selector::Matching { from, .. }, .. } => **from == Selector::This,
        Effect::May { then, .. } | Effect::MayPay { then, .. } | Effect::If { then, .. } => {
            returns_itself(then)
        }
        _ => false,
    })
}

/// "{T}: Add {G}."
#[derive(Debug, Clone, Copy)]
struct Activated;

const AS_A_SORCERY: &str = " activate only as a sorcery.";
const ONCE: &str = " activate only once each turn.";
const X_ONLY: &str = " spend only ";
const X_MANA: &str = " mana on X.";
const ANY_PLAYER: &str = " any player may activate this ability.";

impl Phrase for Activated {
    type Value = Ability;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Ability> {
        let start = input.input;
        let cost = CostPhrase.parse(input)?;
        let cost_text = start.strip_suffix(input.input).unwrap_or(start);
        word(input, ": ")?;
        input.state.mention(&Selector::This);
        let body = BodyPhrase.parse(input)?;
        let mut ability = ActivatedAbility {
            zone: activation_zone(cost_text, &cost, &body),
            cost,
            body,
            sorcery_speed: false,
            condition: None,
            per_turn: None,
            any_player: false,
            text: String::new(),
        };
        parse_limits(input, &mut ability)?;
        Ok(Ability::Activated(Box::new(ability)))
    }

    fn print(&self, value: &Ability, out: &mut Printer<'_>) -> bool {
        let Ability::Activated(ability) = value else { return false };
        if !CostPhrase.print(&ability.cost, out) || !out.word(": ") {
            return false;
        }
        out.context.mention(&Selector::This);
        BodyPhrase.print(&ability.body, out) && print_limits(ability, out)
    }
}

fn parse_limits(input: &mut Input<'_>, ability: &mut ActivatedAbility) -> ParseResult<()> {
    if has_word(input, X_ONLY) {
        ability.cost.x_color = Some(ColorName.parse(input)?);
        word(input, X_MANA)?;
    }
    if has_word(input, AS_A_SORCERY) {
        ability.sorcery_speed = true;
    } else if has_word(input, " activate only as a sorcery and only once each turn.") {
        (ability.sorcery_speed, ability.per_turn) = (true, Some(1));
    } else if has_word(input, " activate only as a sorcery and only ") {
        ability.sorcery_speed = true;
        ability.condition = Some(ActivationTime.parse(input)?);
        word(input, ".")?;
    } else if has_word(input, ONCE) {
        ability.per_turn = Some(1);
    } else if has_word(input, " activate only ") {
        ability.condition = Some(ActivationTime.parse(input)?);
        if has_word(input, " and only once each turn") {
            ability.per_turn = Some(1);
        }
        word(input, ".")?;
    }
    ability.any_player = has_word(input, ANY_PLAYER);
    Ok(())
}

fn print_limits(ability: &ActivatedAbility, out: &mut Printer<'_>) -> bool {
    let is_colored = ability
        .cost
        .x_color
        .is_none_or(|color| out.word(X_ONLY) && ColorName.print(&color, out) && out.word(X_MANA));
    if !is_colored {
        return false;
    }
    let is_limited = match (ability.sorcery_speed, ability.per_turn, &ability.condition) {
        (false, None, None) => true,
        (true, None, None) => out.word(AS_A_SORCERY),
        (true, Some(1), None) => out.word(" activate only as a sorcery and only once each turn."),
        (true, None, Some(condition)) => {
            out.word(" activate only as a sorcery and only ")
                && ActivationTime.print(condition, out)
                && out.word(".")
        }
        (false, Some(1), None) => out.word(ONCE),
        (false, per_turn, Some(condition)) => {
            out.word(" activate only ")
                && ActivationTime.print(condition, out)
                && (per_turn.is_none() || out.word(" and only once each turn"))
                && out.word(".")
        }
        _ => false,
    };
    is_limited && (!ability.any_player || out.word(ANY_PLAYER))
}

/// The zone from which an ability is activated: that in which its cost or its effect needs the source.
fn activation_zone(cost_text: &str, cost: &Cost, body: &Body) -> Zone {
    if cost.parts.contains(&CostPart::DiscardThis) {
        return Zone::Hand;
    }
    let is_grave = cost_text.ends_with("exile ~ from your graveyard") || returns_itself(&body.effects);
    if is_grave { Zone::Graveyard } else { Zone::Battlefield }
}

/// An ability in quotation marks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quotation;

impl Phrase for Quotation {
    type Value = Ability;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Ability> {
        word(input, "\"")?;
        let outer = std::mem::take(&mut input.state);
        let mut abilities = PARAGRAPH.parse(input)?;
        let is_ambiguous = input.state.is_ambiguous;
        input.state = outer;
        input.state.is_ambiguous |= is_ambiguous;
        word(input, "\"")?;
        input.state.after_quote = true;
        match (abilities.pop(), abilities.is_empty()) {
            (Some(ability), true) => Ok(ability),
            _ => Err(EmptyError),
        }
    }

    fn print(&self, value: &Ability, out: &mut Printer<'_>) -> bool {
        if !out.word("\"") {
            return false;
        }
        let outer = std::mem::take(&mut out.context);
        let is_printed = PARAGRAPH.print(&vec![value.clone()], out);
        out.context = outer;
        out.context.after_quote = true;
        is_printed && out.word("\"")
    }
}
