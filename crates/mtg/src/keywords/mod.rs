//! Keywords expanded into the abilities that they stand for (702).
//!
//! Keywords that change a rule (flying, trample, hexproof) are handled where the rule is; those that
//! are short for a triggered or activated ability are expanded here, so that the engine runs them
//! like any other ability. [`is_implemented`] names the keywords that a card may have; the compiler
//! declines cards with others. Myriad, partner and assist do nothing in a game of two players.

mod numbered;

use crate::ability::{
    Ability, ActivatedAbility, Amount, Body, Change, Comparison, Condition, Cost, CostPart, CounterKind,
    Destination, Duration, Effect, EventPattern, EventRole, Filter, Instruction, Keyword, KeywordAbility,
    LibraryPosition, ObjectMark, Replacement, ReplacementAction, ReplacementPattern, RestOfCards,
    Restriction, Selector, StaticAbility, TargetSpec, TokenSpec, TriggeredAbility, TurnStep, Zone,
};
use crate::card::{CardFace, CardType, Color, ColorSet, ManaCost, Subtype, TypeSet};
use numbered::expand_numbered_keyword;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static EXPANSIONS: LazyLock<BTreeMap<Keyword, Vec<Ability>>> = LazyLock::new(|| {
    Keyword::ALL
        .iter()
        .map(|keyword| (*keyword, build_keyword(*keyword)))
        .filter(|(_, abilities)| !abilities.is_empty())
        .collect()
});

/// Abilities that a keyword without a parameter stands for; empty if the keyword changes a rule.
#[must_use]
pub(crate) fn expand_keyword(keyword: Keyword) -> &'static [Ability] {
    EXPANSIONS.get(&keyword).map_or(&[], Vec::as_slice)
}

/// Keywords that the engine has no rules for.
const UNIMPLEMENTED: [Keyword; 12] = [
    Keyword::Provoke,
    Keyword::Epic,
    Keyword::Soulbond,
    Keyword::Cipher,
    Keyword::TotemArmor,
    Keyword::Banding,
    Keyword::Phasing,
    Keyword::StartYourEngines,
    Keyword::Foretell,
    Keyword::Demonstrate,
    Keyword::Daybound,
    Keyword::Nightbound,
];

/// Whether the engine knows the rules of a keyword.
#[must_use]
pub(crate) fn is_implemented(keyword: Keyword) -> bool {
    !UNIMPLEMENTED.contains(&keyword)
}

fn this() -> Filter {
    Filter::This
}

fn you() -> Filter {
    Filter::Is(Box::new(Selector::You))
}

fn subject() -> Selector {
    Selector::Event(EventRole::Subject)
}

fn other() -> Selector {
    Selector::Event(EventRole::Other)
}

fn triggered(text: String, event: EventPattern, effects: Vec<Instruction>) -> Ability {
    triggered_if(text, event, None, Body { effects, ..Body::default() })
}

fn triggered_if(text: String, event: EventPattern, condition: Option<Condition>, body: Body) -> Ability {
    Ability::Triggered(Box::new(TriggeredAbility {
        events: vec![event],
        batch: false,
        condition,
        body,
        per_turn: None,
        zone: None,
        text,
    }))
}

fn pump(affected: Selector, power: i32, toughness: i32) -> Instruction {
    Effect::Continuous {
        affected,
        changes: vec![Change::Modify { power: Amount::Fixed(power), toughness: Amount::Fixed(toughness) }],
        until: Duration::EndOfTurn,
    }
    .into()
}

fn counters(what: Selector, amount: Amount) -> Instruction {
    Effect::PutCounters { what, kind: CounterKind::PlusOne, amount }.into()
}

fn attacks(what: Filter) -> EventPattern {
    EventPattern::Attacks { what, defender: None, alone: false }
}

fn enters(what: Filter) -> EventPattern {
    EventPattern::ZoneChange { what, from: None, to: Some(Zone::Battlefield) }
}

fn dies(what: Filter) -> EventPattern {
    EventPattern::ZoneChange { what, from: Some(Zone::Battlefield), to: Some(Zone::Graveyard) }
}

fn enters_with(amount: Amount, kind: CounterKind, condition: Option<Condition>) -> Ability {
    Ability::Replacement(Box::new(Replacement {
        pattern: ReplacementPattern::Enters { what: this() },
        condition,
        action: ReplacementAction::EnterWithCounters { kind, amount },
        optional: false,
        uses: None,
    }))
}

