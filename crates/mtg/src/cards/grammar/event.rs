//! Events of triggered abilities: what follows "when", "whenever" and "at".

use super::core::{Context, Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::noun::{Article, Noun, PLURAL};
use crate::ability::{Amount, EventPattern, EventRole, Filter, Selector, TurnStep, Zone};
use winnow::error::EmptyError;

/// The object of an event: "~", "another creature you control", "~ or another Goblin you control".
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventObject;

impl Phrase for EventObject {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        if has_word(input, "~ or ") {
            let other = Article.parse(input)?;
            return Ok(Filter::AnyOf(vec![Filter::This, other]));
        }
        if has_word(input, "~") {
            return Ok(Filter::This);
        }
        if has_word(input, "enchanted creature")
            || has_word(input, "equipped creature")
            || has_word(input, "enchanted land")
            || has_word(input, "enchanted permanent")
        {
            return Ok(Filter::Is(Box::new(Selector::Attached)));
        }
        Article.parse(input)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        match value {
            Filter::This => out.word("~"),
            Filter::Is(selector) if **selector == Selector::Attached => out.one_of(&[
                "enchanted creature",
                "equipped creature",
                "enchanted land",
                "enchanted permanent",
            ]),
            Filter::AnyOf(parts) if matches!(parts.as_slice(), [Filter::This, _]) => {
                parts.last().is_some_and(|other| out.word("~ or ") && Article.print(other, out))
            }
            other => Article.print(other, out),
        }
    }
}

/// The player of an event, as a subject: "you", "an opponent", "a player".
#[derive(Debug, Clone, Copy)]
struct EventPlayer {
    /// Whether the verb has the form for "you".
    is_you: bool,
}

const YOU: EventPlayer = EventPlayer { is_you: true };
const OTHERS: EventPlayer = EventPlayer { is_you: false };

impl Phrase for EventPlayer {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        if self.is_you {
            word(input, "you")?;
            return Ok(Filter::Is(Box::new(Selector::You)));
        }
        if has_word(input, "an opponent") {
            return Ok(Filter::Opponent);
        }
        word(input, "a player")?;
        Ok(Filter::Player)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        match value {
            Filter::Is(who) if self.is_you && **who == Selector::You => out.word("you"),
            Filter::Opponent if !self.is_you => out.word("an opponent"),
            Filter::Player if !self.is_you => out.word("a player"),
            _ => false,
        }
    }
}

/// The recipient of damage: a player, an opponent, "you", or an object.
#[derive(Debug, Clone, Copy)]
struct Recipient;

impl Phrase for Recipient {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        if has_word(input, "you") {
            return Ok(Filter::Is(Box::new(Selector::You)));
        }
        EventObject.parse(input)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        match value {
            Filter::Is(who) if **who == Selector::You => out.word("you"),
            other => EventObject.print(other, out),
        }
    }
}

/// Several objects: "one or more creatures you control".
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventObjects;

impl Phrase for EventObjects {
    type Value = Filter;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Filter> {
        PLURAL.parse(input).map(|noun| noun.filter)
    }

    fn print(&self, value: &Filter, out: &mut Printer<'_>) -> bool {
        PLURAL.print(&Noun::in_zone(value, Zone::Battlefield), out)
    }
}

