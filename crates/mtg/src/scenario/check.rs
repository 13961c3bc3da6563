//! Expectations of scenarios.

use super::ScenarioError;
use super::format::Assertion;
use super::play::{ScenarioRun, split_number};
use super::setup::{parse_counter, parse_player, parse_step};
use crate::ability::{Ability, Filter, Keyword, KeywordAbility, Zone};
use crate::card::{CardType, Color, ManaKind, Subtype, Supertype};
use crate::ids::{Entity, ObjectId, PlayerId};
use crate::state::ObjectKind;
use serde_json::{Map, Value};

fn parse_zone(name: &str) -> Result<Zone, ScenarioError> {
    serde_json::from_value(Value::String(name.to_string()))
        .map_err(|_| ScenarioError::UnknownWord(name.to_string()))
}

fn player_name(player: PlayerId) -> Value {
    Value::String(if player.0 == 0 { "A" } else { "B" }.to_string())
}

fn number(value: usize) -> Value {
    Value::from(u64::try_from(value).unwrap_or(u64::MAX))
}

impl ScenarioRun {
    pub(super) fn check(&self, assertion: &Assertion) -> Result<(), ScenarioError> {
        if assertion.assert == "view" {
            return self.check_view(assertion);
        }
        let found = self.observe(assertion)?;
        // `"is": null` reads like a missing value; only for these does null mean something.
        let absent = matches!(assertion.assert.as_str(), "attached_to" | "winner" | "priority");
        let default = if absent { Value::Null } else { Value::Bool(true) };
        let expected = assertion.expected.clone().unwrap_or(default);
        if found == expected {
            return Ok(());
        }
        let what = [
            Some(assertion.assert.as_str()),
            assertion.player.as_deref(),
            assertion.card.as_deref(),
            assertion.zone.as_deref(),
        ];
        Err(ScenarioError::Mismatch {
            what: what.into_iter().flatten().collect::<Vec<_>>().join(" "),
            expected: expected.to_string(),
            found: found.to_string(),
        })
    }

    fn asserted_player(&self, assertion: &Assertion) -> Result<PlayerId, ScenarioError> {
        parse_player(assertion.player.as_deref().unwrap_or("A"))
    }

    fn asserted_object(&self, assertion: &Assertion) -> Result<ObjectId, ScenarioError> {
        let name = assertion.card.clone().or_else(|| assertion.name.clone()).unwrap_or_default();
        let player =
            assertion.player.as_deref().or(assertion.controller.as_deref()).map(parse_player).transpose()?;
        self.battlefield_object(&Value::String(name), player)
    }

    fn zone_count(&self, player: PlayerId, zone: Zone, name: Option<&str>) -> usize {
        let state = self.engine.state();
        let view = self.engine.view();
        let named = |id: &ObjectId| name.is_none_or(|name| view.name(*id) == split_number(name).0);
        let own = |id: &ObjectId| {
            if matches!(zone, Zone::Battlefield | Zone::Stack) {
                view.controller(*id) == player
            } else {
                state.object(*id).owner == player
            }
        };
        state.zone_objects(zone).iter().filter(|id| own(id) && named(id)).count()
    }

