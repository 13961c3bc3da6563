//! Verbs: what players do, what objects do, and what is done to objects.

use super::amount::{AmountPhrase, ForEach, ThatMuch};
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::object::{AnyObjects, MovedObject, Object};
use super::player::Player;
use super::words::{ADDITIONAL_CARDS, CARDS, Number};
use crate::ability::{
    Amount, Destination, Duration, Effect, Filter, LibraryPosition, Selector, TurnStep, Zone,
};
use winnow::error::EmptyError;

/// Who does what a verb says; no words of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject;

impl Phrase for Subject {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        input.state.subject.clone().ok_or(EmptyError)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        out.context.subject.as_ref() == Some(value)
    }
}

/// The controller and no other player: rows that hold only for the ability's controller.
const YOU: Selector = Selector::You;

rules! {
    /// An amount of life: "3 life", "that much life".
    Life: Amount {
        [(amount: Number) " life"] => { amount };
        [(amount: ThatMuch) " life"] => { amount };
    }
}

rules! {
    /// What a player does, without the subject.
    PlayerAction: Effect {
        [{"draw ", "draws "} (amount: ForEach(CARDS)) (who: Subject)] => { Effect::Draw { who, amount } };
        [{"draw ", "draws "} (amount: ADDITIONAL_CARDS) (who: Subject)] => { Effect::Draw { who, amount } };
        [{"draw", "draws"} " cards equal to " (amount: AmountPhrase) (who: Subject)] => { Effect::Draw { who, amount } };
        [{"discard ", "discards "} (amount: CARDS) (who: Subject)] => { Effect::Discard { who, amount, filter: Filter::Any, random: false, chooser: None } };
        [{"discard ", "discards "} (amount: CARDS) " at random" (who: Subject)] => { Effect::Discard { who, amount, filter: Filter::Any, random: true, chooser: None } };
        [{"discard your hand", "discards their hand"} (who: Subject)] => { Effect::DiscardHand { who } };
        [{"gain ", "gains "} (amount: ForEach(Life)) (who: Subject)] => { Effect::GainLife { who, amount } };
        [{"gain", "gains"} " life equal to " (amount: AmountPhrase) (who: Subject)] => { Effect::GainLife { who, amount } };
        [{"lose ", "loses "} (amount: ForEach(Life)) (who: Subject)] => { Effect::LoseLife { who, amount } };
        [{"lose", "loses"} " life equal to " (amount: AmountPhrase) (who: Subject)] => { Effect::LoseLife { who, amount } };
        [{"mill ", "mills "} (amount: ForEach(CARDS)) (who: Subject)] => { Effect::Mill { who, amount } };
        [{"scry ", "scries "} (amount: Number) (who: Subject)] => { Effect::Scry { who, amount } };
        [{"surveil ", "surveils "} (amount: Number) (who: Subject)] => { Effect::Surveil { who, amount } };
        [(effect: Sacrificing)] => { effect };
        [(effect: Creating)] => { effect };
        [{"reveal your hand", "reveals their hand"} ". you choose " (filter: super::noun::Article) " from it. that player discards that card" (who: Subject)] => { Effect::Discard { who, amount: Amount::Fixed(1), filter, random: false, chooser: Some(Selector::You) } };
        [{"reveal your hand", "reveals their hand"} (who: Subject)] => { Effect::RevealHand { who } };
        [{"lose", "loses"} " the game" (who: Subject)] => { Effect::LoseGame { who } };
        [{"win", "wins"} " the game" (who: Subject)] => { Effect::WinGame { who } };
        [{"take", "takes"} " an extra turn after this one" (who: Subject)] => { Effect::ExtraTurn { who } };
        [{"shuffle", "shuffles"} (who: Subject)] => { Effect::Shuffle { who } };
        [{"skip your", "skips their"} " next combat phase" (who: Subject)] => { Effect::SkipNext { who, step: TurnStep::BeginCombat } };
        [{"proliferate", "proliferates"} (who: Subject)] => { Effect::Proliferate { who } };
        [{"add ", "adds "} (mana: super::mana::ManaPhrase) (only: super::mana::Spending) (who: Subject)] => { Effect::AddMana { who, mana, only } };
        [(effect: super::library::Searching)] => { effect };
        [(effect: super::library::Looking)] => { effect };
        [(effect: Investigating)] => { effect };
        [(effect: Populating)] => { effect };
        [{"can't cast", "can't cast"} " noncreature spells this turn" (who: Subject)] => { Effect::PlayerRule { who, rule: crate::ability::PlayerRule::CantCast(Filter::All(vec![Filter::creature().negate(), Filter::Spell])), until: Duration::EndOfTurn } }
            <= { Effect::PlayerRule { who, rule: crate::ability::PlayerRule::CantCast(filter), until: Duration::EndOfTurn } if *filter == Filter::All(vec![Filter::creature().negate(), Filter::Spell]) };
    }
}