/// Undying and persist: returns with a counter if it had none of the kind.
fn returning(keyword: Keyword, kind: CounterKind) -> Ability {
    let none = Filter::Counters(Some(kind), Comparison::Equal, Box::new(Amount::Fixed(0)));
    let to = Destination { counters: vec![(kind, Amount::Fixed(1))], ..Destination::zone(Zone::Battlefield) };
    triggered(keyword.text(), dies(this().and(none)), vec![Effect::Move { what: subject(), to }.into()])
}

fn build_keyword(keyword: Keyword) -> Vec<Ability> {
    let creature = Filter::creature;
    let power_of = |selector: Selector| Box::new(Amount::Power(Box::new(selector)));
    let text = keyword.text();
    match keyword {
        Keyword::Prowess => {
            let spell = Filter::Spell.and(creature().negate());
            let event = EventPattern::Cast { who: you(), spell, from: None };
            vec![triggered(text, event, vec![pump(Selector::This, 1, 1)])]
        }
        Keyword::Exalted => {
            let event =
                EventPattern::Attacks { what: creature().and(Filter::yours()), defender: None, alone: true };
            vec![triggered(text, event, vec![pump(subject(), 1, 1)])]
        }
        Keyword::Undying => vec![returning(keyword, CounterKind::PlusOne)],
        Keyword::Persist => vec![returning(keyword, CounterKind::MinusOne)],
        Keyword::Flanking => {
            let by = Some(Filter::Keyword(Keyword::Flanking).negate());
            vec![triggered(
                text,
                EventPattern::BecomesBlocked { what: this(), by },
                vec![pump(other(), -1, -1)],
            )]
        }
        Keyword::BattleCry => {
            let others = Selector::permanents(Filter::All(vec![Filter::Attacking, Filter::Other]));
            vec![triggered(text, attacks(this()), vec![pump(others, 1, 0)])]
        }
        Keyword::Evolve => {
            let bigger = Filter::AnyOf(vec![
                Filter::Power(Comparison::More, power_of(Selector::This)),
                Filter::Toughness(Comparison::More, Box::new(Amount::Toughness(Box::new(Selector::This)))),
            ]);
            let event = enters(Filter::All(vec![creature(), Filter::yours(), Filter::Other]));
            let body = Body { effects: vec![counters(Selector::This, Amount::Fixed(1))], ..Body::default() };
            vec![triggered_if(text, event, Some(Condition::Matches(subject(), bigger)), body)]
        }
        Keyword::Mentor => {
            let lesser = Filter::Power(Comparison::Less, power_of(Selector::This));
            let body = Body {
                targets: vec![TargetSpec::single(Filter::All(vec![creature(), Filter::Attacking, lesser]))],
                effects: vec![counters(Selector::Target(0), Amount::Fixed(1))],
                modes: None,
            };
            vec![triggered_if(text, attacks(this()), None, body)]
        }
        Keyword::Training => {
            let stronger = Filter::All(vec![
                Filter::Attacking,
                Filter::Other,
                Filter::Power(Comparison::More, power_of(Selector::This)),
            ]);
            let body = Body { effects: vec![counters(Selector::This, Amount::Fixed(1))], ..Body::default() };
            let condition = Condition::Exists(Selector::permanents(stronger));
            vec![triggered_if(text, attacks(this()), Some(condition), body)]
        }
        _ => build_other_keyword(keyword, text),
    }
}

