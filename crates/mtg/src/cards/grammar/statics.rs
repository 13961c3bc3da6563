//! Static abilities, replacement effects, costs and rules of permanents and spells.

use super::amount::AmountPhrase;
use super::change::Predicates;
use super::condition::ConditionPhrase;
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, longest, word};
use super::cost::Counters;
use super::costing::{Costing, Rule};
use super::noun::{Noun, PLURAL};
use super::object::{Object, Objects};
use crate::ability::{
    Ability, Amount, Change, ChoiceKind, Condition, CounterKind, Filter, Replacement, ReplacementAction,
    ReplacementPattern, Restriction, Selector, StaticAbility, Zone,
};
use winnow::error::EmptyError;

/// One static ability with its full stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StaticPhrase;

impl Phrase for StaticPhrase {
    type Value = Ability;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Ability> {
        let ability = longest(
            input,
            &[
                |input| Continuous.parse(input),
                |input| Entering.parse(input),
                |input| Costing.parse(input),
                |input| Rule.parse(input),
                |input| SizeDefinition.parse(input),
            ],
        )?;
        if !input.state.after_quote || input.input.starts_with('.') {
            word(input, ".")?;
        }
        Ok(ability)
    }

    fn print(&self, value: &Ability, out: &mut Printer<'_>) -> bool {
        let is_printed = out.longest(
            value,
            &[
                |value, out| Continuous.print(value, out),
                |value, out| Entering.print(value, out),
                |value, out| Costing.print(value, out),
                |value, out| Rule.print(value, out),
                |value, out| SizeDefinition.print(value, out),
            ],
        );
        is_printed && (out.context.after_quote && !out.has_next(".") || out.word("."))
    }
}

const ONE: Predicates = Predicates { is_plural: false, is_static: true };
const MANY: Predicates = Predicates { is_plural: true, is_static: true };
const AS_LONG_AS: &str = "as long as ";

/// "Creatures you control get +1/+1", "as long as you control a Forest, ~ has trample".
#[derive(Debug, Clone, Copy)]
struct Continuous;

impl Phrase for Continuous {
    type Value = Ability;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Ability> {
        input.state.mention(&Selector::This);
        let mut condition = None;
        if has_word(input, AS_LONG_AS) {
            condition = Some(ConditionPhrase.parse(input)?);
            word(input, ", ")?;
        }
        let (affected, changes) = longest(
            input,
            &[
                |input| {
                    let affected = Object.parse(input)?;
                    word(input, " ")?;
                    Ok((affected, ONE.parse(input)?))
                },
                |input| {
                    let affected = Objects.parse(input)?;
                    word(input, " ")?;
                    Ok((affected, MANY.parse(input)?))
                },
                |input| {
                    word(input, "you control enchanted ")?;
                    if !has_word(input, "creature")
                        && !has_word(input, "permanent")
                        && !has_word(input, "land")
                    {
                        word(input, "artifact")?;
                    }
                    Ok((Selector::Attached, vec![Change::Control(Selector::You)]))
                },
            ],
        )?;
        // Of the card itself it is an ability of its own, which works on the stack.
        if affected == Selector::This && changes == [Change::Restriction(Restriction::CantBeCountered)] {
            return Err(EmptyError);
        }
        if !input.state.targets.is_empty() || matches!(affected, Selector::Choice { .. }) {
            return Err(EmptyError);
        }
        if condition.is_none() && has_word(input, " as long as ") {
            condition = Some(ConditionPhrase.parse(input)?);
        }
        explain_x(input)?;
        Ok(Ability::Static(Box::new(StaticAbility { affected, changes, condition, zone: None })))
    }

    fn print(&self, value: &Ability, out: &mut Printer<'_>) -> bool {
        let Ability::Static(ability) = value else { return false };
        out.context.mention(&Selector::This);
        let early = ability.condition.as_ref().filter(|_| out.has_next(AS_LONG_AS));
        if let Some(condition) = early
            && !(out.word(AS_LONG_AS) && ConditionPhrase.print(condition, out) && out.word(", "))
        {
            return false;
        }
        let (affected, changes) = (&ability.affected, &ability.changes);
        let is_printed = out.attempt(|out| print_taken(affected, changes, out))
            || out.attempt(|out| Object.print(affected, out) && out.word(" ") && ONE.print(changes, out))
            || out.attempt(|out| Objects.print(affected, out) && out.word(" ") && MANY.print(changes, out));
        if !is_printed {
            return false;
        }
        match &ability.condition {
            Some(condition) if early.is_none() => {
                out.word(" as long as ") && ConditionPhrase.print(condition, out)
            }
            _ => true,
        }
    }
}