/// "Sacrifices a creature", "sacrifice two lands of their choice".
#[derive(Debug, Clone, Copy)]
struct Sacrificing;

impl Phrase for Sacrificing {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, if input.state.third { "sacrifices " } else { "sacrifice " })?;
        let (filter, amount) = super::cost::parse_some(input, Zone::Battlefield)?;
        has_word(input, " of their choice");
        let who = Subject.parse(input)?;
        Ok(Effect::Sacrifice { who, filter, amount })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::Sacrifice { who, filter, amount } = value else { return false };
        out.word(if out.context.third { "sacrifices " } else { "sacrifice " })
            && super::cost::print_some(filter, amount, Zone::Battlefield, out)
            && (!out.has_next(" of their choice") || out.word(" of their choice"))
            && Subject.print(who, out)
    }
}

/// "Create two 1/1 white Soldier creature tokens".
#[derive(Debug, Clone, Copy)]
struct Creating;

impl Phrase for Creating {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, if input.state.third { "creates " } else { "create " })?;
        if let Ok(copy) = attempt(input, parse_copies) {
            return Ok(copy);
        }
        let (amount, token) = super::token::Tokens.parse(input)?;
        let who = Subject.parse(input)?;
        Ok(Effect::CreateToken { who, token, amount })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        if let Effect::CopyToken { .. } = value {
            return out.word(if out.context.third { "creates " } else { "create " })
                && print_copies(value, out);
        }
        let Effect::CreateToken { who, token, amount } = value else { return false };
        out.word(if out.context.third { "creates " } else { "create " })
            && super::token::Tokens.print(&(amount.clone(), token.clone()), out)
            && Subject.print(who, out)
    }
}

const ONE_COPY: &str = "a token that's a copy of ";
const MORE_COPIES: &str = " tokens that are copies of ";
const EXCEPT_IT_HAS: &str = ", except it has ";

/// "A token that's a copy of target creature, except it has haste".
fn parse_copies(input: &mut Input<'_>) -> ParseResult<Effect> {
    let amount = if has_word(input, ONE_COPY) {
        Amount::Fixed(1)
    } else {
        let amount = super::words::NumberWord.parse(input)?;
        word(input, MORE_COPIES)?;
        amount
    };
    let of = Object.parse(input)?;
    let except = attempt(input, |input| {
        word(input, EXCEPT_IT_HAS)?;
        super::words::parse_list(&super::change::Gift, "and", input)
    });
    let who = Subject.parse(input)?;
    Ok(Effect::CopyToken { who, of, amount, except: except.unwrap_or_default(), tapped: false })
}

fn print_copies(value: &Effect, out: &mut Printer<'_>) -> bool {
    let Effect::CopyToken { who, of, amount, except, tapped: false } = value else { return false };
    let is_begun = match amount {
        Amount::Fixed(1) => out.word(ONE_COPY),
        amount => super::words::NumberWord.print(amount, out) && out.word(MORE_COPIES),
    };
    is_begun
        && Object.print(of, out)
        && (except.is_empty()
            || (out.word(EXCEPT_IT_HAS)
                && super::words::print_list(&super::change::Gift, "and", except, out)))
        && Subject.print(who, out)
}

