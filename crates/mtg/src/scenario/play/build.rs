//! Actions of scripts as actions of the engine.

use super::super::ScenarioError;
use super::super::format::{OneOrMany, ScriptAction};
use super::{ScenarioRun, split_number};
use crate::ability::{Ability, CostPart, KeywordAbility, Zone};
use crate::action::{Action, ActivateAction, CastAction, Payment};
use crate::card::CardFace;
use crate::casting::spell_body;
use crate::context::{Context, TargetChoice};
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use crate::state::CastWay;
use crate::targets::target_specs;
use serde_json::Value;
use std::collections::VecDeque;

/// Ways to cast a card from the graveyard.
const GRAVEYARD_WAYS: [CastWay; 4] =
    [CastWay::Flashback, CastWay::Escape, CastWay::Retrace, CastWay::JumpStart];

impl ScenarioRun {
    pub(super) fn build_action(
        &self,
        player: PlayerId,
        action: &ScriptAction,
    ) -> Result<Action, ScenarioError> {
        if action.concede == Some(true) {
            return Ok(Action::Concede);
        }
        if action.pass == Some(true) {
            return Ok(Action::Pass);
        }
        if let Some(name) = &action.play_land {
            return Ok(Action::PlayLand { card: self.land_to_play(player, name, action.from.as_deref())? });
        }
        if let Some(name) = &action.cast {
            return self.build_cast(player, name, action);
        }
        if let Some(name) = &action.activate {
            return self.build_activation(player, name, action);
        }
        Err(ScenarioError::UnknownWord("action".to_string()))
    }

    /// The land of a name in the zone that the script says, else where it can be played from.
    fn land_to_play(
        &self,
        player: PlayerId,
        name: &str,
        from: Option<&str>,
    ) -> Result<ObjectId, ScenarioError> {
        match from {
            Some("graveyard") => return self.card_in(player, name, Zone::Graveyard),
            Some("exile") => return self.card_in(player, name, Zone::Exile),
            Some("library") => return self.top_card(player, name),
            Some("hand") => return self.card_in(player, name, Zone::Hand),
            _ => {}
        }
        self.card_in(player, name, Zone::Hand)
            .or_else(|_| self.card_in(player, name, Zone::Graveyard))
            .or_else(|_| self.card_in(player, name, Zone::Exile))
            .or_else(|_| self.top_card(player, name))
    }

    fn top_card(&self, player: PlayerId, name: &str) -> Result<ObjectId, ScenarioError> {
        let top = self.engine.state().player(player).library.last().copied();
        top.filter(|id| self.engine.view().name(*id) == name)
            .ok_or_else(|| ScenarioError::NoObject(name.to_string()))
    }

    pub(super) fn card_in(
        &self,
        player: PlayerId,
        name: &str,
        zone: Zone,
    ) -> Result<ObjectId, ScenarioError> {
        let state = self.engine.state();
        let own = state.zone_objects(zone).into_iter().filter(|id| state.object(*id).owner == player);
        let mut named = own.filter(|id| self.engine.view().name(*id) == split_number(name).0);
        named.next().ok_or_else(|| ScenarioError::NoObject(name.to_string()))
    }

    pub(super) fn payment(&self, action: &ScriptAction) -> Result<Payment, ScenarioError> {
        let mut objects = self.find_objects(action.sacrifice.as_ref(), Zone::Battlefield)?;
        objects.extend(self.find_objects(action.tap.as_ref(), Zone::Battlefield)?);
        objects.extend(self.find_objects(action.return_to_hand.as_ref(), Zone::Battlefield)?);
        objects.extend(self.find_objects(action.discard.as_ref(), Zone::Hand)?);
        let exiled = |zone| self.find_objects(action.exile.as_ref(), zone);
        let zones = [Zone::Hand, Zone::Stack].into_iter();
        objects.extend(zones.fold(exiled(Zone::Graveyard), |found, zone| found.or_else(|_| exiled(zone)))?);
        let convoke = match &action.convoke {
            Some(named) => Some(self.find_objects(Some(named), Zone::Battlefield)?),
            None => None,
        };
        Ok(Payment { objects, convoke, mana: None })
    }

