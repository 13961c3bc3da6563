//! Positions of scenarios.

use super::format::{CardEntry, Entry, Scenario, Side};
use super::play::ScenarioRun;
use super::{CardSource, ScenarioError};
use crate::ability::{CounterKind, TurnStep, Zone};
use crate::card::ManaKind;
use crate::engine::MTGEngine;
use crate::ids::{ObjectId, PlayerId};
use crate::state::{GameState, ObjectKind};
use crate::task::Task;
use serde_json::Value;

/// Filler cards of a library that is not given.
const FILLER_CARDS: u32 = 40;

/// Seed of scenarios; nothing they assert may depend on it.
const SCENARIO_SEED: u64 = 7;

pub(super) fn parse_player(name: &str) -> Result<PlayerId, ScenarioError> {
    match name {
        "A" => Ok(PlayerId(0)),
        "B" => Ok(PlayerId(1)),
        other => Err(ScenarioError::UnknownWord(other.to_string())),
    }
}

pub(super) fn parse_step(name: &str) -> Result<TurnStep, ScenarioError> {
    Ok(match name {
        "untap" => TurnStep::Untap,
        "upkeep" => TurnStep::Upkeep,
        "draw" => TurnStep::Draw,
        "main1" => TurnStep::Main1,
        "begin_combat" => TurnStep::BeginCombat,
        "declare_attackers" => TurnStep::DeclareAttackers,
        "declare_blockers" => TurnStep::DeclareBlockers,
        "first_strike_damage" => TurnStep::FirstStrikeDamage,
        "combat_damage" => TurnStep::CombatDamage,
        "end_combat" => TurnStep::EndCombat,
        "main2" => TurnStep::Main2,
        "end" => TurnStep::End,
        "cleanup" => TurnStep::Cleanup,
        other => return Err(ScenarioError::UnknownStep(other.to_string())),
    })
}

/// Kind of counter by the names that scenarios use.
pub(super) fn parse_counter(name: &str) -> Result<CounterKind, ScenarioError> {
    match name {
        "+1/+1" => Ok(CounterKind::PlusOne),
        "-1/-1" => Ok(CounterKind::MinusOne),
        other => serde_json::from_value(Value::String(other.replace(' ', "_")))
            .map_err(|_| ScenarioError::UnknownWord(other.to_string())),
    }
}

struct Loader<'a> {
    state: GameState,
    cards: &'a dyn CardSource,
    attachments: Vec<(ObjectId, Value)>,
}

