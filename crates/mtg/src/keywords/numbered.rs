//! Keywords with a number.

use super::{
    attacks, counters, dies, effects, enters, enters_with, pump, subject, this, triggered, triggered_if, you,
};
use crate::ability::{
    Ability, Amount, Body, Change, Comparison, Condition, Cost, CounterKind, Destination, Duration, Effect,
    EventPattern, EventRole, Filter, Instruction, Keyword, KeywordAbility, ObjectMark, Replacement,
    ReplacementAction, ReplacementPattern, Selector, TargetSpec, TokenSpec, TurnStatistic, TurnStep, Zone,
};
use crate::card::{CardFace, CardType, Color, ColorSet, Subtype, TypeSet};

pub(super) fn expand_numbered_keyword(keyword: &KeywordAbility) -> Vec<Ability> {
    let fixed = |number: &u8| Amount::Fixed(i32::from(*number));
    match keyword {
        KeywordAbility::Bushido(number) => {
            let size = i32::from(*number);
            let text = format!("Bushido {number}");
            let blocks = EventPattern::Blocks { what: this(), attacker: Filter::Any };
            let blocked = EventPattern::BecomesBlocked { what: this(), by: None };
            vec![
                triggered(text.clone(), blocks, vec![pump(Selector::This, size, size)]),
                triggered(text, blocked, vec![pump(Selector::This, size, size)]),
            ]
        }
        KeywordAbility::Annihilator(number) => {
            let sacrifice = Effect::Sacrifice {
                who: Selector::Event(EventRole::Player),
                filter: Filter::Permanent,
                amount: fixed(number),
            };
            vec![triggered(format!("Annihilator {number}"), attacks(this()), vec![sacrifice.into()])]
        }
        KeywordAbility::Afflict(number) => {
            let lose = Effect::LoseLife { who: Selector::DefendingPlayer, amount: fixed(number) };
            let event = EventPattern::BecomesBlocked { what: this(), by: None };
            vec![triggered(format!("Afflict {number}"), event, vec![lose.into()])]
        }
        KeywordAbility::Rampage(number) => {
            let blockers = Filter::BlockingAny(Box::new(Selector::This));
            let extra = Amount::Difference(
                Box::new(Amount::Count(Box::new(Selector::permanents(blockers)))),
                Box::new(Amount::Fixed(1)),
            );
            let size = Amount::Times(Box::new(extra), i32::from(*number));
            let grow = Effect::Continuous {
                affected: Selector::This,
                changes: vec![Change::Modify { power: size.clone(), toughness: size }],
                until: Duration::EndOfTurn,
            };
            let event = EventPattern::BecomesBlocked { what: this(), by: None };
            vec![triggered(format!("Rampage {number}"), event, vec![grow.into()])]
        }
        KeywordAbility::Bloodthirst(amount) => {
            let hurt = Condition::Compare(
                Amount::ThisTurn(TurnStatistic::DamageTaken, Box::new(Selector::EachOpponent)),
                Comparison::More,
                Amount::Fixed(0),
            );
            vec![enters_with(amount.clone(), CounterKind::PlusOne, Some(hurt))]
        }
        KeywordAbility::Modular(number) => {
            vec![enters_with(fixed(number), CounterKind::PlusOne, None), modular(*number)]
        }
        KeywordAbility::Graft(number) => {
            vec![enters_with(fixed(number), CounterKind::PlusOne, None), graft(*number)]
        }
        KeywordAbility::Soulshift(number) => vec![soulshift(*number)],
        KeywordAbility::Devour(number) => vec![devour(*number)],
        KeywordAbility::Dash(_) => vec![dash()],
        KeywordAbility::Vanishing(number) => timed(*number, CounterKind::Time, "Vanishing"),
        KeywordAbility::Fading(number) => timed(*number, CounterKind::Fade, "Fading"),
        KeywordAbility::Renown(number) => {
            let fresh = Condition::Not(Box::new(Condition::Matches(
                Selector::This,
                Filter::Marked(ObjectMark::Renowned),
            )));
            let event = EventPattern::Damage { source: this(), to: Filter::Player, combat: Some(true) };
            let mark = Effect::Mark { what: Selector::This, mark: ObjectMark::Renowned };
            let body = effects(vec![counters(Selector::This, fixed(number)), mark.into()]);
            vec![triggered_if(format!("Renown {number}"), event, Some(fresh), body)]
        }
        KeywordAbility::Fabricate(number) => vec![fabricate(*number)],
        KeywordAbility::Afterlife(number) => {
            let face = token_face("Spirit", &[Color::White, Color::Black], 1, &[Keyword::Flying]);
            let create = create_tokens(face, fixed(number));
            vec![triggered(format!("Afterlife {number}"), dies(this()), vec![create])]
        }
        KeywordAbility::Poisonous(number) => {
            let event = EventPattern::Damage { source: this(), to: Filter::Player, combat: Some(true) };
            let poison = Effect::PutCounters {
                what: Selector::Event(EventRole::Player),
                kind: CounterKind::Poison,
                amount: fixed(number),
            };
            vec![triggered(format!("Poisonous {number}"), event, vec![poison.into()])]
        }
        KeywordAbility::Evoke(_) => {
            let marked = Condition::Matches(Selector::This, Filter::Marked(ObjectMark::Evoked));
            let body = effects(vec![Effect::SacrificeObjects { what: Selector::This }.into()]);
            vec![triggered_if("Evoke".to_string(), enters(this()), Some(marked), body)]
        }
        KeywordAbility::Echo(cost) => vec![echo(cost)],
        _ => Vec::new(),
    }
}

