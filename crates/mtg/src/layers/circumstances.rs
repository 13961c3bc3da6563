//! Whether a projection depends on more than the permanents and the effects of the state.
//!
//! Most static abilities look only at types, colours and controllers. A projection of such abilities
//! stays right while steps begin, life changes or cards are drawn, and is not built again.

use crate::ability::{Amount, Change, Filter, Selector, StaticAbility, Zone};

/// Whether what a static ability does follows from the permanents alone.
pub(super) fn is_plain_static(granting: &StaticAbility) -> bool {
    granting.condition.is_none()
        && is_plain_selector(&granting.affected)
        && granting.changes.iter().all(is_plain_change)
}

/// Whether players are selected by who controls a permanent, and nothing else.
pub(super) fn is_plain_player(who: &Selector) -> bool {
    matches!(who, Selector::You | Selector::EachPlayer | Selector::EachOpponent)
}

fn is_plain_selector(selector: &Selector) -> bool {
    match selector {
        Selector::This | Selector::Attached => true,
        Selector::All { zone: Zone::Battlefield, filter } => is_plain_filter(filter),
        _ => false,
    }
}

fn is_plain_filter(filter: &Filter) -> bool {
    match filter {
        Filter::All(parts) | Filter::AnyOf(parts) => parts.iter().all(is_plain_filter),
        Filter::Not(part) => is_plain_filter(part),
        Filter::Controller(who) | Filter::Owner(who) => is_plain_player(who),
        Filter::Any
        | Filter::Type(_)
        | Filter::Supertype(_)
        | Filter::Subtype(_)
        | Filter::Color(_)
        | Filter::Colorless
        | Filter::Multicolored
        | Filter::Monocolored
        | Filter::Permanent
        | Filter::Token
        | Filter::Card
        | Filter::Named(_)
        | Filter::Keyword(_)
        | Filter::This
        | Filter::Other => true,
        _ => false,
    }
}

fn is_plain_change(change: &Change) -> bool {
    let is_fixed = |amount: &Amount| matches!(amount, Amount::Fixed(_));
    match change {
        Change::SetPower(amount) | Change::SetToughness(amount) => is_fixed(amount),
        Change::Modify { power, toughness } => is_fixed(power) && is_fixed(toughness),
        Change::Control(who) => is_plain_player(who),
        Change::AddTypes(_)
        | Change::RemoveTypes(_)
        | Change::SetTypes(_)
        | Change::AddSubtypes(_)
        | Change::SetSubtypes(_)
        | Change::RemoveSubtypes(_)
        | Change::SetLandTypes(_)
        | Change::AllCreatureTypes
        | Change::TurnFaceDown
        | Change::ShowFaceDown(_)
        | Change::AddSupertype(_)
        | Change::RemoveSupertype(_)
        | Change::SetColors(_)
        | Change::AddColors(_)
        | Change::AddKeyword(_)
        | Change::RemoveKeyword(_)
        | Change::AddAbility(_)
        | Change::LoseAllAbilities
        | Change::Restriction(_)
        | Change::SwitchPowerToughness => true,
        _ => false,
    }
}
