//! Playing lands, casting spells and activating abilities (116, 305, 601, 602).
//!
//! An announcement is complete: modes, targets, X, division and payment come with the action. It is
//! planned without changing anything; a plan that exists is carried out as a whole.

mod activation;
pub(crate) mod announce;
pub(crate) mod cost;

use crate::ability::{
    Ability, Amount, Body, Cost, CostPart, Filter, Keyword, KeywordAbility, PlayPermission, PlayerRule,
    TargetSpec, TurnStatistic, TurnStep, Zone,
};
use crate::action::{Action, ActivateAction, CastAction};
use crate::card::{CardFace, CardType, Subtype};
use crate::context::{Context, EventKind, EventRecord};
use crate::costs::CostPlan;
use crate::decision::{Refusal, RefusalReason};
use crate::engine::MTGEngine;
use crate::event::MoveEvent;
use crate::faces::{find_keyword_ability, has_printed_keyword};
use crate::ids::{ObjectId, PlayerId};
use crate::mana::ManaSource;
use crate::state::{CastFacts, CastWay, ObjectKind, StackItem};
use crate::targets::target_specs;
use crate::task::Task;
use std::borrow::Cow;

/// Spell that can be cast, with its payment.
#[derive(Debug, Clone)]
pub(crate) struct CastPlan {
    pub cost: CostPlan,
    pub context: Context,
}

/// Body of the spell that a card becomes: its spell ability, or for an Aura the target to enchant.
#[must_use]
pub(crate) fn spell_body(face: &CardFace) -> Cow<'_, Body> {
    for ability in &face.abilities {
        if let Ability::Spell(body) = ability {
            return Cow::Borrowed(body);
        }
    }
    let aura = Subtype::aura().is_some_and(|aura| face.has_subtype(aura));
    let enchant = find_keyword_ability(face, |keyword| match keyword {
        KeywordAbility::Enchant(filter) => Some(filter.clone()),
        _ => None,
    });
    match enchant {
        Some(filter) if aura => {
            Cow::Owned(Body { targets: vec![TargetSpec::single(filter)], ..Body::default() })
        }
        _ => Cow::Owned(Body::default()),
    }
}

impl MTGEngine {
    /// Whether sorcery-speed actions are possible (117.1a).
    pub(crate) fn is_sorcery_time(&self, player: PlayerId) -> bool {
        self.state.active == player
            && matches!(self.state.step, TurnStep::Main1 | TurnStep::Main2)
            && self.state.stack.is_empty()
    }

    /// Summoning sickness for `{T}` and `{Q}` abilities (302.6).
    pub(crate) fn is_summoning_sick(&self, id: ObjectId) -> bool {
        let own = self.view().characteristics(id);
        own.is_creature()
            && self.state.object(id).controlled_since >= self.state.turn
            && !own.has(Keyword::Haste)
    }

    /// Why an action is not legal now; nothing is changed.
    ///
    /// # Errors
    /// The rule or condition that fails.
    pub fn why_not(&self, player: PlayerId, action: &Action) -> Result<(), Refusal> {
        match action {
            Action::Concede => return Ok(()),
            _ if self.state.outcome.is_some() => return Err(RefusalReason::GameOver.into()),
            _ => {}
        }
        let asked = self.state.pending.as_ref().filter(|decision| {
            decision.kind == crate::decision::DecisionKind::Priority && decision.player == player
        });
        if asked.is_none() {
            return Err(Refusal::new("117.1", RefusalReason::OtherPlayer));
        }
        match action {
            Action::Pass | Action::Concede => Ok(()),
            Action::PlayLand { card } => self.check_land(player, *card),
            Action::Cast(CastAction { ask: true, .. })
            | Action::Activate(ActivateAction { ask: true, .. }) => self.check_asked(player, action),
            Action::Cast(cast) => self.plan_cast(player, cast, &self.mana_sources(player)).map(|_| ()),
            Action::Activate(activate) => {
                self.plan_activation(player, activate, &self.mana_sources(player)).map(|_| ())
            }
        }
    }

    pub(crate) fn land_plays(&self, player: PlayerId) -> i32 {
        let more: i32 = self
            .projection()
            .rules
            .iter()
            .filter(|(who, _, _)| *who == player)
            .map(
                |(_, rule, _)| {
                    if let PlayerRule::AdditionalLands(more) = rule { i32::from(*more) } else { 0 }
                },
            )
            .sum();
        1 + more - crate::eval::statistic(&self.state, player, TurnStatistic::LandsPlayed)
    }

