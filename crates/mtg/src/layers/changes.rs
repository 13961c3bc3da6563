//! Single changes of characteristics, by layer.

use super::{Builder, LayerEffect, Origin, layer_of};
use crate::ability::{Ability, Change, CounterKind, Keyword};
use crate::card::{CardType, ColorSet, Subtype, SubtypeKind};
use crate::characteristics::{AbilityClass, Characteristics, RestrictionRef, rule_flag};
use crate::context::Context;
use crate::ids::{AbilityRef, Entity, ObjectId};
use crate::keywords::expand_keyword;
use crate::state::ContinuousEffect;
use smallvec::SmallVec;

impl Builder<'_> {
    pub(super) fn apply_change(
        &mut self,
        id: ObjectId,
        change: &Change,
        position: u8,
        effect: &LayerEffect,
        context: &Context,
    ) {
        // Amounts are read before the object is borrowed to be changed.
        let mut inner = context.clone();
        inner.iterated = Some(Entity::Object(id));
        let numbers = match change {
            Change::SetPower(amount)
            | Change::SetToughness(amount)
            | Change::DefinePower(amount)
            | Change::DefineToughness(amount) => (self.view().amount(amount, &inner), 0),
            Change::Modify { power, toughness } => {
                (self.view().amount(power, &inner), self.view().amount(toughness, &inner))
            }
            _ => (0, 0),
        };
        let player = match change {
            Change::Control(selector) => self.view().select_player(selector, context),
            _ => None,
        };
        let chosen = self.state.object(context.source).chosen;
        let copied = match change {
            Change::CopyOf { of, .. } => {
                let of = self.view().select(of, context).into_iter().find_map(Entity::object);
                of.and_then(|of| self.state.faces.get(self.state.object(of).shown_face()))
            }
            Change::ShowFace(face) | Change::ShowFaceDown(face) => self.state.faces.get(*face),
            _ => None,
        };
        let Some(own) = self.projection.get_mut(id) else { return };
        match change {
            Change::CopyOf { .. } | Change::ShowFace(_) | Change::ShowFaceDown(_) => {
                if let Some(face) = copied {
                    let controller = own.controller;
                    *own = face.base.clone();
                    own.controller = controller;
                }
            }
            Change::Control(_) => own.controller = player.unwrap_or(own.controller),
            Change::SetPower(_) | Change::DefinePower(_) => own.power = numbers.0,
            Change::SetToughness(_) | Change::DefineToughness(_) => own.toughness = numbers.0,
            Change::Modify { .. } => {
                own.power += numbers.0;
                own.toughness += numbers.1;
            }
            Change::SwitchPowerToughness => std::mem::swap(&mut own.power, &mut own.toughness),
            Change::SetColors(colors) => own.colors = *colors,
            Change::AddColors(colors) => own.colors = own.colors.union(*colors),
            Change::SetChosenColor => own.colors = chosen.color.into_iter().collect::<ColorSet>(),
            Change::AddChosenType => own.subtypes.extend(chosen.subtype),
            Change::SetChosenType => {
                let chosen = chosen.subtype.into_iter().collect();
                change_types(own, &Change::SetSubtypes(chosen));
            }
            Change::SetName(_) | Change::NoManaCost | Change::KeepThisAbility => {}
            _ if layer_of(change) == 3 => change_types(own, change),
            _ => self.change_abilities(id, change, position, effect, context),
        }
    }

    pub(super) fn change_abilities(
        &mut self,
        id: ObjectId,
        change: &Change,
        position: u8,
        effect: &LayerEffect,
        context: &Context,
    ) {
        let grant = match effect.origin {
            Origin::Static(_, face, index) => Some(AbilityRef::Grant(face, index, position)),
            Origin::Granted(_, AbilityRef::Face(face, index)) => {
                Some(AbilityRef::Grant(face, index, position))
            }
            Origin::Granted(..) => None,
            Origin::Resolved(index) => {
                self.state.effects.get(index).and_then(|effect| granted(effect, position))
            }
        };
        let color = context.color.or(self.state.object(context.source).chosen.color);
        let Some(own) = self.projection.get_mut(id) else { return };
        match change {
            Change::AddKeyword(keyword) => {
                own.note_ability(&Ability::Keyword(*keyword));
                for (index, ability) in (0u8..).zip(expand_keyword(*keyword)) {
                    own.abilities.push(AbilityRef::Keyword(*keyword, index));
                    own.note_ability(ability);
                }
            }
            Change::RemoveKeyword(keyword) => {
                own.keywords.remove(*keyword);
                own.abilities.retain(|reference| match reference {
                    AbilityRef::Keyword(known, _) => known != keyword,
                    AbilityRef::Face(..) => !matches!(
                        crate::eval::find_ability(self.state, *reference),
                        Some(Ability::Keyword(known)) if known == keyword
                    ),
                    _ => true,
                });
            }
            Change::AddAbility(ability) => {
                own.note_ability(ability);
                if let Some(reference) = grant {
                    own.abilities.push(reference);
                }
            }
            Change::LoseAllAbilities => own.clear_abilities(),
            Change::ProtectionFromChosenColor => {
                own.classes |= AbilityClass::Protection.bit();
                own.abilities.extend(color.map(|color| AbilityRef::Protection(color as u8)));
            }
            Change::Restriction(restriction) => {
                if let Some(flag) = rule_flag(restriction) {
                    own.rules |= flag.bit();
                } else {
                    own.restrictions.push(match effect.origin {
                        Origin::Static(source, face, index) => {
                            RestrictionRef::Static(source, face, index, position)
                        }
                        Origin::Resolved(index) => {
                            let number = self.state.effects.get(index).map_or(0, |effect| effect.number);
                            RestrictionRef::Effect(number, position)
                        }
                        Origin::Granted(..) => return,
                    });
                }
            }
            _ => {}
        }
    }
}

