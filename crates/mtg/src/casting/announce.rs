//! Announcements by questions: modes, X, targets, division and payment, one after the other.
//!
//! A listed action is complete, so the list can show only some of the combinations of targets, divisions
//! and payments. An action that asks for them reaches every legal one. Nothing changes before the last
//! question is answered; choices that cannot be paid for are taken back, and the player has priority again
//! (601.2, 733.1).

use crate::ability::{
    Ability, ActivatedAbility, Body, Cost, CostPart, Filter, KeywordAbility, TargetSpec, Zone,
};
use crate::action::{Action, ActivateAction, CastAction, Payment};
use crate::card::CardFace;
use crate::casting::cost::kicker_costs;
use crate::casting::spell_body;
use crate::context::Context;
use crate::decision::{Choosable, Decision, DecisionKind, Refusal, RefusalReason};
use crate::engine::{Flow, MTGEngine};
use crate::ids::{ObjectId, PlayerId};
use crate::surface::MAX_COMBINATIONS;
use crate::targets::target_specs;
use crate::task::Task;

/// Greatest X that is offered.
const MAX_ASKED_X: u32 = 100;

impl MTGEngine {
    /// Whether an action that asks for its choices is possible: one that is complete must be.
    pub(super) fn check_asked(&self, player: PlayerId, action: &Action) -> Result<(), Refusal> {
        let is_same = |listed: &Action| ask_for(listed).is_some_and(|asked| asked == *action);
        if self.list_actions(player).iter().any(is_same) {
            Ok(())
        } else {
            Err(Refusal::new("601.2", RefusalReason::NoSuchAbility))
        }
    }

    /// Actions that ask for their choices, for those of the list that leave some out.
    pub(crate) fn open_announcements(&self, player: PlayerId, listed: &[Action]) -> Vec<Action> {
        let mut found: Vec<Action> = Vec::new();
        for action in listed {
            if let Some(asked) = ask_for(action)
                && !found.contains(&asked)
                && self.leaves_choices(player, action)
            {
                found.push(asked);
            }
        }
        found
    }

    /// Whether an action of the list has choices of which the list shows only some.
    fn leaves_choices(&self, player: PlayerId, action: &Action) -> bool {
        let (body, cost, context) = match action {
            Action::Cast(cast) => {
                let Some(face) = self.state.faces.get(self.state.object(cast.card).face) else {
                    return false;
                };
                let cost = self.asked_cost(player, cast, &face.face);
                (spell_body(&face.face).into_owned(), cost, Context::new(cast.card, player))
            }
            Action::Activate(activate) => {
                let Some(ability) = self.activated(activate) else { return false };
                (ability.body.clone(), ability.cost.clone(), Context::new(activate.source, player))
            }
            _ => return false,
        };
        let modes = match action {
            Action::Cast(cast) => &cast.modes,
            Action::Activate(activate) => &activate.modes,
            _ => return false,
        };
        let is_open = |spec: &&TargetSpec| {
            let (min, max) = self.target_range(spec, &context);
            let legal = self.legal_targets(spec, &context).len();
            legal > 1 && max > 1 && (spec.divided.is_some() || legal > max || min < max)
        };
        let specs = target_specs(&body, modes);
        let slots = specs.iter().map(|spec| self.legal_targets(spec, &context).len().max(1));
        specs.iter().any(is_open)
            || slots.product::<usize>() > MAX_COMBINATIONS
            || body.modes.as_ref().is_some_and(|modes| modes.max > 1)
            || cost.parts.iter().any(|part| self.is_payment_open(part, &context))
    }

    /// Whether several objects could pay a part of a cost.
    fn is_payment_open(&self, part: &CostPart, context: &Context) -> bool {
        let Some((zone, filter, count)) = payable_part(part) else { return false };
        let able = self.payable_objects(zone, filter, context).len();
        let needed = count.map_or(0, |count| self.view().amount(count, context));
        able > usize::try_from(needed).unwrap_or(0)
    }