    fn observe(&self, assertion: &Assertion) -> Result<Value, ScenarioError> {
        let state = self.engine.state();
        Ok(match assertion.assert.as_str() {
            "life" => Value::from(state.player(self.asserted_player(assertion)?).life),
            "poison" => {
                let player = self.asserted_player(assertion)?;
                Value::from(state.player(player).counter(crate::ability::CounterKind::Poison))
            }
            "count" => {
                let zone = parse_zone(assertion.zone.as_deref().unwrap_or("battlefield"))?;
                number(self.zone_count(self.asserted_player(assertion)?, zone, assertion.card.as_deref()))
            }
            "hand_size" => number(state.player(self.asserted_player(assertion)?).hand.len()),
            "library_size" => number(state.player(self.asserted_player(assertion)?).library.len()),
            "graveyard_size" => number(state.player(self.asserted_player(assertion)?).graveyard.len()),
            "exile_size" => number(self.zone_count(self.asserted_player(assertion)?, Zone::Exile, None)),
            "permanent_count" | "battlefield_size" => {
                number(self.zone_count(self.asserted_player(assertion)?, Zone::Battlefield, None))
            }
            "stack_size" => number(state.stack.len()),
            "token_count" => self.token_count(assertion)?,
            "mana_pool" => self.mana_pool(self.asserted_player(assertion)?),
            "untapped_lands" => self.untapped_lands(self.asserted_player(assertion)?),
            "tapped_count" => {
                let player = self.asserted_player(assertion)?;
                let tapped = state.battlefield.iter().filter(|id| {
                    state.object(**id).tapped
                        && self.engine.view().controller(**id) == player
                        && assertion.card.as_deref().is_none_or(|name| self.engine.view().name(**id) == name)
                });
                number(tapped.count())
            }
            "game_over" => Value::Bool(self.engine.outcome().is_some()),
            "winner" => match self.engine.outcome() {
                None => Value::Null,
                Some(outcome) => {
                    outcome.winner.map_or_else(|| Value::String("draw".to_string()), player_name)
                }
            },
            "lost" | "won" => {
                let player = self.asserted_player(assertion)?;
                let winner = if assertion.assert == "won" { player } else { player.opponent() };
                Value::Bool(self.engine.outcome().is_some_and(|outcome| outcome.winner == Some(winner)))
            }
            "player_counters" => {
                let player = self.asserted_player(assertion)?;
                let kind = parse_counter(assertion.kind.as_deref().unwrap_or("poison"))?;
                Value::from(state.player(player).counter(kind))
            }
            "library_top" => {
                let library = &state.player(self.asserted_player(assertion)?).library;
                library.last().map_or(Value::Null, |id| Value::from(self.engine.view().name(*id)))
            }
            "active" | "active_player" => player_name(state.active),
            "priority" => self.engine.decision().map_or(Value::Null, |decision| player_name(decision.player)),
            "turn" => Value::from(state.turn),
            "step" => {
                let wanted = assertion.expected.as_ref().and_then(Value::as_str).unwrap_or_default();
                if parse_step(wanted)? == state.step {
                    Value::String(wanted.to_string())
                } else {
                    Value::Null
                }
            }
            _ => self.observe_object(assertion)?,
        })
    }

    fn observe_object(&self, assertion: &Assertion) -> Result<Value, ScenarioError> {
        let state = self.engine.state();
        let view = self.engine.view();
        let id = self.asserted_object(assertion)?;
        let own = view.characteristics(id);
        let object = state.object(id);
        Ok(match assertion.assert.as_str() {
            "pt" => Value::from(vec![own.power, own.toughness]),
            "power" => Value::from(own.power),
            "toughness" => Value::from(own.toughness),
            "damage" => Value::from(object.damage),
            "mana_value" => Value::from(view.mana_value(id)),
            "is_token" => Value::Bool(object.kind == ObjectKind::Token),
            "tapped" => Value::Bool(object.tapped),
            "counters" => {
                Value::from(object.counter(parse_counter(assertion.kind.as_deref().unwrap_or("+1/+1"))?))
            }
            "loyalty" => Value::from(object.counter(crate::ability::CounterKind::Loyalty)),
            "controller" => player_name(own.controller),
            "owner" => player_name(object.owner),
            "attached_to" => match object.attached_to {
                None => Value::Null,
                Some(Entity::Player(player)) => player_name(player),
                Some(Entity::Object(host)) => Value::String(view.name(host).to_string()),
            },
            "attacking" => Value::Bool(state.attacker(id).is_some()),
            "blocking" => Value::Bool(state.is_blocking(id)),
            "blocked" => Value::Bool(state.attacker(id).is_some_and(|attacker| attacker.blocked)),
            "summoning_sick" => Value::Bool(object.controlled_since >= state.turn),
            "keyword" | "has_keyword" => {
                let wanted = assertion.keyword.clone().or_else(|| assertion.kind.clone()).unwrap_or_default();
                Value::Bool(self.has_keyword_named(id, &wanted))
            }
            "has_type" => {
                Value::Bool(self.has_type_named(id, assertion.card_type.as_deref().unwrap_or_default()))
            }
            "color" | "has_color" => {
                let wanted = assertion.color.as_deref().or(assertion.kind.as_deref()).unwrap_or_default();
                let color = Color::ALL.iter().copied().find(|color| {
                    color.letter().to_string() == wanted || color.name().eq_ignore_ascii_case(wanted)
                });
                Value::Bool(color.is_some_and(|color| own.colors.contains(color)))
            }
            "colors" => {
                Value::from(own.colors.iter().map(|color| color.letter().to_string()).collect::<Vec<_>>())
            }
            other => return Err(ScenarioError::UnknownWord(other.to_string())),
        })
    }

    fn has_keyword_named(&self, id: ObjectId, name: &str) -> bool {
        let own = self.engine.view().characteristics(id);
        if let Some(keyword) = Keyword::from_text(&name.replace('_', " ")) {
            return own.has(keyword);
        }
        own.abilities.iter().any(|reference| match self.engine.ability(*reference) {
            Some(Ability::KeywordAbility(keyword)) => {
                let word = name.split(' ').next().unwrap_or_default().to_lowercase();
                match &**keyword {
                    KeywordAbility::Protection(filter) => word == "protection" && has_colors_of(filter, name),
                    KeywordAbility::HexproofFrom(filter) => word == "hexproof" && has_colors_of(filter, name),
                    KeywordAbility::Ward(_) => word == "ward",
                    KeywordAbility::Landwalk(filter) => is_walk(filter, name),
                    KeywordAbility::Toxic(_) => word == "toxic",
                    _ => false,
                }
            }
            _ => false,
        })
    }

