//! The game as one player may know it: hidden cards have no face, and the random stream is unknown.
//!
//! Players without a model get nothing else, so no decision of theirs can depend on hidden cards. A
//! player knows the contents of the own library, not its order; of the opponent's hidden cards only
//! that they are like those that were seen.

use crate::ability::{PlayerRule, Zone};
use crate::card::{CardFace, CardType, ManaCost, ManaSymbol, TypeSet};
use crate::decision::{Choosable, Decision};
use crate::engine::MTGEngine;
use crate::ids::{Entity, FaceId, ObjectId, PlayerId};
use crate::rng::RandomStream;
use crate::state::{Object, ObjectKind};
use std::sync::Arc;

/// Face of a card that the player cannot see; no table has it.
const UNKNOWN_FACE: FaceId = FaceId(u16::MAX);

/// Share of lands among hidden cards of the opponent, in percent.
const LAND_PERCENT: usize = 42;

/// Weight of unknown creatures against cards that were seen.
const UNKNOWN_WEIGHT: usize = 4;

/// Game as one player may know it.
#[derive(Debug, Clone)]
pub struct Observation {
    engine: MTGEngine,
    player: PlayerId,
    /// Faces of the own library in the order of the table.
    library: Vec<FaceId>,
    /// Faces of the opponent's lands and other cards that are seen; own lands before one is seen.
    seen_lands: Vec<FaceId>,
    seen_spells: Vec<FaceId>,
    unknown_spells: Vec<FaceId>,
}

impl Observation {
    #[must_use]
    pub fn new(engine: &MTGEngine, player: PlayerId) -> Self {
        let mut engine = engine.clone();
        let revealed = revealed_objects(&engine, player);
        let mut library = Vec::new();
        let (mut seen_lands, mut seen_spells) = (Vec::new(), Vec::new());
        let faces = engine.state.faces.clone();
        for object in &mut engine.state.objects {
            if object.kind != ObjectKind::Card {
                continue;
            }
            if is_hidden(object, player) && !revealed.contains(&object.id) {
                if object.owner == player {
                    library.push(object.face);
                }
                let object = Arc::make_mut(object);
                object.face = UNKNOWN_FACE;
                object.copy_of = None;
            } else if object.owner != player {
                let land = faces.get(object.face).is_some_and(|face| face.face.has_type(CardType::Land));
                if land { &mut seen_lands } else { &mut seen_spells }.push(object.face);
            }
        }
        library.sort_unstable();
        if seen_lands.is_empty() {
            // An opponent without lands could cast nothing.
            let is_land =
                |face: &FaceId| faces.get(*face).is_some_and(|face| face.face.has_type(CardType::Land));
            seen_lands.extend(library.iter().copied().filter(is_land));
        }
        seen_lands.sort_unstable();
        seen_spells.sort_unstable();
        engine.state.random = RandomStream::new(0);
        if let Some(decision) = engine.state.pending.as_mut().filter(|decision| decision.player != player) {
            decision.options.clear();
            decision.subjects.clear();
        }
        let unknown_spells = (2..=4).map(|size| engine.state.faces.intern(&unknown_creature(size))).collect();
        engine.touch();
        Self { engine, player, library, seen_lands, seen_spells, unknown_spells }
    }

    /// The engine without what is hidden; its questions are those of the game.
    #[must_use]
    pub fn engine(&self) -> &MTGEngine {
        &self.engine
    }

    #[must_use]
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// The question to this player.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        self.engine.decision().filter(|decision| decision.player == self.player)
    }

    /// A game that the player cannot tell from the real one: hidden cards are drawn at random.
    #[must_use]
    pub fn determinise(&self, random: &mut RandomStream) -> MTGEngine {
        let mut engine = self.engine.clone();
        let mut library = self.library.clone();
        random.shuffle(&mut library);
        for object in &mut engine.state.objects {
            if object.face != UNKNOWN_FACE || object.kind != ObjectKind::Card {
                continue;
            }
            let face = if object.owner == self.player {
                library.pop().unwrap_or(UNKNOWN_FACE)
            } else {
                self.draw_unknown(random)
            };
            Arc::make_mut(object).face = face;
        }
        engine.state.random = RandomStream::new(random.next_word());
        engine.touch();
        engine
    }

    fn draw_unknown(&self, random: &mut RandomStream) -> FaceId {
        let pick = |faces: &[FaceId], random: &mut RandomStream| {
            faces.get(random.below(faces.len())).copied().unwrap_or(UNKNOWN_FACE)
        };
        if !self.seen_lands.is_empty() && random.below(100) < LAND_PERCENT {
            return pick(&self.seen_lands, random);
        }
        if random.below(self.seen_spells.len() + UNKNOWN_WEIGHT) < self.seen_spells.len() {
            pick(&self.seen_spells, random)
        } else {
            pick(&self.unknown_spells, random)
        }
    }
}

fn is_hidden(object: &Object, player: PlayerId) -> bool {
    match object.zone {
        Zone::Library => true,
        Zone::Hand => object.owner != player,
        _ => false,
    }
}

/// Hidden objects that the player is shown: those of the question, and a top card to play from.
fn revealed_objects(engine: &MTGEngine, player: PlayerId) -> Vec<ObjectId> {
    let mut revealed: Vec<ObjectId> = Vec::new();
    if let Some(decision) = engine.decision().filter(|decision| decision.player == player) {
        revealed.extend(&decision.subjects);
        revealed.extend(decision.options.iter().filter_map(|option| match option {
            Choosable::Entity(Entity::Object(id)) => Some(*id),
            _ => None,
        }));
    }
    let plays_top =
        engine.has_rule(player, |rule| matches!(rule, PlayerRule::PlayFrom { zone: Zone::Library, .. }));
    if plays_top {
        revealed.extend(engine.state.player(player).library.last());
    }
    revealed
}

/// Stand-in for a card of the opponent that was never seen.
fn unknown_creature(size: u8) -> CardFace {
    CardFace {
        name: format!("Unknown creature {size}"),
        mana_cost: Some(ManaCost { symbols: vec![ManaSymbol::Generic(size)] }),
        types: TypeSet::from_members(&[CardType::Creature]),
        power: Some(i32::from(size)),
        toughness: Some(i32::from(size)),
        ..CardFace::default()
    }
}