/// "Investigate": create a Clue token.
#[derive(Debug, Clone, Copy)]
struct Investigating;

impl Phrase for Investigating {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, if input.state.third { "investigates" } else { "investigate" })?;
        let who = Subject.parse(input)?;
        let token = super::token::known_token("Clue").ok_or(EmptyError)?;
        Ok(Effect::CreateToken { who, token: Box::new(token), amount: Amount::Fixed(1) })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::CreateToken { who, token, amount: Amount::Fixed(1) } = value else { return false };
        super::token::known_token("Clue").as_ref() == Some(token.as_ref())
            && out.word(if out.context.third { "investigates" } else { "investigate" })
            && Subject.print(who, out)
    }
}

/// "Populate": copy a creature token that the player controls.
#[derive(Debug, Clone, Copy)]
struct Populating;

fn populate() -> Effect {
    let tokens = Filter::All(vec![Filter::creature(), Filter::Token, Filter::yours()]);
    let chosen = Selector::Choice {
        from: Box::new(Selector::permanents(tokens)),
        min: Amount::Fixed(1),
        max: Amount::Fixed(1),
        chooser: Box::new(YOU),
    };
    Effect::CopyToken { who: YOU, of: chosen, amount: Amount::Fixed(1), except: Vec::new(), tapped: false }
}

impl Phrase for Populating {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(input, "populate")?;
        if Subject.parse(input)? == YOU { Ok(populate()) } else { Err(EmptyError) }
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        *value == populate() && out.word("populate")
    }
}

/// The player who acts in an effect of [`PlayerAction`].
pub(crate) fn subject_of(effect: &Effect) -> Option<&Selector> {
    match effect {
        Effect::Draw { who, .. }
        | Effect::Discard { who, .. }
        | Effect::DiscardHand { who }
        | Effect::GainLife { who, .. }
        | Effect::LoseLife { who, .. }
        | Effect::Mill { who, .. }
        | Effect::Scry { who, .. }
        | Effect::Surveil { who, .. }
        | Effect::Sacrifice { who, .. }
        | Effect::CreateToken { who, .. }
        | Effect::CopyToken { who, .. }
        | Effect::RevealHand { who }
        | Effect::LoseGame { who }
        | Effect::WinGame { who }
        | Effect::ExtraTurn { who }
        | Effect::Shuffle { who }
        | Effect::SkipNext { who, .. }
        | Effect::Proliferate { who }
        | Effect::AddMana { who, .. }
        | Effect::Search { who, .. }
        | Effect::LookAtTop { who, .. }
        | Effect::PlayerRule { who, .. } => Some(who),
        _ => None,
    }
}

rules! {
    /// Where an object is put, with the space before.
    Place: Destination {
        [" to its owner's hand"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" to their owner's hand"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" to their owners' hands"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" to your hand"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" to the battlefield"] => { Destination::zone(Zone::Battlefield) } <= { to if *to == Destination::zone(Zone::Battlefield) };
        [" to the battlefield tapped"] => { tapped(Destination::zone(Zone::Battlefield)) } <= { to if *to == tapped(Destination::zone(Zone::Battlefield)) };
        [" to the battlefield under its owner's control"] => { Destination::zone(Zone::Battlefield) } <= { to if *to == Destination::zone(Zone::Battlefield) };
        [" to the battlefield under their owner's control"] => { Destination::zone(Zone::Battlefield) } <= { to if *to == Destination::zone(Zone::Battlefield) };
        [" to the battlefield tapped under its owner's control"] => { tapped(Destination::zone(Zone::Battlefield)) } <= { to if *to == tapped(Destination::zone(Zone::Battlefield)) };
        [" to the battlefield under your control"] => { Destination::battlefield() } <= { to if *to == Destination::battlefield() };
        [" to the battlefield tapped under your control"] => { tapped(Destination::battlefield()) } <= { to if *to == tapped(Destination::battlefield()) };
    }
}

