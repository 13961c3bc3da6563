//! Table of faces of one game: cards of both decks and tokens that were created.
//!
//! A face is prepared once: its keywords are expanded into the abilities that implement them, and
//! its characteristics outside the battlefield are computed. Objects refer to it by index.

use crate::ability::{
    Ability, ActivatedAbility, Body, Change, Cost, Effect, Filter, Instruction, Keyword, KeywordAbility,
    ManaOutput, Selector,
};
use crate::card::{CardFace, CardType, Color, ManaKind, Subtype, SubtypeKind};
use crate::characteristics::{Characteristics, trigger_bit};
use crate::ids::{AbilityRef, FaceId, PlayerId};
use crate::keywords::{expand_keyword, expand_keyword_ability};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::{Arc, LazyLock};

/// Face with what follows from it.
#[derive(Debug, PartialEq, Eq)]
pub struct PreparedFace {
    pub face: CardFace,
    /// Printed abilities, then those that keywords stand for.
    pub abilities: Vec<Ability>,
    pub base: Characteristics,
    pub has_characteristic_ability: bool,
    /// Whether the card can be cast at any time, or from the graveyard, by itself.
    pub is_instant: bool,
    pub casts_from_graveyard: bool,
    /// Bits of the triggers of abilities that work in other zones than the battlefield.
    pub zone_triggers: u64,
}

impl PreparedFace {
    fn new(id: FaceId, face: CardFace) -> Self {
        let mut abilities: Vec<Ability> = Vec::new();
        for ability in &face.abilities {
            abilities.push(prepare_ability(ability.clone()));
        }
        let mut expanded = Vec::new();
        for ability in &abilities {
            match ability {
                Ability::Keyword(keyword) => expanded.extend(expand_keyword(*keyword).iter().cloned()),
                Ability::KeywordAbility(keyword) => expanded.extend(expand_keyword_ability(keyword)),
                _ => {}
            }
        }
        abilities.extend(expanded);
        let mut base = Characteristics::from_face(id, &face, PlayerId(0));
        for (index, ability) in (0u8..).zip(&abilities) {
            base.abilities.push(AbilityRef::Face(id, index));
            base.note_ability(ability);
        }
        let has_characteristic_ability =
            abilities.iter().any(|ability| matches!(ability, Ability::Characteristic(_)));
        let is_instant = face.has_type(CardType::Instant) || has_printed_keyword(&face, Keyword::Flash);
        let casts_from_graveyard = face.abilities.iter().any(|ability| match ability {
            Ability::Keyword(keyword) => matches!(keyword, Keyword::Retrace | Keyword::JumpStart),
            Ability::KeywordAbility(keyword) => {
                matches!(**keyword, KeywordAbility::Flashback(_) | KeywordAbility::Escape { .. })
            }
            _ => false,
        });
        let zone_triggers = abilities.iter().fold(0, |bits, ability| match ability {
            Ability::Triggered(triggered) if triggered.zone.is_some() => {
                triggered.events.iter().fold(bits, |bits, event| bits | trigger_bit(event))
            }
            _ => bits,
        });
        Self {
            face,
            abilities,
            base,
            has_characteristic_ability,
            is_instant,
            casts_from_graveyard,
            zone_triggers,
        }
    }
}

/// Adds to a static ability that grants a keyword with a parameter the abilities it stands for.
fn prepare_ability(ability: Ability) -> Ability {
    match ability {
        Ability::Static(mut granting) => {
            granting.changes = prepare_changes(granting.changes);
            Ability::Static(granting)
        }
        other => other,
    }
}