/// Keywords that do not change the size of creatures in combat.
fn build_other_keyword(keyword: Keyword, text: String) -> Vec<Ability> {
    match keyword {
        Keyword::Extort => {
            let drain = vec![
                Effect::LoseLife { who: Selector::EachOpponent, amount: Amount::Fixed(1) }.bind(0),
                Effect::GainLife { who: Selector::You, amount: Amount::Binding(0) }.into(),
            ];
            let symbols = vec![crate::card::ManaSymbol::Hybrid(Color::White, Color::Black)];
            let pay = Effect::MayPay {
                who: Selector::You,
                cost: Cost::mana(ManaCost { symbols }),
                then: drain,
                otherwise: Vec::new(),
            };
            let event = EventPattern::Cast { who: you(), spell: Filter::Spell, from: None };
            vec![triggered(text, event, vec![pay.into()])]
        }
        Keyword::Riot => vec![Ability::Replacement(Box::new(Replacement {
            pattern: ReplacementPattern::Enters { what: this() },
            condition: None,
            action: ReplacementAction::Choice(vec![
                ReplacementAction::EnterWithCounters { kind: CounterKind::PlusOne, amount: Amount::Fixed(1) },
                ReplacementAction::EnterWithKeyword(Keyword::Haste),
            ]),
            optional: false,
            uses: None,
        }))],
        Keyword::Dethrone => {
            let most = Condition::Compare(
                Amount::Life(Box::new(Selector::Event(EventRole::Player))),
                Comparison::AtLeast,
                Amount::Life(Box::new(Selector::You)),
            );
            let body = Body { effects: vec![counters(Selector::This, Amount::Fixed(1))], ..Body::default() };
            vec![triggered_if(text, attacks(this()), Some(most), body)]
        }
        Keyword::Ingest => {
            let event = EventPattern::Damage { source: this(), to: Filter::Player, combat: Some(true) };
            let top = Selector::TopOfLibrary {
                who: Box::new(Selector::Event(EventRole::Player)),
                count: Amount::Fixed(1),
            };
            vec![triggered(text, event, vec![Effect::Exile { what: top }.into()])]
        }
        Keyword::LivingWeapon => vec![living_weapon(text)],
        Keyword::Storm => {
            let copy = Effect::CopySpell { what: subject(), amount: Amount::SpellsBefore, new_targets: true };
            vec![triggered(text, EventPattern::CastThis, vec![copy.into()])]
        }
        Keyword::Cascade => vec![cascade(text)],
        Keyword::Unleash => unleash(),
        Keyword::Melee => {
            let attacked = Filter::AttackingPlayer(Box::new(Selector::EachOpponent));
            let body = effects(vec![pump(Selector::This, 1, 1)]);
            let condition = Condition::Exists(Selector::permanents(attacked));
            vec![triggered_if(text, attacks(this()), Some(condition), body)]
        }
        Keyword::Sunburst => {
            let colored = |kind, filter| {
                let condition = Condition::Matches(Selector::This, filter);
                enters_with(Amount::ColorsSpent, kind, Some(condition))
            };
            vec![
                colored(CounterKind::PlusOne, Filter::creature()),
                colored(CounterKind::Charge, Filter::creature().negate()),
            ]
        }
        Keyword::Decayed => {
            let later = TriggeredAbility {
                events: vec![EventPattern::Step { step: TurnStep::EndCombat, whose: Filter::Player }],
                batch: false,
                condition: None,
                body: effects(vec![Effect::SacrificeObjects { what: Selector::This }.into()]),
                per_turn: None,
                zone: None,
                text: text.clone(),
            };
            let trigger = Box::new(later);
            let wait = Effect::DelayedTrigger { trigger, once: true, until: Duration::EndOfTurn };
            vec![triggered(text, attacks(this()), vec![wait.into()])]
        }
        Keyword::Exploit => {
            let sacrifice = Effect::Sacrifice {
                who: Selector::You,
                filter: Filter::creature(),
                amount: Amount::Fixed(1),
            };
            let may = Effect::May { who: Selector::You, then: vec![sacrifice.into()], otherwise: Vec::new() };
            vec![triggered(text, enters(this()), vec![may.into()])]
        }
        _ => Vec::new(),
    }
}

/// Cascade (702.85a): the first cheaper nonland card is exiled and may be cast for nothing.
fn cascade(text: String) -> Ability {
    let own = Box::new(Amount::ManaValue(Box::new(Selector::This)));
    let filter =
        Filter::All(vec![Filter::Type(CardType::Land).negate(), Filter::ManaValue(Comparison::Less, own)]);
    let exile = Effect::RevealUntil {
        who: Selector::You,
        filter,
        to: Destination::zone(Zone::Exile),
        rest: RestOfCards::BottomRandom,
    };
    let cast = Effect::CastNow { who: Selector::You, what: Selector::Binding(0), free: true, cost: None };
    let left =
        Selector::Matching { from: Box::new(Selector::Binding(0)), filter: Filter::InZone(Zone::Exile) };
    let bottom = Destination { position: LibraryPosition::Bottom, ..Destination::zone(Zone::Library) };
    let back = Effect::Move { what: left, to: bottom };
    triggered(text, EventPattern::CastThis, vec![exile.bind(0), cast.into(), back.into()])
}

/// Unleash (702.98a): with a counter if the player wants, and then it cannot block.
fn unleash() -> Vec<Ability> {
    let counter = Ability::Replacement(Box::new(Replacement {
        pattern: ReplacementPattern::Enters { what: this() },
        condition: None,
        action: ReplacementAction::EnterWithCounters { kind: CounterKind::PlusOne, amount: Amount::Fixed(1) },
        optional: true,
        uses: None,
    }));
    let grown = Filter::Counters(Some(CounterKind::PlusOne), Comparison::AtLeast, Box::new(Amount::Fixed(1)));
    let stay = Ability::Static(Box::new(StaticAbility {
        affected: Selector::This,
        changes: vec![Change::Restriction(Restriction::CantBlock)],
        condition: Some(Condition::Matches(Selector::This, grown)),
        zone: None,
    }));
    vec![counter, stay]
}

