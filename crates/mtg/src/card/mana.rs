//! Colours, mana symbols and mana costs (105, 106, 107.4).

use super::types::named_set;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

named_set!(
    /// Colour (105.1).
    Color, ColorSet, u8,
    { White, Blue, Black, Red, Green }
);

impl Color {
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::White => 'W',
            Self::Blue => 'U',
            Self::Black => 'B',
            Self::Red => 'R',
            Self::Green => 'G',
        }
    }

    #[must_use]
    pub fn from_letter(letter: &str) -> Option<Self> {
        Some(match letter {
            "W" => Self::White,
            "U" => Self::Blue,
            "B" => Self::Black,
            "R" => Self::Red,
            "G" => Self::Green,
            _ => return None,
        })
    }
}

/// Type of mana: one of five colours or colourless (106.1b).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ManaKind {
    White,
    Blue,
    Black,
    Red,
    Green,
    Colorless,
}

impl ManaKind {
    pub const ALL: [Self; 6] =
        [Self::White, Self::Blue, Self::Black, Self::Red, Self::Green, Self::Colorless];

    #[must_use]
    pub fn letter(self) -> char {
        self.color().map_or('C', Color::letter)
    }

    #[must_use]
    pub fn from_letter(letter: &str) -> Option<Self> {
        if letter == "C" { Some(Self::Colorless) } else { Color::from_letter(letter).map(Self::from) }
    }

    #[must_use]
    pub fn color(self) -> Option<Color> {
        Some(match self {
            Self::White => Color::White,
            Self::Blue => Color::Blue,
            Self::Black => Color::Black,
            Self::Red => Color::Red,
            Self::Green => Color::Green,
            Self::Colorless => return None,
        })
    }

    #[must_use]
    pub fn index(self) -> usize {
        self as usize
    }
}

impl From<Color> for ManaKind {
    fn from(color: Color) -> Self {
        match color {
            Color::White => Self::White,
            Color::Blue => Self::Blue,
            Color::Black => Self::Black,
            Color::Red => Self::Red,
            Color::Green => Self::Green,
        }
    }
}

impl Serialize for ManaKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_char(self.letter())
    }
}

impl<'de> Deserialize<'de> for ManaKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let letter = String::deserialize(deserializer)?;
        Self::from_letter(&letter).ok_or_else(|| serde::de::Error::custom(format!("unknown mana `{letter}`")))
    }
}

/// Symbol in a mana cost (107.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ManaSymbol {
    Generic(u8),
    Colored(Color),
    Colorless,
    X,
    Hybrid(Color, Color),
    /// `{2/W}`: two generic or one of the colour.
    TwoHybrid(Color),
    /// `{W/P}`: one of the colour or 2 life.
    Phyrexian(Color),
    /// `{G/W/P}`: one of two colours or 2 life.
    HybridPhyrexian(Color, Color),
}

impl ManaSymbol {
    /// Colours that the symbol gives to an object (105.2).
    #[must_use]
    pub fn colors(self) -> ColorSet {
        match self {
            Self::Generic(_) | Self::Colorless | Self::X => ColorSet::EMPTY,
            Self::Colored(color) | Self::TwoHybrid(color) | Self::Phyrexian(color) => {
                ColorSet::from_members(&[color])
            }
            Self::Hybrid(first, second) | Self::HybridPhyrexian(first, second) => {
                ColorSet::from_members(&[first, second])
            }
        }
    }

    #[must_use]
    pub fn mana_value(self) -> u32 {
        match self {
            Self::Generic(amount) => u32::from(amount),
            Self::X => 0,
            Self::TwoHybrid(_) => 2,
            _ => 1,
        }
    }
}

impl fmt::Display for ManaSymbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generic(amount) => write!(f, "{{{amount}}}"),
            Self::Colored(color) => write!(f, "{{{}}}", color.letter()),
            Self::Colorless => f.write_str("{C}"),
            Self::X => f.write_str("{X}"),
            Self::Hybrid(first, second) => write!(f, "{{{}/{}}}", first.letter(), second.letter()),
            Self::TwoHybrid(color) => write!(f, "{{2/{}}}", color.letter()),
            Self::Phyrexian(color) => write!(f, "{{{}/P}}", color.letter()),
            Self::HybridPhyrexian(first, second) => write!(f, "{{{}/{}/P}}", first.letter(), second.letter()),
        }
    }
}

/// Mana cost as printed, symbol by symbol; written like `{2}{W}{W}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ManaCost {
    pub symbols: Vec<ManaSymbol>,
}

/// Text that is not a mana cost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot parse mana cost `{text}`: `{symbol}` is not a mana symbol")]
pub struct ManaCostError {
    pub text: String,
    pub symbol: String,
}

impl ManaCost {
    #[must_use]
    pub fn generic(amount: u8) -> Self {
        Self { symbols: vec![ManaSymbol::Generic(amount)] }
    }

    #[must_use]
    pub fn mana_value(&self) -> u32 {
        self.symbols.iter().map(|symbol| symbol.mana_value()).sum()
    }

    #[must_use]
    pub fn colors(&self) -> ColorSet {
        self.symbols.iter().fold(ColorSet::EMPTY, |colors, symbol| colors.union(symbol.colors()))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// Number of `{X}` symbols.
    #[must_use]
    pub fn x_count(&self) -> u32 {
        u32::try_from(self.symbols.iter().filter(|symbol| **symbol == ManaSymbol::X).count())
            .unwrap_or(u32::MAX)
    }
}

fn parse_symbol(symbol: &str) -> Option<ManaSymbol> {
    if let Ok(amount) = symbol.parse() {
        return Some(ManaSymbol::Generic(amount));
    }
    let parts: Vec<&str> = symbol.split('/').collect();
    Some(match parts.as_slice() {
        ["X"] => ManaSymbol::X,
        ["C"] => ManaSymbol::Colorless,
        [color] => ManaSymbol::Colored(Color::from_letter(color)?),
        ["2", color] => ManaSymbol::TwoHybrid(Color::from_letter(color)?),
        [color, "P"] => ManaSymbol::Phyrexian(Color::from_letter(color)?),
        [first, second] => ManaSymbol::Hybrid(Color::from_letter(first)?, Color::from_letter(second)?),
        [first, second, "P"] => {
            ManaSymbol::HybridPhyrexian(Color::from_letter(first)?, Color::from_letter(second)?)
        }
        _ => return None,
    })
}

impl FromStr for ManaCost {
    type Err = ManaCostError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut symbols = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let refuse = |symbol: &str| ManaCostError { text: text.to_string(), symbol: symbol.to_string() };
            let (symbol, tail) =
                rest.strip_prefix('{').and_then(|inner| inner.split_once('}')).ok_or_else(|| refuse(rest))?;
            symbols.push(parse_symbol(symbol).ok_or_else(|| refuse(symbol))?);
            rest = tail;
        }
        Ok(Self { symbols })
    }
}

impl fmt::Display for ManaCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.symbols.iter().try_for_each(|symbol| symbol.fmt(f))
    }
}

impl Serialize for ManaCost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ManaCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
