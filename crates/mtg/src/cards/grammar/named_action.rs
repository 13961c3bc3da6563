//! Actions with a name of their own: bolster, support, extra combat phases, deaths that exile.

use super::core::{Input, ParseResult, Phrase, Printer, has_word, rules, word};
use super::object::Object;
use super::player::{add_target, next_target};
use super::words::Number;
use crate::ability::{
    Amount, Change, CounterKind, Destination, Duration, Effect, Filter, Replacement, ReplacementAction,
    ReplacementPattern, Restriction, Selector, TargetSpec, Zone,
};
use winnow::error::EmptyError;

rules! {
    /// An action with a name.
    NamedAction: Effect {
        [(effect: Bolster)] => { effect };
        [(effect: Support)] => { effect };
        ["after this main phase, there is an additional combat phase followed by an additional main phase"] => { Effect::ExtraCombat { with_main: true } };
        [(effect: RegenerationBan)] => { effect };
        ["you may play an additional land this turn"] => { additional_land() } <= { effect if *effect == additional_land() };
        ["switch " (what: super::object::Possessive) "power and toughness until end of turn"] => { Effect::Continuous { affected: what, changes: vec![Change::SwitchPowerToughness], until: Duration::EndOfTurn } }
            <= { Effect::Continuous { affected: what, changes, until: Duration::EndOfTurn } if matches!(changes.as_slice(), [Change::SwitchPowerToughness]) };
        ["end the turn"] => { Effect::EndTurn };
        [(effect: Copying)] => { effect };
        [(effect: Emblem)] => { effect };
    }
}

fn additional_land() -> Effect {
    Effect::PlayerRule {
        who: Selector::You,
        rule: crate::ability::PlayerRule::AdditionalLands(1),
        until: Duration::EndOfTurn,
    }
}

/// The target that was dealt damage, if it is a creature, cannot be regenerated.
fn ban_regeneration() -> Effect {
    Effect::Continuous {
        affected: Selector::Matching { from: Box::new(Selector::Target(0)), filter: Filter::creature() },
        changes: vec![Change::Restriction(Restriction::CantBeRegenerated)],
        until: Duration::EndOfTurn,
    }
}

/// "A creature dealt damage this way can't be regenerated this turn", after damage to the only target.
#[derive(Debug, Clone, Copy)]
struct RegenerationBan;

impl Phrase for RegenerationBan {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, "a creature dealt damage this way can't be regenerated this turn")?;
        if input.state.it == Some(Selector::Target(0)) { Ok(ban_regeneration()) } else { Err(EmptyError) }
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        *value == ban_regeneration()
            && out.word("a creature dealt damage this way can't be regenerated this turn")
    }
}

/// "Copy target instant or sorcery spell. You may choose new targets for the copy".
#[derive(Debug, Clone, Copy)]
struct Copying;

const NEW_TARGETS: &str = ". you may choose new targets for the copy";

impl Phrase for Copying {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, "copy ")?;
        let what = Object.parse(input)?;
        word(input, NEW_TARGETS)?;
        Ok(Effect::CopySpell { what, amount: Amount::Fixed(1), new_targets: true })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::CopySpell { what, amount: Amount::Fixed(1), new_targets: true } = value else {
            return false;
        };
        out.word("copy ") && Object.print(what, out) && out.word(NEW_TARGETS)
    }
}

/// "You get an emblem with "..."".
#[derive(Debug, Clone, Copy)]
struct Emblem;

impl Phrase for Emblem {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, "you get an emblem with ")?;
        let ability = super::ability::Quotation.parse(input)?;
        Ok(Effect::Emblem { who: Selector::You, abilities: vec![ability] })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::Emblem { who: Selector::You, abilities } = value else { return false };
        let [ability] = abilities.as_slice() else { return false };
        out.word("you get an emblem with ") && super::ability::Quotation.print(ability, out)
    }
}

/// "Bolster 2": counters on a creature with the least toughness that the player controls (701.39).
#[derive(Debug, Clone, Copy)]
struct Bolster;

fn weakest() -> Selector {
    let yours = Selector::permanents(Filter::creature().and(Filter::yours()));
    Selector::Choice {
        from: Box::new(Selector::Extreme {
            from: Box::new(yours),
            by: Box::new(Amount::Toughness(Box::new(Selector::Iterated))),
            greatest: false,
        }),
        min: Amount::Fixed(1),
        max: Amount::Fixed(1),
        chooser: Box::new(Selector::You),
    }
}

impl Phrase for Bolster {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, "bolster ")?;
        let amount = Number.parse(input)?;
        Ok(Effect::PutCounters { what: weakest(), kind: CounterKind::PlusOne, amount })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::PutCounters { what, kind: CounterKind::PlusOne, amount } = value else { return false };
        *what == weakest() && out.word("bolster ") && Number.print(amount, out)
    }
}

/// "Support 2": a counter on each of up to two other target creatures (701.41).
#[derive(Debug, Clone, Copy)]
struct Support;

fn supported(amount: Amount) -> TargetSpec {
    let filter = Filter::All(vec![Filter::Other, Filter::creature()]);
    TargetSpec { min: 0, max: amount, ..TargetSpec::single(filter) }
}

impl Phrase for Support {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, "support ")?;
        let amount = Number.parse(input)?;
        let what = add_target(input, supported(amount))?;
        Ok(Effect::PutCounters { what, kind: CounterKind::PlusOne, amount: Amount::Fixed(1) })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::PutCounters { what, kind: CounterKind::PlusOne, amount: Amount::Fixed(1) } = value else {
            return false;
        };
        let Some(spec) = next_target(what, out) else { return false };
        out.context.mentioned += 1;
        spec == supported(spec.max.clone()) && out.word("support ") && Number.print(&spec.max, out)
    }
}

/// "If that creature would die this turn, exile it instead".
#[derive(Debug, Clone, Copy)]
pub(crate) struct DyingShield;

const EXILED: &str = " would die this turn, exile it instead";
/// Wordings of the target that was dealt damage.
const DAMAGED: [&str; 2] = ["a creature dealt damage this way", "that creature or planeswalker"];

impl Phrase for DyingShield {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, "if ")?;
        let what = if DAMAGED.iter().any(|text| has_word(input, text)) {
            input.state.it.clone().ok_or(EmptyError)?
        } else {
            Object.parse(input)?
        };
        word(input, EXILED)?;
        Ok(exile_if_dying(what))
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::AddReplacement { replacement, until: Duration::EndOfTurn } = value else { return false };
        let ReplacementPattern::ZoneChange { what: Filter::Is(what), .. } = &replacement.pattern else {
            return false;
        };
        if *value != exile_if_dying(what.as_ref().clone()) || !out.word("if ") {
            return false;
        }
        let is_named = out.context.it.as_ref() == Some(what) && out.one_of(&DAMAGED);
        (is_named || Object.print(what, out)) && out.word(EXILED)
    }
}

fn exile_if_dying(what: Selector) -> Effect {
    let replacement = Replacement {
        pattern: ReplacementPattern::ZoneChange {
            what: Filter::Is(Box::new(what)),
            from: Some(Zone::Battlefield),
            to: Some(Zone::Graveyard),
        },
        condition: None,
        action: ReplacementAction::MoveTo(Destination::zone(Zone::Exile)),
        optional: false,
        uses: None,
    };
    Effect::AddReplacement { replacement: Box::new(replacement), until: Duration::EndOfTurn }
}
