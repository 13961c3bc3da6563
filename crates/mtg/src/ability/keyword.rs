//! Keyword abilities (702).

use super::{Amount, Cost, Filter};
use crate::card::ManaCost;
use crate::card::named_set;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

named_set!(
    /// Keyword ability without a parameter.
    Keyword, KeywordSet, u128,
    {
        Deathtouch, Defender, DoubleStrike, FirstStrike, Flash, Flying, Haste, Hexproof, Indestructible, Lifelink,
        Menace, Reach, Shroud, Trample, Vigilance, Prowess, Exalted, Undying, Persist, Infect, Wither, Changeling,
        Convoke, Delve, Fear, Intimidate, Skulk, Shadow, Horsemanship, Flanking, Evolve, Riot, Mentor, Training,
        Extort, BattleCry, Dethrone, Ingest, LivingWeapon, Unleash, Rebound, Devoid, Storm, Cascade, Provoke, Sunburst,
        Improvise, SplitSecond, Partner, Decayed, Melee, Myriad, Epic, Soulbond, Assist, Cipher, Exploit,
        TotemArmor, Banding, Phasing, StartYourEngines, Foretell, JumpStart, Retrace, Demonstrate, Daybound, Nightbound, Ascend
    }
);

impl Keyword {
    /// The keyword as printed, like `first strike`.
    #[must_use]
    pub fn text(self) -> String {
        let mut text = String::new();
        for letter in self.name().chars() {
            if letter.is_uppercase() && !text.is_empty() {
                text.push(if self == Self::JumpStart { '-' } else { ' ' });
            }
            text.extend(letter.to_lowercase());
        }
        text
    }

    /// The keyword with this printed text, in any case.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let text = text.to_lowercase();
        Self::ALL.iter().copied().find(|keyword| keyword.text() == text)
    }
}

/// Keyword ability with a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeywordAbility {
    /// Protection from what matches (702.16); `Filter::Any` is protection from everything.
    Protection(Filter),
    /// Hexproof from sources that match (702.11d).
    HexproofFrom(Filter),
    Ward(Cost),
    /// Cannot be blocked while the defending player controls a land that matches (702.14).
    Landwalk(Filter),
    Enchant(Filter),
    Equip {
        cost: Cost,
        filter: Option<Filter>,
    },
    Crew(u8),
    /// `search` is the filter of typecycling.
    Cycling {
        cost: Cost,
        search: Option<Filter>,
    },
    Kicker {
        cost: Cost,
        multi: bool,
    },
    Buyback(Cost),
    Flashback(Cost),
    Madness(Cost),
    Unearth(Cost),
    Evoke(Cost),
    Echo(Cost),
    Dash(Cost),
    Escape {
        cost: Cost,
        exile: u8,
    },
    Morph(Cost),
    Suspend {
        time: u8,
        cost: ManaCost,
    },
    Embalm(Cost),
    Eternalize(Cost),
    Reinforce {
        amount: Amount,
        cost: Cost,
    },
    Scavenge(Cost),
    Outlast(Cost),
    Ninjutsu(Cost),
    Surge(Cost),
    Spectacle(Cost),
    Overload(Cost),
    /// Costs one generic less for each permanent of the caster that matches (702.41).
    Affinity(Filter),
    Toxic(u8),
    Bushido(u8),
    Annihilator(u8),
    Afflict(u8),
    Rampage(u8),
    Absorb(u8),
    Bloodthirst(Amount),
    Modular(u8),
    Fading(u8),
    Vanishing(u8),
    Devour(u8),
    Renown(u8),
    Fabricate(u8),
    Afterlife(u8),
    Graft(u8),
    Dredge(u8),
    Soulshift(u8),
    Amplify(u8),
    Tribute(u8),
    Poisonous(u8),
    Hideaway(u8),
    Casualty(u8),
}