    pub(super) fn build_cast(
        &self,
        player: PlayerId,
        name: &str,
        action: &ScriptAction,
    ) -> Result<Action, ScenarioError> {
        let zone = match action.from.as_deref() {
            Some("graveyard") => Zone::Graveyard,
            Some("exile") => Zone::Exile,
            Some("library") => Zone::Library,
            _ => Zone::Hand,
        };
        let named = action.alternative.as_deref().map(|word| {
            serde_json::from_value(Value::String(word.to_string())).unwrap_or(CastWay::Alternative)
        });
        let card = match named {
            // A way that works from the graveyard says where the card is.
            Some(way) if GRAVEYARD_WAYS.contains(&way) => self.card_in(player, name, Zone::Graveyard)?,
            _ => self.card_in(player, name, zone)?,
        };
        let way = named.unwrap_or_else(|| self.usual_way(player, card));
        let face = self.engine.view().face(card).ok_or_else(|| ScenarioError::NoObject(name.to_string()))?;
        let modes = modes(action, &face.face.text);
        let kicked = match &action.kicked {
            Some(Value::Bool(kicked)) => u8::from(*kicked),
            Some(Value::Number(times)) => u8::try_from(times.as_u64().unwrap_or(0)).unwrap_or(0),
            Some(Value::Array(costs)) => kicked_with(costs, &face.face),
            _ => 0,
        };
        let mut context = Context::new(card, player);
        context.x = i32::try_from(action.x.unwrap_or(0)).unwrap_or(0);
        context.kicked = kicked;
        let body = spell_body(&face.face);
        let asks = action.announce == Some(true);
        let specs = if asks { Vec::new() } else { target_specs(&body, &modes) };
        let targets = self.targets(&specs, action, &context)?;
        Ok(Action::Cast(CastAction {
            card,
            way,
            modes,
            targets,
            x: action.x.unwrap_or(0),
            kicked,
            buyback: action.buyback.unwrap_or(false),
            additional: 0,
            payment: self.payment(action)?,
            ask: action.announce.unwrap_or(false),
        }))
    }

    /// The way to cast a card for which the script names none: the normal one where it is possible.
    fn usual_way(&self, player: PlayerId, card: ObjectId) -> CastWay {
        let engine = &self.engine;
        let face = engine.state().faces.get(engine.state().object(card).face);
        let is_possible = |way: &CastWay| {
            face.is_some_and(|face| engine.way_cost(player, card, &face.face, *way).is_some())
        };
        let ways = [CastWay::Normal, CastWay::Free].into_iter().chain(GRAVEYARD_WAYS);
        ways.into_iter().find(is_possible).unwrap_or_default()
    }

    /// Spreads named targets over slots; without names, the first legal ones are taken.
    pub(super) fn targets(
        &self,
        specs: &[&crate::ability::TargetSpec],
        action: &ScriptAction,
        context: &Context,
    ) -> Result<Vec<TargetChoice>, ScenarioError> {
        let mut choices = Vec::new();
        let named = action.targets.as_ref().map(OneOrMany::to_vec).unwrap_or_default();
        let mut left: VecDeque<Value> = named.into_iter().collect();
        let mut inner = context.clone();
        for (slot, spec) in specs.iter().enumerate() {
            let (min, max) = self.engine.target_range(spec, &inner);
            let mut choice = TargetChoice::default();
            if action.targets.is_none() {
                let legal = self.engine.legal_targets(spec, &inner);
                choice.entities = legal.into_iter().take(min).collect();
            } else {
                let later: usize =
                    specs.iter().skip(slot + 1).map(|spec| self.engine.target_range(spec, &inner).0).sum();
                let take = max.min(left.len().saturating_sub(later));
                for _ in 0..take {
                    let Some(value) = left.pop_front() else { break };
                    let values = match value {
                        Value::Array(list) => list,
                        single => vec![single],
                    };
                    for value in values {
                        choice.entities.push(self.target(spec, &value, &choice, &inner)?);
                    }
                }
            }
            if let Some(total) = &spec.divided {
                choice.division = self.division(action, &choice, self.engine.view().amount(total, &inner));
            }
            inner.targets.push(choice.clone());
            choices.push(choice);
        }
        Ok(choices)
    }

    /// The named target; a legal one is preferred where several have the name.
    pub(super) fn target(
        &self,
        spec: &crate::ability::TargetSpec,
        value: &Value,
        choice: &TargetChoice,
        context: &Context,
    ) -> Result<Entity, ScenarioError> {
        let legal = self.engine.legal_targets(spec, context);
        let fits =
            |entity: &&Entity| !choice.entities.contains(entity) && self.entity_matches(**entity, value);
        match legal.iter().find(fits) {
            Some(entity) => Ok(*entity),
            None => self.find_entity(value, Some(spec.zone)),
        }
    }

    pub(super) fn division(
        &self,
        action: &ScriptAction,
        choice: &TargetChoice,
        total: i32,
    ) -> smallvec::SmallVec<[i32; 1]> {
        let given = action.division.as_ref().or(action.divide.as_ref());
        let named = action.targets.as_ref().map(OneOrMany::to_vec).unwrap_or_default();
        let amount = |entity: &Entity, position: usize| match given {
            Some(Value::Array(list)) => list.get(position).and_then(Value::as_i64),
            Some(Value::Object(map)) => map
                .iter()
                .find(|(name, _)| self.entity_matches(*entity, &Value::String((*name).clone())))
                .and_then(|(_, amount)| amount.as_i64()),
            // A target may carry its part.
            _ => named.get(position).and_then(|target| target.get("amount")).and_then(Value::as_i64),
        };
        let count = i32::try_from(choice.entities.len()).unwrap_or(1).max(1);
        let mut rest = total;
        let mut parts = smallvec::SmallVec::new();
        for (position, entity) in choice.entities.iter().enumerate() {
            let equal = if position + 1 == choice.entities.len() { rest } else { total / count };
            let part = amount(entity, position).map_or(equal, |part| i32::try_from(part).unwrap_or(0));
            rest -= part;
            parts.push(part);
        }
        parts
    }