    fn has_type_named(&self, id: ObjectId, name: &str) -> bool {
        let own = self.engine.view().characteristics(id);
        CardType::find(name).is_some_and(|card_type| own.is(card_type))
            || Supertype::find(name).is_some_and(|supertype| own.supertypes.contains(supertype))
            || Subtype::find(name).is_some_and(|subtype| own.has_subtype(subtype))
    }

    fn token_count(&self, assertion: &Assertion) -> Result<Value, ScenarioError> {
        let player = self.asserted_player(assertion)?;
        let state = self.engine.state();
        let view = self.engine.view();
        let name = assertion.name.as_deref().or(assertion.card.as_deref());
        let tokens = state.battlefield.iter().filter(|id| {
            state.object(**id).kind == ObjectKind::Token
                && view.controller(**id) == player
                && name.is_none_or(|name| view.name(**id) == name || self.has_type_named(**id, name))
        });
        Ok(number(tokens.count()))
    }

    fn mana_pool(&self, player: PlayerId) -> Value {
        let mut pool = Map::new();
        for kind in ManaKind::ALL {
            let amount = self.engine.state().player(player).mana.get(kind.index()).copied().unwrap_or(0);
            if amount > 0 {
                pool.insert(kind.letter().to_string(), Value::from(amount));
            }
        }
        Value::Object(pool)
    }

    fn untapped_lands(&self, player: PlayerId) -> Value {
        let view = self.engine.view();
        let lands = self.engine.state().battlefield.iter().filter(|id| {
            let own = view.characteristics(**id);
            own.is(CardType::Land) && own.controller == player && !self.engine.state().object(**id).tapped
        });
        number(lands.count())
    }

    /// A view shows counts of hidden zones and none of their cards.
    fn check_view(&self, assertion: &Assertion) -> Result<(), ScenarioError> {
        let player = self.asserted_player(assertion)?;
        let view = self.engine.visible(player);
        let text = serde_json::to_string(&view).unwrap_or_default();
        let mismatch = |what: String, expected: &str| ScenarioError::Mismatch {
            what,
            expected: expected.to_string(),
            found: "the opposite".to_string(),
        };
        for name in &assertion.hides {
            if text.contains(name.as_str()) {
                return Err(mismatch(name.clone(), "hidden"));
            }
        }
        for name in &assertion.shows {
            if !text.contains(name.as_str()) {
                return Err(mismatch(name.clone(), "shown"));
            }
        }
        for (place, count) in &assertion.shows_counts {
            let (seat, zone) = place.split_once('.').unwrap_or(("A", place));
            let seat = parse_player(seat)?;
            let own = view.players.get(usize::from(seat.0));
            let found = own.map(|own| match zone {
                "library" => own.library_size,
                "graveyard" => own.graveyard.len(),
                _ => own.hand_size,
            });
            if found != Some(*count) {
                return Err(mismatch(place.clone(), &count.to_string()));
            }
        }
        if assertion.library_order_hidden == Some(true) {
            let state = self.engine.state();
            let mut other = self.engine.clone();
            for seat in PlayerId::BOTH {
                other.state_mut().player_mut(seat).library.reverse();
            }
            let same = serde_json::to_string(&other.visible(player)).unwrap_or_default() == text;
            if !same && PlayerId::BOTH.iter().any(|seat| state.player(*seat).library.len() > 1) {
                return Err(mismatch("library order".to_string(), "hidden"));
            }
        }
        Ok(())
    }
}

/// Whether a filter is the colour that a name has, if it has one.
fn has_colors_of(filter: &Filter, name: &str) -> bool {
    let name = name.to_lowercase();
    let mut named = Color::ALL.iter().filter(|color| name.contains(&color.name().to_lowercase()));
    named.all(|color| *filter == Filter::Color(*color))
}

/// Whether a word such as `islandwalk` is the landwalk of a filter.
fn is_walk(filter: &Filter, name: &str) -> bool {
    let name = name.to_lowercase();
    match (name.strip_suffix("walk"), filter) {
        (Some(land), Filter::Subtype(subtype)) => subtype.name().eq_ignore_ascii_case(land) || land == "land",
        (Some(land), _) => land.ends_with("land"),
        (None, _) => false,
    }
}
