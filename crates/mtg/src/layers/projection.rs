//! Result of the layers for one version of the state.

use crate::ability::{KeywordSet, PlayerRule, Zone};
use crate::card::SupertypeSet;
use crate::characteristics::{AbilityClass, Characteristics};
use crate::ids::{ObjectId, PlayerId};
use crate::state::GameState;

/// Projected characteristics of the battlefield.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    pub(super) ids: Vec<ObjectId>,
    pub(super) own: Vec<Characteristics>,
    /// Position in `own` by slot of the object; `u16::MAX` if it is not on the battlefield.
    pub(super) positions: Vec<u16>,
    /// Objects of other zones that a static ability affects, by id.
    pub(super) elsewhere: Vec<(ObjectId, Characteristics)>,
    /// Union of the bits of triggers on the battlefield.
    pub triggers: u64,
    /// Union of the classes of abilities on the battlefield.
    pub classes: u16,
    /// Union of the supertypes and of the keywords on the battlefield.
    pub supertypes: SupertypeSet,
    pub keywords: KeywordSet,
    /// Rules for players: who, the rule's place and source.
    pub rules: Vec<(PlayerId, PlayerRule, ObjectId)>,
    /// Whether it depends on more than the permanents and the effects of the state.
    pub is_circumstantial: bool,
}

impl Projection {
    /// Permanents in the order of the battlefield.
    #[must_use]
    pub fn ids(&self) -> &[ObjectId] {
        &self.ids
    }

    #[must_use]
    pub fn get(&self, state: &GameState, id: ObjectId) -> Option<&Characteristics> {
        let position = *self.positions.get(id.slot())?;
        if self.ids.get(usize::from(position)) != Some(&id) || state.object(id).zone != Zone::Battlefield {
            return None;
        }
        self.own.get(usize::from(position))
    }

    pub(super) fn get_mut(&mut self, id: ObjectId) -> Option<&mut Characteristics> {
        let position = self.positions.get(id.slot()).copied().map(usize::from).unwrap_or(usize::MAX);
        // An effect on an object does not affect what the object became (400.7).
        if self.ids.get(position) == Some(&id) {
            return self.own.get_mut(position);
        }
        let place = self.elsewhere.binary_search_by_key(&id, |entry| entry.0).ok()?;
        self.elsewhere.get_mut(place).map(|entry| &mut entry.1)
    }

    /// What static abilities make of an object that is not on the battlefield.
    #[must_use]
    pub(crate) fn get_elsewhere(&self, id: ObjectId) -> Option<&Characteristics> {
        if self.elsewhere.is_empty() {
            return None;
        }
        let place = self.elsewhere.binary_search_by_key(&id, |entry| entry.0).ok()?;
        self.elsewhere.get(place).map(|entry| &entry.1)
    }

    /// Lets static abilities affect an object that is not on the battlefield.
    pub(super) fn add_elsewhere(&mut self, id: ObjectId, own: impl FnOnce() -> Characteristics) {
        if let Err(place) = self.elsewhere.binary_search_by_key(&id, |entry| entry.0) {
            self.elsewhere.insert(place, (id, own()));
        }
    }

    #[must_use]
    pub fn has_class(&self, class: AbilityClass) -> bool {
        self.classes & class.bit() != 0
    }

    /// Whether another projection says the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.ids == other.ids
            && self.own == other.own
            && self.elsewhere == other.elsewhere
            && self.rules == other.rules
    }
}