rules! {
    /// Where an object is put, after "put".
    PutPlace: Destination {
        [" onto the battlefield"] => { Destination::battlefield() } <= { to if *to == Destination::battlefield() };
        [" onto the battlefield tapped"] => { tapped(Destination::battlefield()) } <= { to if *to == tapped(Destination::battlefield()) };
        [" onto the battlefield under your control"] => { Destination::battlefield() } <= { to if *to == Destination::battlefield() };
        [" on top of its owner's library"] => { library(LibraryPosition::Top) } <= { to if *to == library(LibraryPosition::Top) };
        [" on top of their owner's library"] => { library(LibraryPosition::Top) } <= { to if *to == library(LibraryPosition::Top) };
        [" on top of their owners' libraries"] => { library(LibraryPosition::Top) } <= { to if *to == library(LibraryPosition::Top) };
        [" on top of your library"] => { library(LibraryPosition::Top) } <= { to if *to == library(LibraryPosition::Top) };
        [" on the bottom of its owner's library"] => { library(LibraryPosition::Bottom) } <= { to if *to == library(LibraryPosition::Bottom) };
        [" on the bottom of your library"] => { library(LibraryPosition::Bottom) } <= { to if *to == library(LibraryPosition::Bottom) };
        [" into your hand"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" into its owner's hand"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" into your graveyard"] => { Destination::zone(Zone::Graveyard) } <= { to if *to == Destination::zone(Zone::Graveyard) };
    }
}

pub(crate) fn tapped(destination: Destination) -> Destination {
    Destination { tapped: true, ..destination }
}

pub(crate) fn library(position: LibraryPosition) -> Destination {
    Destination { position, ..Destination::zone(Zone::Library) }
}

fn reveal_top() -> Effect {
    Effect::Reveal { what: Selector::TopOfLibrary { who: Box::new(YOU), count: Amount::Fixed(1) } }
}

/// The source of an ability, if it is in the graveyard.
pub(crate) fn buried_source() -> Selector {
    Selector::Matching { from: Box::new(Selector::This), filter: Filter::InZone(Zone::Graveyard) }
}

rules! {
    /// What is done to objects, in the imperative.
    ObjectAction: Effect {
        ["destroy " (what: AnyObjects)] => { Effect::Destroy { what, regenerate: true } };
        ["destroy " (what: AnyObjects) ". it can't be regenerated"] => { Effect::Destroy { what, regenerate: false } };
        ["destroy " (what: AnyObjects) ". that creature can't be regenerated"] => { Effect::Destroy { what, regenerate: false } };
        ["destroy " (what: AnyObjects) ". they can't be regenerated"] => { Effect::Destroy { what, regenerate: false } };
        [(effect: super::named_action::NamedAction)] => { effect };
        ["reveal the top card of your library"] => { reveal_top() } <= { effect if *effect == reveal_top() };
        ["exile " (what: MovedObject)] => { Effect::Exile { what } };
        ["exile " (what: AnyObjects) " until ~ leaves the battlefield"] => { Effect::ExileUntilLeaves { what } };
        ["return " (what: MovedObject) (to: Place)] => { Effect::Move { what, to } };
        ["return ~ from your graveyard" (to: Place)] => { Effect::Move { what: buried_source(), to } } <= { Effect::Move { what, to } if *what == buried_source() };
        ["put " (what: MovedObject) (to: PutPlace)] => { Effect::Move { what, to } };
        ["shuffle " (what: MovedObject) " into its owner's library"] => { Effect::ShuffleInto { what } };
        ["shuffle " (what: MovedObject) " into your library"] => { Effect::ShuffleInto { what } };
        ["shuffle " (what: MovedObject) " into their owners' libraries"] => { Effect::ShuffleInto { what } };
        ["tap " (what: AnyObjects)] => { Effect::Tap { what } };
        ["untap " (what: AnyObjects)] => { Effect::Untap { what } };
        ["counter " (what: AnyObjects)] => { Effect::Counter { what, to: None } };
        ["counter " (what: AnyObjects) ". if that spell is countered this way, put it into its owner's hand instead of into that player's graveyard"] => { Effect::Counter { what, to: Some(Destination::zone(Zone::Hand)) } }
            <= { Effect::Counter { what, to: Some(to) } if *to == Destination::zone(Zone::Hand) };
        ["counter " (what: AnyObjects) ". if that spell is countered this way, put it on top of its owner's library instead of into that player's graveyard"] => { Effect::Counter { what, to: Some(library(LibraryPosition::Top)) } }
            <= { Effect::Counter { what, to: Some(to) } if *to == library(LibraryPosition::Top) };
        ["counter " (what: AnyObjects) ". if that spell is countered this way, exile it instead of putting it into its owner's graveyard"] => { Effect::Counter { what, to: Some(Destination::zone(Zone::Exile)) } }
            <= { Effect::Counter { what, to: Some(to) } if *to == Destination::zone(Zone::Exile) };
        ["sacrifice " (what: ThisOrIt)] => { Effect::SacrificeObjects { what } };
        ["regenerate " (what: AnyObjects)] => { Effect::Regenerate { what } };
        ["goad " (what: AnyObjects)] => { Effect::Goad { what } };
        ["attach " (what: Object) " to " (to: Object)] => { Effect::Attach { what, to } };
        ["look at " (who: super::player::PlayerPossessive) "hand"] => { Effect::LookAtHand { who } };
        ["remove " (what: Object) " from combat"] => { Effect::RemoveFromCombat { what } };
        ["discard ~"] => { Effect::DiscardCards { what: Selector::This } };
        ["untap ~"] => { Effect::Untap { what: Selector::This } };
        [(effect: CounterAction)] => { effect };
        [(effect: super::prevention::Preventing)] => { effect };
        ["copy " (what: Object)] => { Effect::CopySpell { what, amount: Amount::Fixed(1), new_targets: false } };
    }
}