/// X has no meaning in a static ability unless it is explained, which the grammar does not read.
fn explain_x(input: &Input<'_>) -> ParseResult<()> {
    if input.input.starts_with(", where X is ") { Err(EmptyError) } else { Ok(()) }
}

fn print_taken(affected: &Selector, changes: &[Change], out: &mut Printer<'_>) -> bool {
    *affected == Selector::Attached
        && matches!(changes, [Change::Control(Selector::You)])
        && out.word("you control enchanted ")
        && out.one_of(&["creature", "permanent", "land", "artifact"])
}

/// "~'s power and toughness are each equal to the number of lands you control".
#[derive(Debug, Clone, Copy)]
struct SizeDefinition;

impl Phrase for SizeDefinition {
    type Value = Ability;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Ability> {
        word(input, "~'s ")?;
        input.state.mention(&Selector::This);
        if has_word(input, "power and toughness are each equal to ") {
            let amount = AmountPhrase.parse(input)?;
            return Ok(Ability::Characteristic(vec![
                Change::DefinePower(amount.clone()),
                Change::DefineToughness(amount),
            ]));
        }
        if has_word(input, "power is equal to ") {
            return Ok(Ability::Characteristic(vec![Change::DefinePower(AmountPhrase.parse(input)?)]));
        }
        word(input, "toughness is equal to ")?;
        Ok(Ability::Characteristic(vec![Change::DefineToughness(AmountPhrase.parse(input)?)]))
    }

    fn print(&self, value: &Ability, out: &mut Printer<'_>) -> bool {
        let Ability::Characteristic(changes) = value else { return false };
        out.context.mention(&Selector::This);
        match changes.as_slice() {
            [Change::DefinePower(power), Change::DefineToughness(toughness)] if power == toughness => {
                out.word("~'s power and toughness are each equal to ") && AmountPhrase.print(power, out)
            }
            [Change::DefinePower(power)] => {
                out.word("~'s power is equal to ") && AmountPhrase.print(power, out)
            }
            [Change::DefineToughness(toughness)] => {
                out.word("~'s toughness is equal to ") && AmountPhrase.print(toughness, out)
            }
            _ => false,
        }
    }
}

fn replacement(
    pattern: ReplacementPattern,
    condition: Option<Condition>,
    action: ReplacementAction,
) -> Ability {
    Ability::Replacement(Box::new(Replacement { pattern, condition, action, optional: false, uses: None }))
}

fn entering(what: Filter, condition: Option<Condition>, action: ReplacementAction) -> Ability {
    replacement(ReplacementPattern::Enters { what }, condition, action)
}

/// Choices that are made as a permanent enters.
const ENTRY_CHOICES: [(&str, ChoiceKind); 4] = [
    ("a color", ChoiceKind::Color),
    ("a creature type", ChoiceKind::CreatureType),
    ("a basic land type", ChoiceKind::BasicLandType),
    ("an opponent", ChoiceKind::Opponent),
];

/// "~ enters tapped unless you control a Plains", "~ enters with two +1/+1 counters on it".
#[derive(Debug, Clone, Copy)]
struct Entering;

impl Phrase for Entering {
    type Value = Ability;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Ability> {
        if has_word(input, "as ~ enters, choose ") {
            let (text, kind) =
                super::words::find_word(input, &ENTRY_CHOICES, |row| row.0).ok_or(EmptyError)?;
            super::words::skip(input, text);
            return Ok(entering(Filter::This, None, ReplacementAction::EnterChoosing(kind.clone())));
        }
        if has_word(input, "if ~ was kicked, it enters with ") {
            let action = parse_entry_counters(input)?;
            return Ok(entering(Filter::This, Some(Condition::Kicked), action));
        }
        if has_word(input, "~ enters with ") {
            let action = parse_entry_counters(input)?;
            let condition = attempt(input, |input| {
                word(input, " if ")?;
                ConditionPhrase.parse(input)
            });
            return Ok(entering(Filter::This, condition.ok(), action));
        }
        if has_word(input, "~ enters tapped") {
            let condition = attempt(input, |input| {
                word(input, " unless ")?;
                ConditionPhrase.parse(input)
            });
            let condition = condition.ok().map(|condition| Condition::Not(Box::new(condition)));
            return Ok(entering(Filter::This, condition, ReplacementAction::EnterTapped));
        }
        if has_word(input, "prevent all ") {
            return parse_shield(input);
        }
        let noun = PLURAL.parse(input)?;
        word(input, " enter tapped")?;
        Ok(entering(noun.filter, None, ReplacementAction::EnterTapped))
    }

