//! Card types and supertypes as small sets.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares an enum whose members are written by their printed names, and a set of them.
macro_rules! named_set {
    ($(#[$meta:meta])* $name:ident, $set:ident, $repr:ty, { $($member:ident),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($member),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$member),+];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($name::$member => stringify!($member)),+ }
            }

            #[must_use]
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|member| member.name() == name)
            }

            const fn bit(self) -> $repr {
                1 << (self as u8)
            }
        }

        #[doc = concat!("Set of [`", stringify!($name), "`].")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $set($repr);

        impl $set {
            pub const EMPTY: Self = Self(0);

            #[must_use]
            pub const fn from_members(members: &[$name]) -> Self {
                let mut bits = 0;
                let mut rest = members;
                while let [first, tail @ ..] = rest {
                    bits |= first.bit();
                    rest = tail;
                }
                Self(bits)
            }

            #[must_use]
            pub fn contains(self, member: $name) -> bool {
                self.0 & member.bit() != 0
            }

            #[must_use]
            pub fn intersects(self, other: Self) -> bool {
                self.0 & other.0 != 0
            }

            #[must_use]
            pub const fn is_empty(&self) -> bool {
                self.0 == 0
            }

            #[must_use]
            pub fn count(self) -> u32 {
                self.0.count_ones()
            }

            pub fn insert(&mut self, member: $name) {
                self.0 |= member.bit();
            }

            pub fn remove(&mut self, member: $name) {
                self.0 &= !member.bit();
            }

            #[must_use]
            pub fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            #[must_use]
            pub fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            pub fn iter(self) -> impl Iterator<Item = $name> {
                $name::ALL.iter().copied().filter(move |member| self.contains(*member))
            }
        }

        impl FromIterator<$name> for $set {
            fn from_iter<I: IntoIterator<Item = $name>>(members: I) -> Self {
                let mut set = Self::EMPTY;
                for member in members {
                    set.insert(member);
                }
                set
            }
        }

        impl Serialize for $set {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.iter())
            }
        }

        impl<'de> Deserialize<'de> for $set {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(Vec::<$name>::deserialize(deserializer)?.into_iter().collect())
            }
        }
    };
}

pub(crate) use named_set;

named_set!(
    /// Card type (205.2).
    CardType, TypeSet, u16,
    { Artifact, Battle, Creature, Enchantment, Instant, Kindred, Land, Planeswalker, Sorcery }
);

named_set!(
    /// Supertype (205.4).
    Supertype, SupertypeSet, u8,
    { Basic, Legendary, Snow, World }
);

impl TypeSet {
    /// Types of permanents (110.4).
    pub const PERMANENT: Self = Self::from_members(&[
        CardType::Artifact,
        CardType::Battle,
        CardType::Creature,
        CardType::Enchantment,
        CardType::Land,
        CardType::Planeswalker,
    ]);
}