rules! {
    /// One event in the singular.
    EventPhrase: EventPattern {
        [(what: EventObject) " enters"] => { EventPattern::ZoneChange { what, from: None, to: Some(Zone::Battlefield) } };
        [(what: EventObject) " dies"] => { EventPattern::ZoneChange { what, from: Some(Zone::Battlefield), to: Some(Zone::Graveyard) } };
        [(what: EventObject) " is put into a graveyard from the battlefield"] => { EventPattern::ZoneChange { what, from: Some(Zone::Battlefield), to: Some(Zone::Graveyard) } };
        [(what: EventObject) " leaves the battlefield"] => { EventPattern::ZoneChange { what, from: Some(Zone::Battlefield), to: None } };
        [(what: EventObject) " attacks"] => { EventPattern::Attacks { what, defender: None, alone: false } };
        [(what: EventObject) " attacks alone"] => { EventPattern::Attacks { what, defender: None, alone: true } };
        [(what: EventObject) " attacks you"] => { EventPattern::Attacks { what, defender: Some(Filter::Is(Box::new(Selector::You))), alone: false } }
            <= { EventPattern::Attacks { what, defender: Some(Filter::Is(who)), alone: false } if **who == Selector::You };
        [(what: EventObject) " blocks"] => { EventPattern::Blocks { what, attacker: Filter::Any } };
        [(what: EventObject) " blocks " (attacker: Article)] => { EventPattern::Blocks { what, attacker } };
        [(what: EventObject) " becomes blocked"] => { EventPattern::BecomesBlocked { what, by: None } };
        [(what: EventObject) " becomes blocked by " (by: Article)] => { EventPattern::BecomesBlocked { what, by: Some(by) } };
        [(what: EventObject) " attacks and isn't blocked"] => { EventPattern::AttacksUnblocked { what } };
        [(source: EventObject) " deals combat damage to " (to: Recipient)] => { EventPattern::Damage { source, to, combat: Some(true) } };
        [(source: EventObject) " deals damage to " (to: Recipient)] => { EventPattern::Damage { source, to, combat: None } };
        [(source: EventObject) " deals combat damage"] => { EventPattern::Damage { source, to: Filter::Any, combat: Some(true) } };
        [(source: EventObject) " deals damage"] => { EventPattern::Damage { source, to: any_recipient(), combat: None } }
            <= { EventPattern::Damage { source, to, combat: None } if *to == any_recipient() };
        [(to: EventObject) " is dealt damage"] => { EventPattern::Damage { source: Filter::Any, to, combat: None } };
        [(to: EventObject) " is dealt combat damage"] => { EventPattern::Damage { source: Filter::Any, to, combat: Some(true) } };
        [(what: EventObject) " becomes tapped"] => { EventPattern::Tapped { what } };
        [(what: EventObject) " becomes untapped"] => { EventPattern::Untapped { what } };
        [(what: EventObject) " becomes renowned"] => { EventPattern::BecomesMarked { what, mark: crate::ability::ObjectMark::Renowned } };
        [(what: EventObject) " is tapped for mana"] => { EventPattern::TappedForMana { what } };
        [(what: EventObject) " becomes the target of " (by: SpellOrAbility)] => { EventPattern::BecomesTarget { what, by } };
        [(who: YOU) " cast " (spell: Article)] => { EventPattern::Cast { who, spell, from: None } };
        [(who: OTHERS) " casts " (spell: Article)] => { EventPattern::Cast { who, spell, from: None } };
        ["you cast ~"] => { EventPattern::CastThis };
        [(who: YOU) " draw a card"] => { EventPattern::Draw { who, nth: None } };
        [(who: OTHERS) " draws a card"] => { EventPattern::Draw { who, nth: None } };
        [(who: YOU) " draw your second card each turn"] => { EventPattern::Draw { who, nth: Some(2) } };
        [(who: YOU) " gain life"] => { EventPattern::GainLife { who } };
        [(who: OTHERS) " gains life"] => { EventPattern::GainLife { who } };
        [(who: YOU) " lose life"] => { EventPattern::LoseLife { who } };
        [(who: OTHERS) " loses life"] => { EventPattern::LoseLife { who } };
        [(who: OTHERS) " discards a card"] => { EventPattern::Discard { who, what: Filter::Any } };
        [(who: YOU) " discard " (what: Article)] => { EventPattern::Discard { who, what } };
        [(who: YOU) " cycle ~"] => { EventPattern::Cycle { who, what: Filter::This } };
        [(who: YOU) " cycle a card"] => { EventPattern::Cycle { who, what: Filter::Any } };
        [(who: YOU) " cycle another card"] => { EventPattern::Cycle { who, what: Filter::Other } };
        [(who: YOU) " cycle or discard a card"] => { EventPattern::Discard { who, what: Filter::Card } };
        [(who: YOU) " attack"] => { EventPattern::AttacksWith { who, what: Filter::creature(), at_least: 1 } } <= { EventPattern::AttacksWith { who, what, at_least: 1 } if *what == Filter::creature() };
        [(who: YOU) " attack with two or more " (what: EventObjects)] => { EventPattern::AttacksWith { who, what, at_least: 2 } };
        [(who: YOU) " attack with three or more " (what: EventObjects)] => { EventPattern::AttacksWith { who, what, at_least: 3 } };
        [(who: YOU) " scry"] => { EventPattern::Scry { who } };
        [(who: YOU) " surveil"] => { EventPattern::Surveil { who } };
        [(who: YOU) " sacrifice " (what: Article)] => { EventPattern::Sacrifice { who, what } };
        [(who: OTHERS) " sacrifices " (what: Article)] => { EventPattern::Sacrifice { who, what } };
        [(who: OTHERS) " loses the game"] => { EventPattern::PlayerLoses { who } };
        [(condition: super::condition::ControlsNothing)] => { EventPattern::State(condition) };
        ["a spell or ability an opponent controls causes you to discard ~"] => { EventPattern::DiscardedByOpponent { what: Filter::This } };
        [(what: EventObject) " is put into your graveyard from the battlefield"] => { EventPattern::ZoneChange { what, from: Some(Zone::Battlefield), to: Some(Zone::Graveyard) } };
    }
}