/// See [`prepare_ability`].
pub(crate) fn prepare_changes(changes: Vec<Change>) -> Vec<Change> {
    let mut prepared = Vec::with_capacity(changes.len());
    for change in changes {
        let expanded = match &change {
            Change::AddAbility(ability) => match &**ability {
                Ability::KeywordAbility(keyword) => expand_keyword_ability(keyword),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        prepared.push(change);
        prepared.extend(expanded.into_iter().map(|ability| Change::AddAbility(Box::new(ability))));
    }
    prepared
}

/// Faces of a game, shared between clones of its state.
#[derive(Debug, Clone, Default)]
pub struct FaceTable {
    faces: Arc<Vec<Arc<PreparedFace>>>,
}

impl FaceTable {
    /// Index of a face, which is added if the table lacks it.
    pub fn intern(&mut self, face: &CardFace) -> FaceId {
        if let Some(position) = self.faces.iter().position(|known| known.face == *face) {
            return FaceId(u16::try_from(position).unwrap_or(u16::MAX));
        }
        let id = FaceId(u16::try_from(self.faces.len()).unwrap_or(u16::MAX));
        Arc::make_mut(&mut self.faces).push(Arc::new(PreparedFace::new(id, face.clone())));
        id
    }

    #[must_use]
    pub fn get(&self, id: FaceId) -> Option<&PreparedFace> {
        self.faces.get(usize::from(id.0)).map(|face| &**face)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.faces.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.faces.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &PreparedFace> {
        self.faces.iter().map(|face| &**face)
    }
}

impl PartialEq for FaceTable {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.faces, &other.faces) || self.faces == other.faces
    }
}

impl Eq for FaceTable {}

impl std::hash::Hash for FaceTable {
    /// Objects hash the indices; the names say which faces they are.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.faces.len().hash(state);
    }
}

impl Serialize for FaceTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|face| &face.face))
    }
}

impl<'de> Deserialize<'de> for FaceTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let faces = Vec::<CardFace>::deserialize(deserializer)?;
        let prepared =
            (0u16..).zip(faces).map(|(index, face)| Arc::new(PreparedFace::new(FaceId(index), face)));
        Ok(Self { faces: Arc::new(prepared.collect()) })
    }
}

/// Whether a face has a keyword in print.
#[must_use]
pub(crate) fn has_printed_keyword(face: &CardFace, keyword: Keyword) -> bool {
    face.abilities.iter().any(|ability| matches!(ability, Ability::Keyword(known) if *known == keyword))
}

/// The first keyword ability with a parameter that the function accepts.
pub(crate) fn find_keyword_ability<T>(
    face: &CardFace,
    pick: impl Fn(&KeywordAbility) -> Option<T>,
) -> Option<T> {
    face.abilities.iter().find_map(|ability| match ability {
        Ability::KeywordAbility(keyword) => pick(keyword),
        _ => None,
    })
}

/// Colour index of the mana ability of a basic land type.
#[must_use]
pub(crate) fn land_mana(subtype: Subtype) -> Option<u8> {
    if subtype.kind() != SubtypeKind::Land {
        return None;
    }
    match subtype.name() {
        "Plains" => Some(0),
        "Island" => Some(1),
        "Swamp" => Some(2),
        "Mountain" => Some(3),
        "Forest" => Some(4),
        _ => None,
    }
}

static LAND_ABILITIES: LazyLock<Vec<Ability>> = LazyLock::new(|| {
    let build = |kind: &ManaKind| {
        let add = Effect::AddMana { who: Selector::You, mana: ManaOutput::Fixed(vec![*kind]), only: None };
        Ability::Activated(Box::new(ActivatedAbility {
            cost: Cost::tap(),
            body: Body { effects: vec![Instruction::from(add)], ..Body::default() },
            sorcery_speed: false,
            condition: None,
            per_turn: None,
            zone: crate::ability::Zone::Battlefield,
            any_player: false,
            text: format!("{{T}}: Add {{{}}}.", kind.letter()),
        }))
    };
    ManaKind::ALL.iter().take(5).map(build).collect()
});

/// Mana ability of a basic land type, by colour.
#[must_use]
pub(crate) fn land_ability(color: u8) -> Option<&'static Ability> {
    LAND_ABILITIES.get(usize::from(color))
}

static PROTECTIONS: LazyLock<Vec<Ability>> = LazyLock::new(|| {
    let protection = |color: &Color| KeywordAbility::Protection(Filter::Color(*color));
    Color::ALL.iter().map(|color| Ability::KeywordAbility(Box::new(protection(color)))).collect()
});

/// Protection from a colour, by its place.
#[must_use]
pub(crate) fn protection_ability(color: u8) -> Option<&'static Ability> {
    PROTECTIONS.get(usize::from(color))
}