fn living_weapon(text: String) -> Ability {
    let face = CardFace {
        name: "Phyrexian Germ".to_string(),
        colors: ColorSet::from_members(&[Color::Black]),
        types: TypeSet::from_members(&[CardType::Creature]),
        subtypes: ["Phyrexian", "Germ"].iter().filter_map(|name| Subtype::find(name)).collect(),
        power: Some(0),
        toughness: Some(0),
        ..CardFace::default()
    };
    let token = TokenSpec {
        face,
        size: None,
        tapped: false,
        attacking: false,
        counters: Vec::new(),
        attached_to: None,
    };
    let create = Effect::CreateToken { who: Selector::You, token: Box::new(token), amount: Amount::Fixed(1) };
    let attach = Effect::Attach { what: Selector::This, to: Selector::Binding(0) };
    triggered(text, enters(this()), vec![create.bind(0), attach.into()])
}

fn activated(text: String, cost: Cost, body: Body, sorcery_speed: bool, zone: Zone) -> Ability {
    Ability::Activated(Box::new(ActivatedAbility {
        cost,
        body,
        sorcery_speed,
        condition: None,
        per_turn: None,
        zone,
        any_player: false,
        text,
    }))
}

fn with_part(cost: &Cost, part: CostPart) -> Cost {
    let mut cost = cost.clone();
    cost.parts.push(part);
    cost
}

fn effects(effects: Vec<Instruction>) -> Body {
    Body { effects, ..Body::default() }
}

/// Abilities that a keyword with a parameter stands for.
#[must_use]
pub(crate) fn expand_keyword_ability(keyword: &KeywordAbility) -> Vec<Ability> {
    match keyword {
        KeywordAbility::Ward(cost) => {
            let by = Filter::AnyOf(vec![Filter::Spell, Filter::AbilityOnStack]).and(Filter::opponents());
            let pay = Effect::MayPay {
                who: Selector::Controller(Box::new(other())),
                cost: cost.clone(),
                then: Vec::new(),
                otherwise: vec![Effect::Counter { what: other(), to: None }.into()],
            };
            let event = EventPattern::BecomesTarget { what: this(), by };
            vec![triggered(format!("Ward {}", cost.mana), event, vec![pay.into()])]
        }
        KeywordAbility::Equip { cost, filter } => {
            let mut wanted = Filter::creature().and(Filter::yours());
            if let Some(filter) = filter {
                wanted = wanted.and(filter.clone());
            }
            let body = Body {
                targets: vec![TargetSpec::single(wanted)],
                effects: vec![Effect::Attach { what: Selector::This, to: Selector::Target(0) }.into()],
                modes: None,
            };
            vec![activated(format!("Equip {}", cost.mana), cost.clone(), body, true, Zone::Battlefield)]
        }
        KeywordAbility::Ninjutsu(cost) => {
            let unblocked = Filter::creature().and(Filter::Unblocked).and(Filter::yours());
            let part = CostPart::ReturnToHand { filter: unblocked, count: Amount::Fixed(1) };
            let to = Destination { tapped: true, attacking: true, ..Destination::zone(Zone::Battlefield) };
            let enter = Effect::Move { what: Selector::This, to };
            let text = format!("Ninjutsu {}", cost.mana);
            vec![activated(text, with_part(cost, part), effects(vec![enter.into()]), false, Zone::Hand)]
        }
        KeywordAbility::Crew(power) => {
            let animate = Effect::Continuous {
                affected: Selector::This,
                changes: vec![Change::AddTypes(vec![CardType::Artifact, CardType::Creature])],
                until: Duration::EndOfTurn,
            };
            let cost = Cost { parts: vec![CostPart::TapPower(*power)], ..Cost::default() };
            vec![activated(
                format!("Crew {power}"),
                cost,
                effects(vec![animate.into()]),
                false,
                Zone::Battlefield,
            )]
        }
        KeywordAbility::Cycling { cost, search } => {
            let effect = match search {
                None => Effect::Draw { who: Selector::You, amount: Amount::Fixed(1) },
                Some(filter) => Effect::Search {
                    who: Selector::You,
                    library: Selector::You,
                    filter: filter.clone(),
                    min: Amount::Fixed(0),
                    max: Amount::Fixed(1),
                    reveal: true,
                    to: Destination::zone(Zone::Hand),
                    shuffle_before: false,
                },
            };
            let text = format!("Cycling {}", cost.mana);
            vec![activated(
                text,
                with_part(cost, CostPart::DiscardThis),
                effects(vec![effect.into()]),
                false,
                Zone::Hand,
            )]
        }
        KeywordAbility::Unearth(cost) => vec![unearth(cost)],
        KeywordAbility::Embalm(cost) => vec![embalm("Embalm", cost, false)],
        KeywordAbility::Eternalize(cost) => vec![embalm("Eternalize", cost, true)],
        KeywordAbility::Outlast(_) | KeywordAbility::Scavenge(_) | KeywordAbility::Reinforce { .. } => {
            expand_counter_keyword(keyword)
        }
        _ => expand_numbered_keyword(keyword),
    }
}