rules! {
    /// One event of several objects at once, after "one or more".
    EventsPhrase: EventPattern {
        [(what: EventObjects) " enter"] => { EventPattern::ZoneChange { what, from: None, to: Some(Zone::Battlefield) } };
        [(what: EventObjects) " die"] => { EventPattern::ZoneChange { what, from: Some(Zone::Battlefield), to: Some(Zone::Graveyard) } };
        [(what: EventObjects) " attack"] => { EventPattern::Attacks { what, defender: None, alone: false } };
        [(what: EventObjects) " deal combat damage to a player"] => { EventPattern::Damage { source: what, to: Filter::Player, combat: Some(true) } } <= { EventPattern::Damage { source: what, to: Filter::Player, combat: Some(true) } };
    }
}

/// Two events of one subject, with the words after the subject.
type BuildEvents = fn(Filter) -> Vec<EventPattern>;
const PAIRS: [(&str, BuildEvents); 5] = [
    (" enters or dies", |what| vec![enters(what.clone()), dies(what)]),
    (" enters or attacks", |what| vec![enters(what.clone()), attacks(what)]),
    (" enters or leaves the battlefield", |what| {
        vec![enters(what.clone()), EventPattern::ZoneChange { what, from: Some(Zone::Battlefield), to: None }]
    }),
    (" attacks or blocks", |what| {
        vec![attacks(what.clone()), EventPattern::Blocks { what, attacker: Filter::Any }]
    }),
    (" blocks or becomes blocked", |what| {
        vec![
            EventPattern::Blocks { what: what.clone(), attacker: Filter::Any },
            EventPattern::BecomesBlocked { what, by: None },
        ]
    }),
];

fn enters(what: Filter) -> EventPattern {
    EventPattern::ZoneChange { what, from: None, to: Some(Zone::Battlefield) }
}

fn dies(what: Filter) -> EventPattern {
    EventPattern::ZoneChange { what, from: Some(Zone::Battlefield), to: Some(Zone::Graveyard) }
}

fn attacks(what: Filter) -> EventPattern {
    EventPattern::Attacks { what, defender: None, alone: false }
}