    pub(super) fn build_activation(
        &self,
        player: PlayerId,
        name: &str,
        action: &ScriptAction,
    ) -> Result<Action, ScenarioError> {
        let source = match action.from.as_deref() {
            Some("hand") => self.card_in(player, name, Zone::Hand)?,
            Some("graveyard") => self.card_in(player, name, Zone::Graveyard)?,
            _ => self
                .battlefield_object(&Value::String(name.to_string()), Some(player))
                .or_else(|_| self.card_in(player, name, Zone::Hand))
                .or_else(|_| self.card_in(player, name, Zone::Graveyard))?,
        };
        let ability = self.ability_named(source, action.ability.as_ref())?;
        let Some(Ability::Activated(own)) = self.engine.ability(ability) else {
            return Err(ScenarioError::NoAbility(name.to_string()));
        };
        let mut context = Context::new(source, player);
        context.x = i32::try_from(action.x.unwrap_or(0)).unwrap_or(0);
        let text = self.engine.view().face(source).map_or("", |face| face.face.text.as_str());
        let modes = modes(action, text);
        let asks = action.announce == Some(true);
        let specs = if asks { Vec::new() } else { target_specs(&own.body, &modes) };
        let targets = self.targets(&specs, action, &context)?;
        Ok(Action::Activate(ActivateAction {
            source,
            ability,
            modes,
            targets,
            x: action.x.unwrap_or(0),
            mana: 0,
            payment: self.payment(action)?,
            ask: action.announce.unwrap_or(false),
        }))
    }

    /// The activated ability whose text or cost a script names.
    pub(super) fn ability_named(
        &self,
        source: ObjectId,
        wanted: Option<&Value>,
    ) -> Result<AbilityRef, ScenarioError> {
        let all = &self.engine.view().characteristics(source).abilities;
        let zone = self.engine.state().object(source).zone;
        let works_here = |reference: &AbilityRef| match self.engine.ability(*reference) {
            Some(Ability::Activated(ability)) => ability.zone == zone,
            _ => false,
        };
        let activated: Vec<AbilityRef> = all.iter().copied().filter(works_here).collect();
        let text = match wanted {
            Some(Value::Number(change)) if change.as_i64().is_some_and(i64::is_negative) => {
                change.to_string()
            }
            Some(Value::Number(index)) => {
                let index = usize::try_from(index.as_u64().unwrap_or(0)).unwrap_or(0);
                return activated
                    .get(index)
                    .copied()
                    .ok_or_else(|| ScenarioError::NoAbility(index.to_string()));
            }
            Some(Value::String(text)) => text.to_lowercase().replace('−', "-"),
            _ => String::new(),
        };
        let fits = |reference: &&AbilityRef| {
            let Some(Ability::Activated(ability)) = self.engine.ability(**reference) else { return false };
            let loyalty = ability.cost.parts.iter().any(|part| match part {
                CostPart::Loyalty(change) => format!("{change:+}") == text || (*change == 0 && text == "0"),
                CostPart::LoyaltyX => text == "-x",
                _ => false,
            });
            // A legend is also called by the part of its name before the comma.
            let name = self.engine.view().name(source);
            let short = name.split(',').next().unwrap_or(name);
            let has_words = |name| ability.text.replace('~', name).to_lowercase().contains(&text);
            loyalty || [name, short, "~"].into_iter().any(has_words)
        };
        match activated.iter().find(fits) {
            Some(found) => Ok(*found),
            None => match activated.as_slice() {
                [only] if !self.is_strict => Ok(*only),
                _ => Err(ScenarioError::NoAbility(text)),
            },
        }
    }
}

/// The kickers of a card with these costs, each as a bit.
fn kicked_with(costs: &[Value], face: &CardFace) -> u8 {
    let kickers = face.abilities.iter().filter_map(|ability| match ability {
        Ability::KeywordAbility(keyword) => match &**keyword {
            KeywordAbility::Kicker { cost, .. } => Some(cost.mana.to_string()),
            _ => None,
        },
        _ => None,
    });
    let is_paid = |kicker: &String| costs.iter().any(|cost| cost.as_str() == Some(kicker.as_str()));
    (0u8..7).zip(kickers).filter(|(_, kicker)| is_paid(kicker)).fold(0, |bits, (place, _)| bits | 1 << place)
}

/// Modes by number from 1, or by words of their text.
fn modes(action: &ScriptAction, text: &str) -> Vec<u8> {
    let bullets: Vec<String> = text.split('•').skip(1).map(str::to_lowercase).collect();
    let mode = |value: &Value| match value {
        Value::String(words) => {
            let words = words.to_lowercase();
            let position = bullets.iter().position(|bullet| bullet.contains(&words))?;
            u8::try_from(position).ok()
        }
        value => value.as_u64().and_then(|number| u8::try_from(number.saturating_sub(1)).ok()),
    };
    match action.modes.as_ref().or(action.mode.as_ref()) {
        Some(Value::Array(list)) => list.iter().filter_map(mode).collect(),
        Some(value) => mode(value).into_iter().collect(),
        None => Vec::new(),
    }
}