    fn activated(&self, action: &ActivateAction) -> Option<&ActivatedAbility> {
        match self.ability(action.ability)? {
            Ability::Activated(ability) => Some(ability),
            _ => None,
        }
    }

    /// The parts of a spell's cost other than mana.
    fn asked_cost(&self, player: PlayerId, cast: &CastAction, face: &CardFace) -> Cost {
        let mut cost = self.way_cost(player, cast.card, face, cast.way).unwrap_or_default();
        for ability in &face.abilities {
            match ability {
                Ability::AdditionalCost(choices) => {
                    let chosen = choices.get(usize::from(cast.additional));
                    cost.parts.extend(chosen.into_iter().flat_map(|chosen| chosen.parts.iter().cloned()));
                }
                Ability::KeywordAbility(keyword) => match &**keyword {
                    KeywordAbility::Buyback(buyback) if cast.buyback => {
                        cost.parts.extend(buyback.parts.iter().cloned());
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        for kicker in kicker_costs(face, cast.kicked).unwrap_or_default() {
            cost.parts.extend(kicker.parts.iter().cloned());
        }
        cost
    }

    /// Asks for the choices of an action and carries it out.
    pub(crate) fn run_announce(&mut self, player: PlayerId, action: &Action) -> Flow<()> {
        let complete = match action {
            Action::Cast(cast) => self.ask_cast(player, cast)?.map(Action::Cast),
            Action::Activate(activate) => self.ask_activation(player, activate)?.map(Action::Activate),
            _ => None,
        };
        let is_done = complete.is_some_and(|action| self.perform(player, &action).is_ok());
        if !is_done {
            self.state.tasks.push(Task::Priority);
        }
        Ok(())
    }

    fn ask_cast(&mut self, player: PlayerId, cast: &CastAction) -> Flow<Option<CastAction>> {
        let Some(face) = self.state.faces.get(self.state.object(cast.card).face) else { return Ok(None) };
        let face = face.face.clone();
        let body = spell_body(&face).into_owned();
        let mut chosen = CastAction { ask: false, ..cast.clone() };
        let mut context = Context::new(cast.card, player);
        context.kicked = cast.kicked;
        let Some(modes) = self.choose_trigger_modes(&body, &context)? else { return Ok(None) };
        chosen.modes = modes;
        let choices = face.abilities.iter().find_map(|ability| match ability {
            Ability::AdditionalCost(choices) if choices.len() > 1 => Some(choices.len()),
            _ => None,
        });
        if let Some(count) = choices {
            chosen.additional = self.ask_index(player, cast.card, count)?;
        }
        if face.mana_cost.as_ref().is_some_and(|cost| cost.x_count() > 0) {
            let sources = self.mana_sources(player);
            let base = self.way_cost(player, cast.card, &face, cast.way).unwrap_or_default();
            let payable = |x: &u32| {
                let trial = CastAction { x: *x, ..chosen.clone() };
                self.plan_cast_cost(player, &trial, &face, &base, &context, &sources).is_ok()
            };
            let options = (0..MAX_ASKED_X).take_while(payable).collect();
            chosen.x = self.ask_x(player, cast.card, options)?;
        }
        context.x = i32::try_from(chosen.x).unwrap_or(0);
        if !self.ask_targets(&body, &chosen.modes, &mut context)? {
            return Ok(None);
        }
        let cost = self.asked_cost(player, &chosen, &face);
        let objects = self.choose_payment(&cost, &context)?;
        chosen.targets = context.targets.into_vec();
        chosen.payment = Payment { objects, ..Payment::default() };
        Ok(Some(chosen))
    }

    fn ask_activation(&mut self, player: PlayerId, action: &ActivateAction) -> Flow<Option<ActivateAction>> {
        let Some(ability) = self.activated(action).cloned() else { return Ok(None) };
        let mut chosen = ActivateAction { ask: false, ..action.clone() };
        let mut context = Context::new(action.source, player);
        let Some(modes) = self.choose_trigger_modes(&ability.body, &context)? else { return Ok(None) };
        chosen.modes = modes;
        if ability.cost.mana.x_count() > 0 || ability.cost.parts.contains(&CostPart::LoyaltyX) {
            let mut trial = context.clone();
            let payable = |x: &u32| {
                trial.x = i32::try_from(*x).unwrap_or(i32::MAX);
                self.plan_cost(&ability.cost, &trial, &[]).is_ok()
            };
            let options = (0..MAX_ASKED_X).take_while(payable).collect();
            chosen.x = self.ask_x(player, action.source, options)?;
        }
        context.x = i32::try_from(chosen.x).unwrap_or(0);
        if !self.ask_targets(&ability.body, &chosen.modes, &mut context)? {
            return Ok(None);
        }
        let objects = self.choose_payment(&ability.cost, &context)?;
        chosen.targets = context.targets.into_vec();
        chosen.payment = Payment { objects, ..Payment::default() };
        Ok(Some(chosen))
    }

    fn ask_targets(&mut self, body: &Body, modes: &[u8], context: &mut Context) -> Flow<bool> {
        let specs: Vec<TargetSpec> = target_specs(body, modes).into_iter().cloned().collect();
        self.choose_trigger_targets(&specs, context, DecisionKind::TriggerTargets)
    }

    fn ask_x(&mut self, player: PlayerId, source: ObjectId, values: Vec<u32>) -> Flow<u32> {
        let mut decision = Decision::new(player, DecisionKind::Number).source(source);
        decision.options =
            values.into_iter().filter_map(|x| i32::try_from(x).ok()).map(Choosable::Number).collect();
        Ok(match self.choose_options(decision)?.first() {
            Some(Choosable::Number(x)) => u32::try_from(*x).unwrap_or(0),
            _ => 0,
        })
    }

    fn ask_index(&mut self, player: PlayerId, source: ObjectId, count: usize) -> Flow<u8> {
        let mut decision = Decision::new(player, DecisionKind::ChooseOption).source(source);
        decision.options = (0u8..).take(count).map(Choosable::Index).collect();
        Ok(match self.choose_options(decision)?.first() {
            Some(Choosable::Index(index)) => *index,
            _ => 0,
        })
    }
}

/// The action that asks for the choices of a listed one.
fn ask_for(action: &Action) -> Option<Action> {
    match action {
        Action::Cast(cast) => Some(Action::Cast(CastAction {
            modes: Vec::new(),
            targets: Vec::new(),
            x: 0,
            additional: 0,
            payment: Payment::default(),
            ask: true,
            ..cast.clone()
        })),
        Action::Activate(activate) => Some(Action::Activate(ActivateAction {
            modes: Vec::new(),
            targets: Vec::new(),
            x: 0,
            payment: Payment::default(),
            ask: true,
            ..activate.clone()
        })),
        _ => None,
    }
}

/// Where the objects are that pay a part of a cost, which ones, and how many; any number without one.
pub(crate) fn payable_part(part: &CostPart) -> Option<(Zone, &Filter, Option<&crate::ability::Amount>)> {
    match part {
        CostPart::ExilePermanent { filter, count } => Some((filter.exile_zone(), filter, Some(count))),
        CostPart::Sacrifice { filter, count }
        | CostPart::ReturnToHand { filter, count }
        | CostPart::TapPermanents { filter, count } => Some((Zone::Battlefield, filter, Some(count))),
        CostPart::SacrificeAny(filter) => Some((Zone::Battlefield, filter, None)),
        CostPart::Discard { filter, count, random: false } | CostPart::ExileFromHand { filter, count } => {
            Some((Zone::Hand, filter, Some(count)))
        }
        CostPart::ExileFromGraveyard { filter, count } => Some((Zone::Graveyard, filter, Some(count))),
        _ => None,
    }
}