    fn print(&self, value: &Ability, out: &mut Printer<'_>) -> bool {
        let Ability::Replacement(replacement) = value else { return false };
        let Replacement { pattern, condition, action, optional: false, uses: None } = replacement.as_ref()
        else {
            return false;
        };
        if let ReplacementPattern::Damage { source, to, combat } = pattern {
            return condition.is_none()
                && *action == ReplacementAction::Prevent(None)
                && print_shield(source, to, *combat, out);
        }
        let ReplacementPattern::Enters { what } = pattern else { return false };
        match (what, action, condition) {
            (Filter::This, ReplacementAction::EnterChoosing(kind), None) => {
                let row = ENTRY_CHOICES.iter().find(|(_, known)| known == kind);
                row.is_some_and(|(text, _)| out.word("as ~ enters, choose ") && out.word(text))
            }
            (Filter::This, ReplacementAction::EnterWithCounters { kind, amount }, condition) => {
                if *condition == Some(Condition::Kicked) && out.has_next("if ") {
                    return out.word("if ~ was kicked, it enters with ")
                        && print_entry_counters(*kind, amount, out);
                }
                out.word("~ enters with ")
                    && print_entry_counters(*kind, amount, out)
                    && condition
                        .as_ref()
                        .is_none_or(|condition| out.word(" if ") && ConditionPhrase.print(condition, out))
            }
            (Filter::This, ReplacementAction::EnterTapped, None) => out.word("~ enters tapped"),
            (Filter::This, ReplacementAction::EnterTapped, Some(Condition::Not(condition))) => {
                out.word("~ enters tapped unless ") && ConditionPhrase.print(condition, out)
            }
            (what, ReplacementAction::EnterTapped, None) => {
                PLURAL.print(&Noun::in_zone(what, Zone::Battlefield), out) && out.word(" enter tapped")
            }
            _ => false,
        }
    }
}

fn parse_entry_counters(input: &mut Input<'_>) -> ParseResult<ReplacementAction> {
    let (kind, amount) = Counters.parse(input)?;
    word(input, " on it")?;
    let amount = match (amount, attempt(input, parse_each)) {
        (Amount::Fixed(number), Ok(each)) => super::amount::multiply(each, number),
        (amount, _) => amount,
    };
    if has_word(input, ", where X is ") {
        let meaning = AmountPhrase.parse(input)?;
        return if amount == Amount::X {
            Ok(ReplacementAction::EnterWithCounters { kind, amount: meaning })
        } else {
            Err(EmptyError)
        };
    }
    Ok(ReplacementAction::EnterWithCounters { kind, amount })
}

fn parse_each(input: &mut Input<'_>) -> ParseResult<Amount> {
    word(input, " for each ")?;
    super::amount::EachPhrase.parse(input)
}

fn print_entry_counters(kind: CounterKind, amount: &Amount, out: &mut Printer<'_>) -> bool {
    let plain = |amount: &Amount, out: &mut Printer<'_>| {
        Counters.print(&(kind, amount.clone()), out) && out.word(" on it")
    };
    if out.attempt(|out| {
        let is_printed = plain(amount, out) && !out.has_next(" for each ");
        let meaning = out.context.x.take();
        is_printed
            && meaning.is_none_or(|amount| out.word(", where X is ") && AmountPhrase.print(&amount, out))
    }) {
        return true;
    }
    let (each, number) = super::amount::divide(amount);
    plain(&Amount::Fixed(number), out) && out.word(" for each ") && super::amount::EachPhrase.print(each, out)
}

fn parse_shield(input: &mut Input<'_>) -> ParseResult<Ability> {
    let combat = has_word(input, "combat ").then_some(true);
    word(input, "damage that would be dealt ")?;
    let (source, to) = if has_word(input, "to ~") {
        (Filter::Any, Filter::This)
    } else if has_word(input, "to you") {
        (Filter::Any, Filter::Is(Box::new(Selector::You)))
    } else {
        word(input, "by ~")?;
        (Filter::This, super::prevention::anything())
    };
    let pattern = ReplacementPattern::Damage { source, to, combat };
    Ok(replacement(pattern, None, ReplacementAction::Prevent(None)))
}

fn print_shield(source: &Filter, to: &Filter, combat: Option<bool>, out: &mut Printer<'_>) -> bool {
    let is_begun = out.word("prevent all ")
        && (combat.is_none() || out.word("combat "))
        && out.word("damage that would be dealt ");
    is_begun
        && match (source, to) {
            (Filter::Any, Filter::This) => out.word("to ~"),
            (Filter::Any, Filter::Is(who)) => **who == Selector::You && out.word("to you"),
            (Filter::This, to) => *to == super::prevention::anything() && out.word("by ~"),
            _ => false,
        }
}