/// Steps after "at the beginning of ".
fn steps() -> [(&'static str, TurnStep, Filter); 15] {
    let you = Filter::Is(Box::new(Selector::You));
    [
        ("your upkeep", TurnStep::Upkeep, you.clone()),
        ("each upkeep", TurnStep::Upkeep, Filter::Player),
        ("each player's upkeep", TurnStep::Upkeep, Filter::Player),
        ("each opponent's upkeep", TurnStep::Upkeep, Filter::Opponent),
        ("your draw step", TurnStep::Draw, you.clone()),
        ("each player's draw step", TurnStep::Draw, Filter::Player),
        ("each opponent's draw step", TurnStep::Draw, Filter::Opponent),
        ("your first main phase", TurnStep::Main1, you.clone()),
        ("your precombat main phase", TurnStep::Main1, you.clone()),
        ("combat on your turn", TurnStep::BeginCombat, you.clone()),
        ("each combat", TurnStep::BeginCombat, Filter::Player),
        ("your end step", TurnStep::End, you),
        ("each end step", TurnStep::End, Filter::Player),
        ("the end step", TurnStep::End, Filter::Player),
        ("each opponent's end step", TurnStep::End, Filter::Opponent),
    ]
}

/// What a trigger waits for: events, and whether they count together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Events;

impl Phrase for Events {
    type Value = (Vec<EventPattern>, bool);

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Self::Value> {
        let found = if has_word(input, "at the beginning of ") {
            let rows = steps();
            let row = super::words::find_word(input, &rows, |row| row.0).ok_or(EmptyError)?;
            super::words::skip(input, row.0);
            (vec![EventPattern::Step { step: row.1, whose: row.2.clone() }], false)
        } else {
            if !has_word(input, "whenever ") {
                word(input, "when ")?;
            }
            parse_happening(input)?
        };
        set_references(&found.0, found.1, &mut input.state);
        Ok(found)
    }

    fn print(&self, (events, batch): &Self::Value, out: &mut Printer<'_>) -> bool {
        let is_printed = match events.as_slice() {
            [EventPattern::Step { step, whose }] => {
                let rows = steps();
                let texts: Vec<&str> =
                    rows.iter().filter(|row| row.1 == *step && row.2 == *whose).map(|row| row.0).collect();
                out.word("at the beginning of ") && out.one_of(&texts)
            }
            _ => out.one_of(&["whenever ", "when "]) && print_happening(events, *batch, out),
        };
        set_references(events, *batch, &mut out.context);
        is_printed
    }
}

fn parse_happening(input: &mut Input<'_>) -> ParseResult<(Vec<EventPattern>, bool)> {
    if has_word(input, "one or more ") {
        return EventsPhrase.parse(input).map(|event| (vec![event], true));
    }
    let pair = attempt(input, |input| {
        let what = EventObject.parse(input)?;
        let (text, build) =
            PAIRS.iter().find(|(text, _)| super::words::is_next_word(input.input, text)).ok_or(EmptyError)?;
        super::words::skip(input, text);
        // "Blocks or becomes blocked by a creature" is about the other creature.
        let mut events = build(what.clone());
        if has_word(input, " by ") {
            let other = Article.parse(input)?;
            events = vec![
                EventPattern::Blocks { what: what.clone(), attacker: other.clone() },
                EventPattern::BecomesBlocked { what, by: Some(other) },
            ];
        }
        Ok(events)
    });
    match pair {
        Ok(events) => Ok((events, false)),
        Err(_) => EventPhrase.parse(input).map(|event| (vec![event], false)),
    }
}

fn print_happening(events: &[EventPattern], batch: bool, out: &mut Printer<'_>) -> bool {
    match events {
        [event] if batch => out.word("one or more ") && EventsPhrase.print(event, out),
        [event] => EventPhrase.print(event, out),
        [
            EventPattern::Blocks { what, attacker },
            EventPattern::BecomesBlocked { what: second, by: Some(by) },
        ] if what == second && attacker == by => {
            EventObject.print(what, out)
                && out.word(" blocks or becomes blocked by ")
                && Article.print(by, out)
        }
        [
            EventPattern::ZoneChange { what, .. }
            | EventPattern::Attacks { what, .. }
            | EventPattern::Blocks { what, .. },
            _,
        ] => {
            let row = PAIRS.iter().find(|(_, build)| build(what.clone()) == events);
            row.is_some_and(|(text, _)| EventObject.print(what, out) && out.word(text))
        }
        _ => false,
    }
}

/// What "it", "that creature", "that player" and "that much" mean in the effect of a trigger.
fn set_references(events: &[EventPattern], batch: bool, context: &mut Context) {
    let Some(event) = events.first() else { return };
    let subject = Selector::Event(EventRole::Subject);
    let other = Selector::Event(EventRole::Other);
    let itself = |filter: &Filter, role: Selector| match filter {
        Filter::This => Selector::This,
        // The Aura or Equipment can lose it before the ability resolves.
        Filter::Is(selector) if **selector == Selector::Attached => role,
        Filter::Is(selector) => selector.as_ref().clone(),
        _ => role,
    };
    context.player = Some(Selector::Event(EventRole::Player));
    context.amount = Some(Amount::Event);
    match event {
        EventPattern::Damage { source, to, .. } => {
            let is_player =
                matches!(to, Filter::Player | Filter::Opponent | Filter::Is(_)) || *to == any_recipient();
            if *source == Filter::Any {
                context.mention(&itself(to, subject));
            } else {
                context.mention(&itself(source, other));
                // What deals damage to the source is "that creature", not the source.
                if !is_player && *to != Filter::This {
                    context.that = Some(subject);
                }
            }
        }
        EventPattern::Blocks { what, attacker } => {
            context.mention(&itself(what, subject));
            if *attacker != Filter::Any {
                context.that = Some(other);
            }
        }
        EventPattern::BecomesBlocked { what, by } => {
            context.mention(&itself(what, subject));
            if by.is_some() {
                context.that = Some(other);
            }
        }
        // "They" are all that attack, not the first of them.
        EventPattern::Attacks { what, .. } if batch => {
            context.mention(&Selector::permanents(what.clone().and(Filter::Attacking)));
        }
        EventPattern::ZoneChange { what, .. }
        | EventPattern::Attacks { what, .. }
        | EventPattern::AttacksUnblocked { what }
        | EventPattern::Tapped { what }
        | EventPattern::Untapped { what }
        | EventPattern::TappedForMana { what }
        | EventPattern::BecomesTarget { what, .. }
        | EventPattern::BecomesMarked { what, .. }
        | EventPattern::Cycle { what, .. }
        | EventPattern::DiscardedByOpponent { what } => context.mention(&itself(what, subject)),
        EventPattern::Cast { .. } | EventPattern::Sacrifice { .. } | EventPattern::Discard { .. } => {
            context.mention(&subject);
        }
        _ => {}
    }
}

fn any_recipient() -> Filter {
    Filter::AnyOf(vec![Filter::Any, Filter::Player])
}

rules! {
    /// What targets something.
    SpellOrAbility: Filter {
        ["a spell"] => { Filter::Spell };
        ["a spell or ability"] => { Filter::AnyOf(vec![Filter::Spell, Filter::AbilityOnStack]) }
            <= { Filter::AnyOf(parts) if matches!(parts.as_slice(), [Filter::Spell, Filter::AbilityOnStack]) };
        ["a spell or ability an opponent controls"] => { opponents_spell_or_ability() } <= { filter if *filter == opponents_spell_or_ability() };
        ["a spell or ability you control"] => { your_spell_or_ability() } <= { filter if *filter == your_spell_or_ability() };
    }
}

fn opponents_spell_or_ability() -> Filter {
    Filter::AnyOf(vec![Filter::Spell, Filter::AbilityOnStack]).and(Filter::opponents())
}

fn your_spell_or_ability() -> Filter {
    Filter::AnyOf(vec![Filter::Spell, Filter::AbilityOnStack]).and(Filter::yours())
}