pub(super) fn token_face(name: &str, colors: &[Color], size: i32, keywords: &[Keyword]) -> CardFace {
    CardFace {
        name: name.to_string(),
        colors: ColorSet::from_members(colors),
        types: TypeSet::from_members(&[CardType::Creature]),
        subtypes: Subtype::find(name).into_iter().collect(),
        power: Some(size),
        toughness: Some(size),
        abilities: keywords.iter().map(|keyword| Ability::Keyword(*keyword)).collect(),
        ..CardFace::default()
    }
}

pub(super) fn create_tokens(face: CardFace, amount: Amount) -> Instruction {
    let token = TokenSpec {
        face,
        size: None,
        tapped: false,
        attacking: false,
        counters: Vec::new(),
        attached_to: None,
    };
    Effect::CreateToken { who: Selector::You, token: Box::new(token), amount }.into()
}

pub(super) fn fabricate(number: u8) -> Ability {
    let mut servo = token_face("Servo", &[], 1, &[]);
    servo.types = TypeSet::from_members(&[CardType::Artifact, CardType::Creature]);
    let amount = Amount::Fixed(i32::from(number));
    let choose = Effect::ChooseOne {
        who: Selector::You,
        options: vec![vec![counters(Selector::This, amount.clone())], vec![create_tokens(servo, amount)]],
    };
    triggered(format!("Fabricate {number}"), enters(this()), vec![choose.into()])
}

pub(super) fn modular(number: u8) -> Ability {
    let wanted = Filter::All(vec![Filter::Type(CardType::Artifact), Filter::creature()]);
    let amount = Amount::Counters(Box::new(subject()), Some(CounterKind::PlusOne));
    let may = Effect::May {
        who: Selector::You,
        then: vec![counters(Selector::Target(0), amount)],
        otherwise: Vec::new(),
    };
    let body = Body { targets: vec![TargetSpec::single(wanted)], effects: vec![may.into()], modes: None };
    triggered_if(format!("Modular {number}"), dies(this()), None, body)
}

/// Graft (702.58a): a counter may go to another creature that enters.
fn graft(number: u8) -> Ability {
    let plus = CounterKind::PlusOne;
    let grown = Filter::Counters(Some(plus), Comparison::AtLeast, Box::new(Amount::Fixed(1)));
    let give = Effect::MoveCounters {
        from: Selector::This,
        to: subject(),
        kind: Some(plus),
        amount: Amount::Fixed(1),
    };
    let may = Effect::May { who: Selector::You, then: vec![give.into()], otherwise: Vec::new() };
    let event = enters(Filter::All(vec![Filter::creature(), Filter::Other]));
    let condition = Condition::Matches(Selector::This, grown);
    triggered_if(format!("Graft {number}"), event, Some(condition), effects(vec![may.into()]))
}