pub(super) fn change_types(own: &mut Characteristics, change: &Change) {
    match change {
        Change::AddTypes(types) => types.iter().for_each(|card_type| own.types.insert(*card_type)),
        Change::RemoveTypes(types) => {
            types.iter().for_each(|card_type| own.types.remove(*card_type));
            if types.contains(&CardType::Creature) {
                own.subtypes.retain(|subtype| subtype.kind() != SubtypeKind::Creature);
            }
        }
        Change::SetTypes(types) => {
            own.types = types.iter().copied().collect();
            drop_subtypes(own);
        }
        Change::AddSubtypes(subtypes) => {
            for subtype in subtypes {
                if !own.subtypes.contains(subtype) {
                    own.subtypes.push(*subtype);
                }
                if let Some(color) = crate::faces::land_mana(*subtype) {
                    // A land with a new basic land type has its mana ability as well (305.7).
                    if own.is(CardType::Land) && !own.abilities.contains(&AbilityRef::Land(color)) {
                        own.abilities.push(AbilityRef::Land(color));
                        own.classes |= AbilityClass::Mana.bit();
                    }
                }
            }
        }
        Change::SetSubtypes(subtypes) => {
            let kinds: SmallVec<[SubtypeKind; 2]> = subtypes.iter().map(|subtype| subtype.kind()).collect();
            own.subtypes.retain(|subtype| !kinds.contains(&subtype.kind()));
            own.subtypes.extend(subtypes.iter().copied());
            if kinds.contains(&SubtypeKind::Creature) {
                own.all_creature_types = false;
            }
        }
        Change::RemoveSubtypes(subtypes) => own.subtypes.retain(|subtype| !subtypes.contains(subtype)),
        Change::SetLandTypes(subtypes) => set_land_types(own, subtypes),
        Change::AllCreatureTypes => own.all_creature_types = true,
        Change::AddSupertype(supertype) => own.supertypes.insert(*supertype),
        Change::RemoveSupertype(supertype) => own.supertypes.remove(*supertype),
        _ => {}
    }
}

/// Subtypes of card types that an object lost go with them (205.1a), and mana abilities of land types.
fn drop_subtypes(own: &mut Characteristics) {
    let types = own.types;
    let has_kind = |kind: SubtypeKind| match kind {
        SubtypeKind::Artifact => types.contains(CardType::Artifact),
        SubtypeKind::Battle => types.contains(CardType::Battle),
        SubtypeKind::Creature => types.contains(CardType::Creature) || types.contains(CardType::Kindred),
        SubtypeKind::Enchantment => types.contains(CardType::Enchantment),
        SubtypeKind::Land => types.contains(CardType::Land),
        SubtypeKind::Planeswalker => types.contains(CardType::Planeswalker),
        SubtypeKind::Spell => types.contains(CardType::Instant) || types.contains(CardType::Sorcery),
    };
    own.subtypes.retain(|subtype| has_kind(subtype.kind()));
    own.all_creature_types &= has_kind(SubtypeKind::Creature);
    if !has_kind(SubtypeKind::Land) {
        own.abilities.retain(|reference| !matches!(reference, AbilityRef::Land(_)));
    }
}

/// A land becomes these basic land types and loses its printed abilities (305.7).
pub(super) fn set_land_types(own: &mut Characteristics, subtypes: &[Subtype]) {
    own.subtypes.retain(|subtype| subtype.kind() != SubtypeKind::Land);
    own.subtypes.extend(subtypes.iter().copied());
    own.clear_abilities();
    own.add_land_abilities();
}

pub(super) fn counter_keyword(kind: CounterKind) -> Option<Keyword> {
    Some(match kind {
        CounterKind::Flying => Keyword::Flying,
        CounterKind::FirstStrike => Keyword::FirstStrike,
        CounterKind::Deathtouch => Keyword::Deathtouch,
        CounterKind::Lifelink => Keyword::Lifelink,
        CounterKind::Trample => Keyword::Trample,
        CounterKind::Vigilance => Keyword::Vigilance,
        CounterKind::Menace => Keyword::Menace,
        CounterKind::Reach => Keyword::Reach,
        CounterKind::Hexproof => Keyword::Hexproof,
        CounterKind::Indestructible => Keyword::Indestructible,
        _ => return None,
    })
}

pub(super) fn granted(effect: &ContinuousEffect, position: u8) -> Option<AbilityRef> {
    effect.grants.iter().find(|grant| grant.0 == position).map(|grant| AbilityRef::Loose(grant.1))
}