rules! {
    /// The object itself, which a sacrifice may name.
    ThisOrIt: Selector {
        ["~"] => { Selector::This };
        [(what: Pronoun)] => { what };
    }
}

/// A pronoun for an object.
#[derive(Debug, Clone, Copy)]
struct Pronoun;

impl Phrase for Pronoun {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if !input.input.starts_with("it")
            && !input.input.starts_with("that ")
            && !input.input.starts_with("the ")
            && !input.input.starts_with("them")
        {
            return Err(EmptyError);
        }
        MovedObject.parse(input)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        *value != Selector::This && MovedObject.print(value, out)
            || *value == Selector::This && out.context.it.as_ref() == Some(value) && out.word("it")
    }
}

/// "Put two +1/+1 counters on target creature", "remove a charge counter from ~".
#[derive(Debug, Clone, Copy)]
struct CounterAction;

impl Phrase for CounterAction {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        if has_word(input, "remove ") {
            let (kind, amount) = super::cost::Counters.parse(input)?;
            word(input, " from ")?;
            let what = AnyObjects.parse(input)?;
            return Ok(Effect::RemoveCounters { what, kind: Some(kind), amount });
        }
        word(input, "put ")?;
        let (kind, amount) = super::cost::Counters.parse(input)?;
        word(input, " on ")?;
        let what = attempt(input, |input| {
            has_word(input, "each of ");
            AnyObjects.parse(input)
        })?;
        let amount = match (amount, attempt(input, parse_each)) {
            (Amount::Fixed(number), Ok(each)) => super::amount::multiply(each, number),
            (amount, _) => amount,
        };
        Ok(Effect::PutCounters { what, kind, amount })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        match value {
            Effect::RemoveCounters { what, kind: Some(kind), amount } => {
                out.word("remove ")
                    && super::cost::Counters.print(&(*kind, amount.clone()), out)
                    && out.word(" from ")
                    && AnyObjects.print(what, out)
            }
            Effect::PutCounters { what, kind, amount } => {
                let plain = |amount: &Amount, out: &mut Printer<'_>| {
                    out.word("put ")
                        && super::cost::Counters.print(&(*kind, amount.clone()), out)
                        && out.word(" on ")
                        && (!out.has_next("each of ") || out.word("each of "))
                        && AnyObjects.print(what, out)
                };
                if out.attempt(|out| plain(amount, out) && !out.has_next(" for each ")) {
                    return true;
                }
                let (each, number) = super::amount::divide(amount);
                plain(&Amount::Fixed(number), out)
                    && out.word(" for each ")
                    && super::amount::EachPhrase.print(each, out)
            }
            _ => false,
        }
    }
}