/// Soulshift (702.46a): a cheap enough Spirit card may return to the hand.
fn soulshift(number: u8) -> Ability {
    let mut wanted = vec![
        Filter::Controller(Box::new(Selector::You)),
        Filter::ManaValue(Comparison::AtMost, Box::new(Amount::Fixed(i32::from(number)))),
    ];
    wanted.extend(Subtype::find("Spirit").map(Filter::Subtype));
    let target = TargetSpec { zone: Zone::Graveyard, ..TargetSpec::single(Filter::All(wanted)) };
    let back = Effect::Move { what: Selector::Target(0), to: Destination::zone(Zone::Hand) };
    let may = Effect::May { who: Selector::You, then: vec![back.into()], otherwise: Vec::new() };
    let body = Body { targets: vec![target], effects: vec![may.into()], modes: None };
    triggered_if(format!("Soulshift {number}"), dies(this()), None, body)
}

/// Devour (702.82a): counters for the creatures that are sacrificed as it enters.
fn devour(number: u8) -> Ability {
    let action = ReplacementAction::EnterSacrificing {
        filter: Filter::creature(),
        kind: CounterKind::PlusOne,
        each: number,
    };
    Ability::Replacement(Box::new(Replacement {
        pattern: ReplacementPattern::Enters { what: this() },
        condition: None,
        action,
        optional: false,
        uses: None,
    }))
}

/// Dash (702.109a): back to the hand at the beginning of the end step.
fn dash() -> Ability {
    let marked = Condition::Matches(Selector::This, Filter::Marked(ObjectMark::Dashed));
    let back = Effect::Move { what: Selector::This, to: Destination::zone(Zone::Hand) };
    let event = EventPattern::Step { step: TurnStep::End, whose: Filter::Player };
    triggered_if("Dash".to_string(), event, Some(marked), effects(vec![back.into()]))
}

/// Vanishing and fading: counters that run out (702.63, 702.32).
pub(super) fn timed(number: u8, kind: CounterKind, name: &str) -> Vec<Ability> {
    let left = Condition::Compare(
        Amount::Counters(Box::new(Selector::This), Some(kind)),
        Comparison::More,
        Amount::Fixed(0),
    );
    let remove = Effect::RemoveCounters { what: Selector::This, kind: Some(kind), amount: Amount::Fixed(1) };
    let leave: Instruction = Effect::SacrificeObjects { what: Selector::This }.into();
    let upkeep = EventPattern::Step { step: TurnStep::Upkeep, whose: you() };
    let text = format!("{name} {number}");
    let enter = enters_with(Amount::Fixed(i32::from(number)), kind, None);
    if kind == CounterKind::Fade {
        let step = Effect::If { condition: left, then: vec![remove.into()], otherwise: vec![leave] };
        return vec![enter, triggered(text, upkeep, vec![step.into()])];
    }
    let last = EventPattern::LastCounterRemoved { what: this(), kind };
    vec![
        enter,
        triggered_if(text.clone(), upkeep, Some(left), effects(vec![remove.into()])),
        triggered(text, last, vec![leave]),
    ]
}

pub(super) fn echo(cost: &Cost) -> Ability {
    let pay = Effect::MayPay {
        who: Selector::You,
        cost: cost.clone(),
        then: Vec::new(),
        otherwise: vec![Effect::SacrificeObjects { what: Selector::This }.into()],
    };
    let recent = Condition::Matches(Selector::This, Filter::SinceLastUpkeep);
    let upkeep = EventPattern::Step { step: TurnStep::Upkeep, whose: you() };
    triggered_if(format!("Echo {}", cost.mana), upkeep, Some(recent), effects(vec![pay.into()]))
}