    pub(crate) fn check_land(&self, player: PlayerId, card: ObjectId) -> Result<(), Refusal> {
        let object = self.state.object(card);
        if object.is_gone() {
            return Err(Refusal::new("400.7", RefusalReason::NoSuchObject));
        }
        if !self.view().characteristics(card).is(CardType::Land) {
            return Err(Refusal::new("305.1", RefusalReason::NotLand));
        }
        let in_hand = object.zone == Zone::Hand && object.owner == player;
        if !in_hand && self.play_permission(player, card).is_none() {
            return Err(Refusal::new("305.1", RefusalReason::WrongZone));
        }
        if !self.is_sorcery_time(player) {
            return Err(Refusal::new("305.1", RefusalReason::SorceryTiming));
        }
        if self.land_plays(player) <= 0 {
            return Err(Refusal::new("305.2", RefusalReason::NoLandPlays));
        }
        Ok(())
    }

    /// Permission to play a card that is not in the hand.
    pub(crate) fn play_permission(&self, player: PlayerId, card: ObjectId) -> Option<PlayPermission> {
        if let Some(grant) =
            self.state.grants.iter().find(|grant| grant.player == player && grant.card == card)
        {
            return Some(grant.permission);
        }
        let object = self.state.object(card);
        let top =
            object.zone != Zone::Library || self.state.player(object.owner).library.last() == Some(&card);
        let allowed = self.projection().rules.iter().any(|(who, rule, source)| match rule {
            PlayerRule::PlayFrom { zone, filter } => {
                *who == player
                    && *zone == object.zone
                    && object.owner == player
                    && top
                    && self.view().object_matches(filter, card, &Context::new(*source, player))
            }
            _ => false,
        });
        allowed.then_some(PlayPermission::Normal)
    }

    /// The cost for a way of casting, if the card has it and is where it can be cast that way.
    pub(crate) fn way_cost(
        &self,
        player: PlayerId,
        card: ObjectId,
        face: &CardFace,
        way: CastWay,
    ) -> Option<Cost> {
        let object = self.state.object(card);
        let hand = object.zone == Zone::Hand && object.owner == player;
        let graveyard = object.zone == Zone::Graveyard && object.owner == player;
        let permission = if hand { None } else { self.play_permission(player, card) };
        let keyword = |zone: bool, pick: &dyn Fn(&KeywordAbility) -> Option<Cost>| {
            if zone { find_keyword_ability(face, pick) } else { None }
        };
        match way {
            CastWay::Normal => {
                let allowed = hand
                    || permission == Some(PlayPermission::Normal)
                    || permission == Some(PlayPermission::AnyMana);
                if allowed { face.mana_cost.clone().map(Cost::mana) } else { None }
            }
            CastWay::Free => (permission == Some(PlayPermission::Free)).then(Cost::default),
            CastWay::Flashback => keyword(graveyard, &|keyword| match keyword {
                KeywordAbility::Flashback(cost) => Some(cost.clone()),
                _ => None,
            })
            .or_else(|| {
                let gained = permission == Some(PlayPermission::Flashback);
                face.mana_cost.clone().filter(|_| gained).map(Cost::mana)
            }),
            CastWay::Escape => keyword(graveyard, &|keyword| match keyword {
                KeywordAbility::Escape { cost, exile } => {
                    let mut cost = cost.clone();
                    cost.parts.push(crate::ability::CostPart::ExileFromGraveyard {
                        filter: Filter::Any,
                        count: crate::ability::Amount::Fixed(i32::from(*exile)),
                    });
                    Some(cost)
                }
                _ => None,
            }),
            CastWay::Evoke => keyword(hand, &|keyword| match keyword {
                KeywordAbility::Evoke(cost) => Some(cost.clone()),
                _ => None,
            }),
            CastWay::Dash => keyword(hand, &|keyword| match keyword {
                KeywordAbility::Dash(cost) => Some(cost.clone()),
                _ => None,
            }),
            CastWay::Surge => {
                let cast = crate::eval::statistic(&self.state, player, TurnStatistic::SpellsCast) > 0;
                keyword(hand && cast, &|keyword| match keyword {
                    KeywordAbility::Surge(cost) => Some(cost.clone()),
                    _ => None,
                })
            }
            CastWay::Spectacle => {
                let lost =
                    crate::eval::statistic(&self.state, player.opponent(), TurnStatistic::LifeLost) > 0;
                keyword(hand && lost, &|keyword| match keyword {
                    KeywordAbility::Spectacle(cost) => Some(cost.clone()),
                    _ => None,
                })
            }
            CastWay::Overload | CastWay::Madness => None,
            CastWay::Retrace | CastWay::JumpStart => {
                let (keyword, filter) = match way {
                    CastWay::Retrace => (Keyword::Retrace, Filter::Type(CardType::Land)),
                    _ => (Keyword::JumpStart, Filter::Any),
                };
                let able = graveyard && has_printed_keyword(face, keyword);
                let mana = face.mana_cost.clone().filter(|_| able)?;
                let discard = CostPart::Discard { filter, count: Amount::Fixed(1), random: false };
                Some(Cost { parts: vec![discard], ..Cost::mana(mana) })
            }
            CastWay::Alternative => face.abilities.iter().find_map(|ability| match ability {
                Ability::AlternativeCost { cost, condition } if hand => {
                    let context = Context::new(card, player);
                    let holds =
                        condition.as_ref().is_none_or(|condition| self.view().condition(condition, &context));
                    holds.then(|| cost.clone())
                }
                _ => None,
            }),
        }
    }

