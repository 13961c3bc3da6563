//! Subtypes as indices into one table.
//!
//! The table is data (`data/subtypes.txt`); a subtype is written by its name, so that files do not
//! depend on the order of the table.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// Card type to which a subtype belongs (205.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubtypeKind {
    Artifact,
    Battle,
    Creature,
    Enchantment,
    Land,
    Planeswalker,
    Spell,
}

/// Index of a subtype in the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subtype(u16);

struct SubtypeTable {
    rows: Vec<(&'static str, SubtypeKind)>,
    by_name: BTreeMap<&'static str, u16>,
    aura: Option<Subtype>,
    saga: Option<Subtype>,
}

static TABLE: LazyLock<SubtypeTable> = LazyLock::new(|| {
    let mut table = SubtypeTable { rows: Vec::new(), by_name: BTreeMap::new(), aura: None, saga: None };
    for line in include_str!("../../data/subtypes.txt").lines() {
        let Some((kind, name)) = line.split_once(' ') else { continue };
        let kind = match kind {
            "artifact" => SubtypeKind::Artifact,
            "battle" => SubtypeKind::Battle,
            "creature" => SubtypeKind::Creature,
            "enchantment" => SubtypeKind::Enchantment,
            "land" => SubtypeKind::Land,
            "planeswalker" => SubtypeKind::Planeswalker,
            "spell" => SubtypeKind::Spell,
            _ => continue,
        };
        if let Ok(index) = u16::try_from(table.rows.len()) {
            table.by_name.insert(name, index);
            table.rows.push((name, kind));
        }
    }
    let find = |name: &str| table.by_name.get(name).copied().map(Subtype);
    (table.aura, table.saga) = (find("Aura"), find("Saga"));
    table
});

impl Subtype {
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        TABLE.by_name.get(name).copied().map(Self)
    }

    /// The subtype Aura, which is asked for at every check of state-based actions.
    #[must_use]
    pub fn aura() -> Option<Self> {
        TABLE.aura
    }

    /// The subtype Saga.
    #[must_use]
    pub fn saga() -> Option<Self> {
        TABLE.saga
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE.rows.get(usize::from(self.0)).map_or("", |row| row.0)
    }

    #[must_use]
    pub fn kind(self) -> SubtypeKind {
        TABLE.rows.get(usize::from(self.0)).map_or(SubtypeKind::Spell, |row| row.1)
    }

    #[must_use]
    pub fn index(self) -> u16 {
        self.0
    }

    /// All subtypes of a kind, in the order of their names.
    pub fn all(kind: SubtypeKind) -> impl Iterator<Item = Self> {
        (0u16..).zip(TABLE.rows.iter()).filter(move |(_, row)| row.1 == kind).map(|(index, _)| Self(index))
    }
}

impl fmt::Debug for Subtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Subtype {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Subtype {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::find(&name).ok_or_else(|| serde::de::Error::custom(format!("unknown subtype `{name}`")))
    }
}