impl Loader<'_> {
    fn add(
        &mut self,
        card: &CardEntry,
        player: PlayerId,
        zone: Zone,
    ) -> Result<Vec<ObjectId>, ScenarioError> {
        let face = self.cards.find_card(&card.card)?;
        let face_id = self.state.faces.intern(&face);
        let mut made = Vec::new();
        for _ in 0..card.n.unwrap_or(1) {
            let id = self.state.add_object(ObjectKind::Card, face_id, player, zone);
            match zone {
                Zone::Hand => self.state.player_mut(player).hand.push(id),
                Zone::Graveyard => self.state.player_mut(player).graveyard.push(id),
                Zone::Exile => self.state.exile.push(id),
                Zone::Battlefield => {
                    self.state.battlefield.push(id);
                    let timestamp = self.state.next_timestamp();
                    let turn = self.state.turn;
                    if let Some(object) = self.state.object_mut(id) {
                        object.timestamp = timestamp;
                        object.tapped = card.tapped;
                        object.damage = card.damage;
                        object.controlled_since = if card.summoning_sick { turn } else { 0 };
                        if let Some(loyalty) = face.loyalty
                            && !card.counters.contains_key("loyalty")
                        {
                            object.add_counters(CounterKind::Loyalty, i32::try_from(loyalty).unwrap_or(0));
                        }
                        for (kind, amount) in &card.counters {
                            object.add_counters(parse_counter(kind)?, *amount);
                        }
                    }
                    if let Some(host) = &card.attached_to {
                        self.attachments.push((id, host.clone()));
                    }
                }
                _ => {}
            }
            made.push(id);
        }
        Ok(made)
    }

    /// A library is given from its top; the top is the last of the state's list.
    fn add_library(&mut self, entries: &[Entry], player: PlayerId) -> Result<(), ScenarioError> {
        let mut library = Vec::new();
        for entry in entries {
            library.extend(self.add(&entry.card(), player, Zone::Library)?);
        }
        library.reverse();
        self.state.player_mut(player).library = library;
        Ok(())
    }

    fn add_side(&mut self, side: &Side, player: PlayerId) -> Result<(), ScenarioError> {
        for (entries, zone) in [
            (&side.hand, Zone::Hand),
            (&side.battlefield, Zone::Battlefield),
            (&side.graveyard, Zone::Graveyard),
            (&side.exile, Zone::Exile),
        ] {
            for entry in entries {
                self.add(&entry.card(), player, zone)?;
            }
        }
        match (&side.library, &side.deck) {
            (Some(library), _) => self.add_library(library, player)?,
            (None, Some(deck)) => self.add_library(&deck.to_vec(), player)?,
            (None, None) => {
                let filler =
                    CardEntry { card: "Wastes".to_string(), n: Some(FILLER_CARDS), ..CardEntry::default() };
                let filler = match self.cards.find_card(&filler.card) {
                    Ok(_) => filler,
                    Err(_) => CardEntry { card: "Plains".to_string(), ..filler },
                };
                self.add_library(&[Entry::Card(filler)], player)?;
            }
        }
        let own = self.state.player_mut(player);
        own.life = side.life.unwrap_or(own.life);
        if let Some(poison) = side.poison {
            own.counters.push((CounterKind::Poison, poison));
        }
        for (kind, amount) in &side.counters {
            own.counters.push((parse_counter(kind)?, *amount));
        }
        for (letter, amount) in &side.mana_pool {
            let kind = ManaKind::ALL.into_iter().find(|kind| kind.letter().to_string() == *letter);
            let kind = kind.ok_or_else(|| ScenarioError::UnknownWord(letter.clone()))?;
            if let Some(place) = own.mana.get_mut(kind.index()) {
                *place += amount;
            }
        }
        Ok(())
    }
}

/// Builds the position and advances to the first question.
pub(super) fn set_up(scenario: &Scenario, cards: &dyn CardSource) -> Result<ScenarioRun, ScenarioError> {
    let mut loader = Loader { state: GameState::new(SCENARIO_SEED), cards, attachments: Vec::new() };
    let active = parse_player(scenario.setup.active.as_deref().unwrap_or("A"))?;
    let step = scenario.setup.step.as_deref().unwrap_or("main1");
    let starts = matches!(step, "mulligan" | "game_start");
    // In the middle of a game it is not the first turn: its draw is not skipped.
    loader.state.turn = if starts { 0 } else { scenario.setup.turn.unwrap_or(2) };
    loader.state.active = active;
    loader.state.starting_player = active;
    loader.state.priority = active;
    let turn = loader.state.turn;
    loader.state.player_mut(active).latest_turn = turn;
    loader.state.player_mut(active.opponent()).latest_turn = turn.saturating_sub(1);
    loader.add_side(&scenario.setup.first, PlayerId(0))?;
    loader.add_side(&scenario.setup.second, PlayerId(1))?;
    let attachments = std::mem::take(&mut loader.attachments);
    let mut engine = MTGEngine::from_state(loader.state);
    match step {
        "mulligan" => engine.deal_hands(),
        "game_start" => engine.state_mut().tasks.push(Task::StartFirstTurn),
        other => {
            let step = parse_step(other)?;
            engine.state_mut().tasks.push(Task::BeginStep(step));
        }
    }
    let mut run = ScenarioRun::new(engine, scenario)?;
    for (id, host) in attachments {
        let host = run.find_entity(&host, None)?;
        if let Some(object) = run.engine.state_mut().object_mut(id) {
            object.attached_to = Some(host);
        }
    }
    run.engine.advance();
    Ok(run)
}