fn parse_each(input: &mut Input<'_>) -> ParseResult<Amount> {
    word(input, " for each ")?;
    super::amount::EachPhrase.parse(input)
}

rules! {
    /// What an object does: it is the subject.
    ObjectVerb: Effect {
        [(source: Object) " deals " (amount: Number) " damage to " (to: Damaged)] => { Effect::DealDamage { source, amount, to } };
        [(source: Object) " deals damage equal to " (amount: AmountPhrase) " to " (to: Damaged)] => { Effect::DealDamage { source, amount, to } };
        [(source: Object) " deals damage to " (to: Damaged) " equal to " (amount: AmountPhrase)] => { Effect::DealDamage { source, amount, to } };
        [(source: Object) " deals " (amount: ThatMuch) " damage to " (to: Damaged)] => { Effect::DealDamage { source, amount, to } };
        [(first: Object) " fights " (second: Object)] => { Effect::Fight { first, second } };
        [(what: Object) " explores"] => { Effect::Explore { what } };
        [(what: Object) " explores again"] => { Effect::Explore { what } };
        ["have " (source: Object) " deal " (amount: Number) " damage to " (to: Damaged)] => { Effect::DealDamage { source, amount, to } };
        [(effect: DividedDamage)] => { effect };
    }
}

rules! {
    /// What is dealt damage.
    Damaged: Selector {
        ["you"] => { Selector::You };
        [(what: AnyObjects)] => { what };
        [(who: Player)] => { who };
        [(what: Itself)] => { what };
        ["each of " (what: super::object::Objects)] => { what };
        [(union: DamagedPair)] => { union };
    }
}

/// "Itself": the object that deals the damage.
#[derive(Debug, Clone, Copy)]
struct Itself;

impl Phrase for Itself {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        word(input, "itself")?;
        input.state.it.clone().ok_or(EmptyError)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        out.context.it.as_ref() == Some(value) && out.word("itself")
    }
}

/// "Each creature and each player".
#[derive(Debug, Clone, Copy)]
struct DamagedPair;

impl Phrase for DamagedPair {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if !input.input.starts_with("each ") {
            return Err(EmptyError);
        }
        let first = Object.parse(input)?;
        word(input, " and ")?;
        let second = if input.input.starts_with("each ")
            && !input.input.starts_with("each player")
            && !input.input.starts_with("each opponent")
        {
            Object.parse(input)?
        } else {
            Player.parse(input)?
        };
        Ok(Selector::Union(vec![first, second]))
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        let Selector::Union(both) = value else { return false };
        let [first, second] = both.as_slice() else { return false };
        Object.print(first, out)
            && out.word(" and ")
            && (out.attempt(|out| Player.print(second, out)) || Object.print(second, out))
    }
}

/// "~ deals 3 damage divided as you choose among one, two, or three targets".
#[derive(Debug, Clone, Copy)]
struct DividedDamage;

impl Phrase for DividedDamage {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        let source = Object.parse(input)?;
        word(input, " deals ")?;
        let amount = Number.parse(input)?;
        word(input, " damage divided as you choose among ")?;
        let Selector::Target(slot) = super::object::Objects.parse(input)? else { return Err(EmptyError) };
        let spec = input.state.targets.get_mut(usize::from(slot)).ok_or(EmptyError)?;
        spec.divided = Some(amount);
        Ok(Effect::DealDividedDamage { source, slot })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::DealDividedDamage { source, slot } = value else { return false };
        let divided = out.context.targets.get(usize::from(*slot)).and_then(|spec| spec.divided.clone());
        let Some(amount) = divided else { return false };
        Object.print(source, out)
            && out.word(" deals ")
            && Number.print(&amount, out)
            && out.word(" damage divided as you choose among ")
            && super::object::print_several_targets(&Selector::Target(*slot), out)
    }
}