    fn check_cast_timing(&self, player: PlayerId, card: ObjectId, face: &CardFace) -> Result<(), Refusal> {
        let instant = face.has_type(CardType::Instant)
            || has_printed_keyword(face, Keyword::Flash)
            || self.projection().rules.iter().any(|(who, rule, source)| match rule {
                PlayerRule::Flash(filter) => {
                    let context = Context::new(*source, player);
                    *who == player && self.view().object_matches(&cost::spell_filter(filter), card, &context)
                }
                _ => false,
            });
        if !instant && !self.is_sorcery_time(player) {
            return Err(Refusal::new("307.1", RefusalReason::SorceryTiming));
        }
        self.check_cast_allowed(player, card, face)
    }

    /// What forbids a spell at any time, also one that is cast during a resolution (601.3).
    pub(crate) fn check_cast_allowed(
        &self,
        player: PlayerId,
        card: ObjectId,
        face: &CardFace,
    ) -> Result<(), Refusal> {
        let context = Context::new(card, player);
        for ability in &face.abilities {
            if let Ability::CastRestriction(condition) = ability
                && !self.view().condition(condition, &context)
            {
                return Err(Refusal::new("601.3", RefusalReason::ConditionFails));
            }
        }
        let forbidden = self.projection().rules.iter().any(|(who, rule, source)| {
            *who == player
                && match rule {
                    PlayerRule::CantCast(filter) => {
                        let context = Context::new(*source, player);
                        self.view().object_matches(&cost::spell_filter(filter), card, &context)
                    }
                    PlayerRule::MaxSpellsPerTurn(most) => {
                        crate::eval::statistic(&self.state, player, TurnStatistic::SpellsCast)
                            >= i32::from(*most)
                    }
                    _ => false,
                }
        });
        if forbidden || self.has_split_second() {
            return Err(Refusal::new("101.2", RefusalReason::Forbidden));
        }
        Ok(())
    }

    /// Whether a spell on the stack keeps players from casting and from most abilities (702.61b).
    pub(super) fn has_split_second(&self) -> bool {
        self.state.stack.iter().any(|item| {
            self.view().characteristics(item.object).has(Keyword::SplitSecond) && item.ability.is_none()
        })
    }

    /// Checks an announcement and finds its payment.
    pub(crate) fn plan_cast(
        &self,
        player: PlayerId,
        cast: &CastAction,
        sources: &[ManaSource],
    ) -> Result<CastPlan, Refusal> {
        let (face, base) = self.check_castable(player, cast)?;
        let body = spell_body(&face.face);
        check_modes(&body, &cast.modes)?;
        let mut context = Context::new(cast.card, player);
        context.x = i32::try_from(cast.x).unwrap_or(i32::MAX);
        context.kicked = cast.kicked;
        let specs = target_specs(&body, &cast.modes);
        self.check_targets(&specs, &cast.targets, &context)?;
        context.targets = cast.targets.iter().cloned().collect();
        while context.targets.len() < specs.len() {
            context.targets.push(crate::context::TargetChoice::default());
        }
        let cost = self.plan_cast_cost(player, cast, &face.face, &base, &context, sources)?;
        Ok(CastPlan { cost, context })
    }

    /// Zone, way, timing and restrictions of a spell.
    pub(crate) fn check_castable(
        &self,
        player: PlayerId,
        cast: &CastAction,
    ) -> Result<(&crate::faces::PreparedFace, Cost), Refusal> {
        let object = self.state.object(cast.card);
        if object.is_gone() || object.kind != ObjectKind::Card {
            return Err(Refusal::new("400.7", RefusalReason::NoSuchObject));
        }
        let face =
            self.state.faces.get(object.face).ok_or_else(|| Refusal::from(RefusalReason::NoSuchObject))?;
        if face.face.has_type(CardType::Land) {
            return Err(Refusal::new("305.9", RefusalReason::WrongZone));
        }
        let base = self
            .way_cost(player, cast.card, &face.face, cast.way)
            .ok_or_else(|| Refusal::new("601.3", RefusalReason::NoSuchWay))?;
        self.check_cast_timing(player, cast.card, &face.face)?;
        Ok((face, base))
    }