/// Activated abilities that put +1/+1 counters on a creature.
fn expand_counter_keyword(keyword: &KeywordAbility) -> Vec<Ability> {
    match keyword {
        KeywordAbility::Outlast(cost) => {
            let body = effects(vec![counters(Selector::This, Amount::Fixed(1))]);
            vec![activated(
                format!("Outlast {}", cost.mana),
                with_part(cost, CostPart::Tap),
                body,
                true,
                Zone::Battlefield,
            )]
        }
        KeywordAbility::Scavenge(cost) => {
            let body = Body {
                targets: vec![TargetSpec::single(Filter::creature())],
                effects: vec![counters(Selector::Target(0), Amount::Power(Box::new(Selector::This)))],
                modes: None,
            };
            vec![activated(
                format!("Scavenge {}", cost.mana),
                with_part(cost, CostPart::ExileThis),
                body,
                true,
                Zone::Graveyard,
            )]
        }
        KeywordAbility::Reinforce { amount, cost } => {
            let body = Body {
                targets: vec![TargetSpec::single(Filter::creature())],
                effects: vec![counters(Selector::Target(0), amount.clone())],
                modes: None,
            };
            vec![activated(
                format!("Reinforce {}", cost.mana),
                with_part(cost, CostPart::DiscardThis),
                body,
                false,
                Zone::Hand,
            )]
        }
        _ => Vec::new(),
    }
}

fn embalm(name: &str, cost: &Cost, large: bool) -> Ability {
    let mut except = vec![Change::AddSubtypes(Subtype::find("Zombie").into_iter().collect())];
    let color = if large { Color::Black } else { Color::White };
    except.push(Change::SetColors(ColorSet::from_members(&[color])));
    except.push(Change::NoManaCost);
    if large {
        except.push(Change::SetPower(Amount::Fixed(4)));
        except.push(Change::SetToughness(Amount::Fixed(4)));
    }
    let copy = Effect::CopyToken {
        who: Selector::You,
        of: Selector::This,
        amount: Amount::Fixed(1),
        except,
        tapped: false,
    };
    let text = format!("{name} {}", cost.mana);
    activated(text, with_part(cost, CostPart::ExileThis), effects(vec![copy.into()]), true, Zone::Graveyard)
}

/// Unearth (702.84a): back with haste, exiled at the next end step or if it would leave.
fn unearth(cost: &Cost) -> Ability {
    let back = Effect::Move { what: Selector::This, to: Destination::battlefield() };
    let haste = Effect::Continuous {
        affected: Selector::Binding(0),
        changes: vec![Change::AddKeyword(Keyword::Haste)],
        until: Duration::Forever,
    };
    let stay = Filter::Is(Box::new(Selector::Binding(0)));
    let leave = Effect::AddReplacement {
        replacement: Box::new(Replacement {
            pattern: ReplacementPattern::ZoneChange { what: stay, from: Some(Zone::Battlefield), to: None },
            condition: None,
            action: ReplacementAction::MoveTo(Destination::zone(Zone::Exile)),
            optional: false,
            uses: None,
        }),
        until: Duration::Forever,
    };
    let later = TriggeredAbility {
        events: vec![EventPattern::Step { step: TurnStep::End, whose: Filter::Player }],
        batch: false,
        condition: None,
        body: effects(vec![Effect::Exile { what: Selector::Binding(0) }.into()]),
        per_turn: None,
        zone: None,
        text: "Unearth".to_string(),
    };
    let exile = Effect::DelayedTrigger { trigger: Box::new(later), once: true, until: Duration::Forever };
    let mark = Effect::Mark { what: Selector::Binding(0), mark: ObjectMark::Unearthed };
    let body = effects(vec![back.bind(0), haste.into(), leave.into(), exile.into(), mark.into()]);
    activated(format!("Unearth {}", cost.mana), cost.clone(), body, true, Zone::Graveyard)
}