    /// Carries out an action of the player with priority; one that is not legal changes nothing.
    pub(crate) fn perform(&mut self, player: PlayerId, action: &Action) -> Result<(), Refusal> {
        match action {
            Action::Pass => self.pass(player),
            Action::Concede => self.concede(player),
            Action::PlayLand { card } => {
                self.check_land(player, *card)?;
                self.state.passes = 0;
                self.count(player, TurnStatistic::LandsPlayed, 1);
                self.state.tasks.push(Task::Priority);
                self.state.tasks.push(Task::Enter(*card, player));
            }
            Action::Cast(CastAction { ask: true, .. })
            | Action::Activate(ActivateAction { ask: true, .. }) => {
                self.check_asked(player, action)?;
                self.state.tasks.push(Task::Announce(player, Box::new(action.clone())));
            }
            Action::Cast(cast) => {
                let plan = self.plan_cast(player, cast, &self.mana_sources(player))?;
                self.carry_out_cast(player, cast, plan);
                self.state.passes = 0;
                self.state.tasks.push(Task::Priority);
            }
            Action::Activate(activate) => {
                let plan = self.plan_activation(player, activate, &self.mana_sources(player))?;
                self.carry_out_activation(player, activate, plan);
                self.state.passes = 0;
                self.state.tasks.push(Task::Priority);
            }
        }
        Ok(())
    }

    /// The card becomes a spell on the stack and is paid for.
    pub(crate) fn carry_out_cast(&mut self, player: PlayerId, cast: &CastAction, plan: CastPlan) {
        let from = self.state.object(cast.card).zone;
        let mut records = Vec::new();
        let Some(spell) = self.commit_move(&MoveEvent::new(cast.card, Zone::Stack), &mut records) else {
            return;
        };
        records.clear();
        if let Some(object) = self.state.object_mut(spell) {
            object.controller = player;
            object.cast = CastFacts {
                x: plan.context.x,
                kicked: cast.kicked,
                from: Some(from),
                way: cast.way,
                buyback: cast.buyback,
                colors_spent: plan.cost.mana.colors_spent,
            };
        }
        let mut context = plan.context;
        context.source = spell;
        self.state.stack.push(StackItem {
            object: spell,
            ability: None,
            modes: cast.modes.iter().copied().collect(),
            context,
        });
        self.touch_circumstances();
        let paid = self.pay(player, &plan.cost);
        if let Some(item) = self.state.stack.iter_mut().find(|item| item.object == spell) {
            item.context.paid = paid.into_iter().collect();
        }
        self.note_cast(player, spell, from);
    }

    /// A spell with storm counts the spells before it now: those cast in response do not count.
    fn note_storm(&mut self, spell: ObjectId) {
        if !self.view().characteristics(spell).has(Keyword::Storm) {
            return;
        }
        let cast = |player| crate::eval::statistic(&self.state, player, TurnStatistic::SpellsCast);
        let before: i32 = PlayerId::BOTH.into_iter().map(cast).sum();
        if let Some(object) = self.state.object_mut(spell) {
            object.chosen.number = before;
        }
    }

    fn note_cast(&mut self, player: PlayerId, spell: ObjectId, from: Zone) {
        let own = self.view().characteristics(spell).types;
        self.note_storm(spell);
        self.count(player, TurnStatistic::SpellsCast, 1);
        if own.contains(CardType::Creature) {
            self.count(player, TurnStatistic::CreatureSpellsCast, 1);
        } else {
            self.count(player, TurnStatistic::NoncreatureSpellsCast, 1);
        }
        if own.contains(CardType::Instant) || own.contains(CardType::Sorcery) {
            self.count(player, TurnStatistic::InstantsAndSorceriesCast, 1);
        }
        let amount = crate::eval::statistic(&self.state, player, TurnStatistic::SpellsCast);
        let mut record = EventRecord::new(EventKind::Cast).subject(spell).player(player).amount(amount);
        record.from = Some(from);
        let before = self.shared_projection();
        self.collect_triggers(&before, &[record]);
        self.record_targeting(spell, &[]);
    }
}

fn check_modes(body: &Body, chosen: &[u8]) -> Result<(), Refusal> {
    let Some(modes) = &body.modes else {
        return if chosen.is_empty() {
            Ok(())
        } else {
            Err(Refusal::new("700.2", RefusalReason::IllegalModes))
        };
    };
    let repeated = (1..chosen.len()).any(|index| {
        chosen.get(index).is_some_and(|mode| chosen.iter().take(index).any(|earlier| earlier == mode))
    });
    let legal = chosen.len() >= usize::from(modes.min)
        && chosen.len() <= usize::from(modes.max)
        && chosen.iter().all(|mode| usize::from(*mode) < modes.choices.len())
        && (modes.repeat || !repeated);
    if legal { Ok(()) } else { Err(Refusal::new("700.2", RefusalReason::IllegalModes)) }
}
