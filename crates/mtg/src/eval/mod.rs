//! Evaluation of filters, selectors, amounts and conditions against a state and its projection.
//!
//! Choices inside selectors are not made here: a `Choice` yields all its candidates, and the engine
//! asks before it uses them.

mod amount;
mod identity;

use crate::ability::{
    Ability, Amount, EventRole, Filter, Keyword, ObjectMark, Selector, TurnStatistic, Zone,
};
use crate::card::{CardType, Subtype, SubtypeKind, Supertype, TypeSet};
use crate::characteristics::Characteristics;
use crate::context::{Context, EventKind};
use crate::faces::{PreparedFace, land_ability, protection_ability};
use crate::ids::{AbilityRef, Entity, FaceId, ObjectId, PlayerId};
use crate::keywords::expand_keyword;
use crate::layers::Projection;
use crate::state::{GameState, Object, ObjectFlag, ObjectKind};
use smallvec::{SmallVec, smallvec};
use std::sync::LazyLock;

/// Short list of objects and players.
pub(crate) type Entities = SmallVec<[Entity; 4]>;

/// State with its projected characteristics.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub state: &'a GameState,
    pub projection: &'a Projection,
}

static NO_CHARACTERISTICS: LazyLock<Characteristics> = LazyLock::new(|| {
    Characteristics::from_face(FaceId(u16::MAX), &crate::card::CardFace::default(), PlayerId(0))
});

/// Flag of a mark.
pub(crate) fn mark_flag(mark: ObjectMark) -> ObjectFlag {
    match mark {
        ObjectMark::Renowned => ObjectFlag::Renowned,
        ObjectMark::Monstrous => ObjectFlag::Monstrous,
        ObjectMark::Evoked => ObjectFlag::Evoked,
        ObjectMark::Unearthed => ObjectFlag::Unearthed,
        ObjectMark::Goaded => ObjectFlag::Goaded,
        ObjectMark::Suspected => ObjectFlag::Suspected,
        ObjectMark::Dashed => ObjectFlag::Dashed,
    }
}

impl<'a> View<'a> {
    /// Characteristics: projected on the battlefield, last known if it left, printed elsewhere.
    #[must_use]
    pub fn characteristics(&self, id: ObjectId) -> &'a Characteristics {
        if let Some(own) = self.projection.get(self.state, id) {
            return own;
        }
        if let Some(own) = self.projection.get_elsewhere(id) {
            return own;
        }
        let object = self.state.object(id);
        if object.is_gone() {
            if let Some(snapshot) = self.state.snapshot(id) {
                return &snapshot.characteristics;
            }
            let moved = self.state.moved_card(id);
            return moved.map_or(&NO_CHARACTERISTICS, |moved| self.characteristics(moved.id));
        }
        self.state.faces.get(object.shown_face()).map_or(&NO_CHARACTERISTICS, |face| &face.base)
    }

    /// The object, or what is last known of it.
    #[must_use]
    pub fn object(&self, id: ObjectId) -> &'a Object {
        let object = self.state.object(id);
        if object.is_gone() {
            if let Some(snapshot) = self.state.snapshot(id) {
                return &snapshot.object;
            }
            return self.state.moved_card(id).unwrap_or(object);
        }
        object
    }

    /// The face whose copiable values the object has, or had when it left (707.2).
    #[must_use]
    pub fn face_id(&self, id: ObjectId) -> FaceId {
        if let Some(own) = self.projection.get(self.state, id) {
            return own.face;
        }
        let snapshot = self.state.snapshot(id).filter(|_| self.state.object(id).is_gone());
        snapshot.map_or_else(|| self.object(id).shown_face(), |snapshot| snapshot.characteristics.face)
    }

    #[must_use]
    pub fn face(&self, id: ObjectId) -> Option<&'a PreparedFace> {
        self.state.faces.get(self.face_id(id))
    }

    /// What the source is attached to. An Equipment whose ability triggered when that left is attached
    /// to nothing any more and means what left (603.10a).
    fn attached(&self, context: &Context) -> Option<Entity> {
        let lost = || {
            let event = context.event.as_ref()?;
            let left = event.kind == EventKind::ZoneChange && event.from == Some(Zone::Battlefield);
            event.subject.filter(|subject| left && *subject != Entity::Object(context.source))
        };
        self.object(context.source).attached_to.or_else(lost)
    }

    #[must_use]
    pub fn controller(&self, id: ObjectId) -> PlayerId {
        if let Some(own) = self.projection.get(self.state, id) {
            return own.controller;
        }
        let object = self.state.object(id);
        if object.is_gone() {
            return self
                .state
                .snapshot(id)
                .map_or(object.controller, |snapshot| snapshot.characteristics.controller);
        }
        match object.zone {
            Zone::Stack | Zone::Command => object.controller,
            _ => object.owner,
        }
    }

    #[must_use]
    pub fn power(&self, id: ObjectId) -> i32 {
        self.defined_size(id).map_or_else(|| self.characteristics(id).power, |size| size.0)
    }

    #[must_use]
    pub fn toughness(&self, id: ObjectId) -> i32 {
        self.defined_size(id).map_or_else(|| self.characteristics(id).toughness, |size| size.1)
    }

    /// Size by a characteristic-defining ability outside the battlefield (604.3).
    fn defined_size(&self, id: ObjectId) -> Option<(i32, i32)> {
        let object = self.state.object(id);
        if object.is_gone() || object.zone == Zone::Battlefield {
            return None;
        }
        let face = self.state.faces.get(object.shown_face())?;
        if !face.has_characteristic_ability {
            return None;
        }
        let context = Context::new(id, self.controller(id));
        let mut size = (face.base.power, face.base.toughness);
        for ability in &face.abilities {
            let Ability::Characteristic(changes) = ability else { continue };
            for change in changes {
                match change {
                    crate::ability::Change::DefinePower(amount) => size.0 = self.amount(amount, &context),
                    crate::ability::Change::DefineToughness(amount) => size.1 = self.amount(amount, &context),
                    _ => {}
                }
            }
        }
        Some(size)
    }

    /// The ability that a reference stands for.
    #[must_use]
    pub fn ability(&self, reference: AbilityRef) -> Option<&'a Ability> {
        find_ability(self.state, reference)
    }

    #[must_use]
    pub fn has_keyword(&self, id: ObjectId, keyword: Keyword) -> bool {
        self.characteristics(id).has(keyword)
    }

    fn player_matches(&self, filter: &Filter, player: PlayerId, context: &Context) -> bool {
        match filter {
            Filter::Player => true,
            Filter::Opponent => player != context.controller,
            Filter::All(parts) => parts.iter().all(|part| self.player_matches(part, player, context)),
            Filter::AnyOf(parts) => parts.iter().any(|part| self.player_matches(part, player, context)),
            Filter::Not(part) => {
                crate::characteristics::names_players(part) && !self.player_matches(part, player, context)
            }
            Filter::Is(selector) => self.select(selector, context).contains(&Entity::Player(player)),
            Filter::Other => true,
            Filter::Counters(kind, comparison, amount) => {
                let own = self.state.player(player);
                let count = match kind {
                    Some(kind) => own.counter(*kind),
                    None => own.counters.iter().map(|entry| entry.1).sum(),
                };
                comparison.holds(count, self.amount(amount, context))
            }
            Filter::DealtDamageThisTurn => statistic(self.state, player, TurnStatistic::DamageTaken) > 0,
            _ => false,
        }
    }

    /// Whether an object or player matches.
    #[must_use]
    pub fn matches(&self, filter: &Filter, entity: Entity, context: &Context) -> bool {
        match entity {
            Entity::Player(player) => self.player_matches(filter, player, context),
            Entity::Object(id) => self.object_matches(filter, id, context),
        }
    }

    #[must_use]
    pub fn object_matches(&self, filter: &Filter, id: ObjectId, context: &Context) -> bool {
        let own = || self.characteristics(id);
        match filter {
            Filter::Any => true,
            Filter::All(parts) => parts.iter().all(|part| self.object_matches(part, id, context)),
            Filter::AnyOf(parts) => parts.iter().any(|part| self.object_matches(part, id, context)),
            Filter::Not(part) => !self.object_matches(part, id, context),
            Filter::Player | Filter::Opponent => false,
            Filter::Type(card_type) => own().types.contains(*card_type),
            Filter::Supertype(supertype) => own().supertypes.contains(*supertype),
            Filter::Subtype(subtype) => own().has_subtype(*subtype),
            Filter::Color(color) => own().colors.contains(*color),
            Filter::Colorless => own().colors.is_empty(),
            Filter::Multicolored => own().colors.count() > 1,
            Filter::Monocolored => own().colors.count() == 1,
            Filter::Keyword(keyword) => own().has(*keyword),
            // Granted keywords that change a rule are not in the list of abilities.
            Filter::HasAbility => !own().abilities.is_empty() || !own().keywords.is_empty(),
            Filter::Named(name) => self.name(id) == name,
            Filter::SameNameAs(selector) => {
                let name = self.name(id);
                // Objects without a name have none in common (201.2b).
                if name.is_empty() {
                    return false;
                }
                self.select(selector, context)
                    .iter()
                    .any(|entity| entity.object().is_some_and(|other| self.name(other) == name))
            }
            Filter::Power(comparison, amount) => {
                comparison.holds(self.power(id), self.amount(amount, context))
            }
            Filter::Toughness(comparison, amount) => {
                comparison.holds(self.toughness(id), self.amount(amount, context))
            }
            Filter::ManaValue(comparison, amount) => {
                comparison.holds(self.mana_value(id), self.amount(amount, context))
            }
            Filter::This => id == context.source,
            // The card that the source became is not "another card" (400.7e).
            Filter::Other => {
                id != context.source && self.state.moved_card(context.source).is_none_or(|card| card.id != id)
            }
            Filter::Is(selector) => self.select(selector, context).contains(&Entity::Object(id)),
            Filter::Historic => {
                let own = own();
                own.is(CardType::Artifact)
                    || own.supertypes.contains(Supertype::Legendary)
                    || own.subtypes.iter().any(|subtype| subtype.name() == "Saga")
            }
            Filter::Outlaw => {
                has_any_subtype(own(), &["Assassin", "Mercenary", "Pirate", "Rogue", "Warlock"])
            }
            Filter::Party => has_any_subtype(own(), &["Cleric", "Rogue", "Warrior", "Wizard"]),
            _ => self.object_matches_status(filter, id, context),
        }
    }

    fn object_matches_status(&self, filter: &Filter, id: ObjectId, context: &Context) -> bool {
        let object = self.object(id);
        match filter {
            Filter::Permanent => {
                object.zone == Zone::Battlefield
                    || self.characteristics(id).types.intersects(TypeSet::PERMANENT)
            }
            Filter::Spell => object.zone == Zone::Stack && object.kind != ObjectKind::Ability,
            Filter::AbilityOnStack => object.kind == ObjectKind::Ability,
            Filter::Token => object.kind == ObjectKind::Token,
            Filter::Card => object.kind == ObjectKind::Card,
            Filter::Controller(selector) => {
                self.select(selector, context).contains(&Entity::Player(self.controller(id)))
            }
            Filter::Owner(selector) => self.select(selector, context).contains(&Entity::Player(object.owner)),
            Filter::Counters(kind, comparison, amount) => {
                let count = match kind {
                    Some(kind) => object.counter(*kind),
                    None => object.counters.iter().map(|entry| entry.1).sum(),
                };
                comparison.holds(count, self.amount(amount, context))
            }
            Filter::Tapped => object.tapped,
            Filter::Untapped => !object.tapped,
            Filter::FaceDown => self.is_face_down(id),
            Filter::Enchanted => self.has_attachment(id, "Aura"),
            Filter::Equipped => self.has_attachment(id, "Equipment"),
            Filter::AttachedTo(selector) => {
                object.attached_to.is_some_and(|host| self.select(selector, context).contains(&host))
            }
            Filter::InZone(zone) => object.zone == *zone && !object.is_gone(),
            Filter::EnteredThisTurn => object.entered_turn == self.state.turn,
            Filter::DiedThisTurn => object.has_flag(ObjectFlag::Died),
            Filter::AttackedThisTurn => object.has_flag(ObjectFlag::Attacked),
            Filter::BlockedThisTurn => object.has_flag(ObjectFlag::Blocked),
            Filter::DealtDamageThisTurn => !object.damaged_by.is_empty(),
            Filter::DealtDamageThisTurnBy(selector) => {
                let sources = self.select(selector, context);
                object.damaged_by.iter().any(|source| sources.contains(&Entity::Object(*source)))
            }
            Filter::DealtDamageThisTurnTo(selector) => {
                let players = self.select(selector, context).into_iter().filter_map(Entity::player);
                players.into_iter().any(|player| self.state.player(player).damaged_by.contains(&id))
            }
            Filter::SummoningSick => object.controlled_since >= self.state.turn,
            Filter::SinceLastUpkeep => {
                object.controlled_since >= self.state.player(self.controller(id)).turn_before
            }
            Filter::ChosenColor => {
                let chosen = context.color.or(self.object(context.source).chosen.color);
                chosen.is_some_and(|color| self.characteristics(id).colors.contains(color))
            }
            Filter::ChosenType => {
                let chosen = self.object(context.source).chosen.subtype;
                chosen.is_some_and(|subtype| self.characteristics(id).has_subtype(subtype))
            }
            Filter::SharesCreatureType(selector) => self.shares_creature_type(id, selector, context),
            Filter::SharesColor(selector) => {
                let colors = self.characteristics(id).colors;
                self.select(selector, context).iter().any(|entity| {
                    entity.object().is_some_and(|other| colors.intersects(self.characteristics(other).colors))
                })
            }
            Filter::Marked(mark) => object.has_flag(mark_flag(*mark)),
            Filter::CastFrom(zone) => {
                object.cast.from.is_some() && (zone.is_none() || object.cast.from == *zone)
            }
            Filter::Kicked => object.cast.kicked > 0,
            _ => self.object_matches_combat(filter, id, context),
        }
    }

    fn object_matches_combat(&self, filter: &Filter, id: ObjectId, context: &Context) -> bool {
        let attacker = self.state.attacker(id);
        let attacking = || {
            attacker.is_some()
                || (!self.state.exists(id)
                    && self.state.snapshot(id).is_some_and(|snapshot| snapshot.attacking))
        };
        match filter {
            Filter::Attacking => attacking(),
            Filter::AttackingPlayer(selector) => {
                attacker.is_some_and(|attacker| self.select(selector, context).contains(&attacker.defender))
            }
            Filter::Blocking => {
                self.state.is_blocking(id)
                    || (!self.state.exists(id)
                        && self.state.snapshot(id).is_some_and(|snapshot| snapshot.blocking))
            }
            Filter::Blocked => attacker.is_some_and(|attacker| attacker.blocked),
            Filter::Unblocked => {
                self.state.combat.blockers_declared && attacker.is_some_and(|attacker| !attacker.blocked)
            }
            Filter::BlockingAny(selector) => {
                let attackers = self.select(selector, context);
                self.state.combat.attackers.iter().any(|attacker| {
                    attackers.contains(&Entity::Object(attacker.object)) && attacker.blockers.contains(&id)
                })
            }
            Filter::BlockingOrBlockedBy(selector) => {
                let others = self.select(selector, context);
                self.state.combat.attackers.iter().any(|attacker| {
                    let blocks =
                        others.contains(&Entity::Object(attacker.object)) && attacker.blockers.contains(&id);
                    let blocked = attacker.object == id
                        && attacker.blockers.iter().any(|blocker| others.contains(&Entity::Object(*blocker)));
                    blocks || blocked
                })
            }
            Filter::HasTarget(wanted) => {
                self.stack_targets(id).iter().any(|target| self.matches(wanted, *target, context))
            }
            Filter::OnlyTarget(wanted) => {
                let targets = self.stack_targets(id);
                targets.len() == 1 && targets.iter().all(|target| self.matches(wanted, *target, context))
            }
            _ => false,
        }
    }

    fn stack_targets(&self, id: ObjectId) -> Entities {
        let item = self.state.stack.iter().find(|item| item.object == id);
        item.into_iter()
            .flat_map(|item| &item.context.targets)
            .flat_map(|choice| choice.entities.iter().copied())
            .collect()
    }

    fn has_attachment(&self, id: ObjectId, subtype: &str) -> bool {
        let Some(subtype) = Subtype::find(subtype) else { return false };
        self.state.battlefield.iter().any(|other| {
            self.state.object(*other).attached_to == Some(Entity::Object(id))
                && self.characteristics(*other).has_subtype(subtype)
        })
    }

    fn shares_creature_type(&self, id: ObjectId, selector: &Selector, context: &Context) -> bool {
        let own = self.characteristics(id);
        self.select(selector, context).iter().filter_map(|entity| entity.object()).any(|other| {
            let other = self.characteristics(other);
            let shared = |one: &Characteristics, two: &Characteristics| {
                one.subtypes
                    .iter()
                    .any(|subtype| subtype.kind() == SubtypeKind::Creature && two.has_subtype(*subtype))
            };
            (own.all_creature_types && other.all_creature_types) || shared(own, other) || shared(other, own)
        })
    }

    /// Objects and players of a selector.
    #[must_use]
    pub fn select(&self, selector: &Selector, context: &Context) -> Entities {
        match selector {
            Selector::This => smallvec![Entity::Object(context.source)],
            Selector::You => smallvec![Entity::Player(context.controller)],
            Selector::EachPlayer => self.state.turn_order().into_iter().map(Entity::Player).collect(),
            Selector::EachOpponent => smallvec![Entity::Player(context.controller.opponent())],
            Selector::ActivePlayer => smallvec![Entity::Player(self.state.active)],
            Selector::DefendingPlayer => smallvec![Entity::Player(self.defending_player(context))],
            Selector::Target(slot) => context
                .target(*slot)
                .map_or_else(Entities::new, |choice| choice.entities.iter().copied().collect()),
            Selector::Binding(slot) => context
                .binding(*slot)
                .map_or_else(Entities::new, |bound| bound.entities.iter().copied().collect()),
            Selector::Event(role) => {
                let Some(event) = &context.event else { return Entities::new() };
                match role {
                    EventRole::Subject => event.subject.into_iter().collect(),
                    EventRole::Other => event.other.into_iter().collect(),
                    EventRole::Player => event.player.map(Entity::Player).into_iter().collect(),
                }
            }
            Selector::Iterated => context.iterated.into_iter().collect(),
            Selector::Attached => self.attached(context).into_iter().collect(),
            Selector::ChosenPlayer => {
                self.object(context.source).chosen.player.map(Entity::Player).into_iter().collect()
            }
            Selector::Linked => {
                let linked = |id: &ObjectId| {
                    let object = self.state.object(*id);
                    object.held_by == Some(context.source) && object.has_flag(ObjectFlag::Linked)
                };
                self.state.exile.iter().copied().filter(linked).map(Entity::Object).collect()
            }
            Selector::Paid => context.paid.iter().copied().map(Entity::Object).collect(),
            Selector::Controller(of) => self.map_players(of, context, View::controller),
            Selector::Owner(of) => self.map_players(of, context, |view, id| view.object(id).owner),
            Selector::All { zone, filter } => {
                let spared = self.spared_objects(filter, context);
                let found = self.state.zone_objects(*zone).into_iter();
                let found = found.filter(|id| self.object_matches(filter, *id, context)).map(Entity::Object);
                found.filter(|entity| !spared.contains(entity)).collect()
            }
            Selector::TopOfLibrary { who, count } => {
                let count = usize::try_from(self.amount(count, context)).unwrap_or(0);
                let players = self.select(who, context);
                let libraries = players.iter().filter_map(|entity| entity.player());
                libraries
                    .flat_map(|player| self.state.player(player).library.iter().rev().take(count))
                    .copied()
                    .map(Entity::Object)
                    .collect()
            }
            Selector::Union(parts) => {
                let mut all = Entities::new();
                for part in parts {
                    for entity in self.select(part, context) {
                        if !all.contains(&entity) {
                            all.push(entity);
                        }
                    }
                }
                all
            }
            Selector::Matching { from, filter } => {
                let mut found = self.select(from, context);
                found.retain(|entity| self.matches(filter, *entity, context));
                found
            }
            Selector::Choice { from, .. } | Selector::Random { from, .. } => self.select(from, context),
            Selector::Extreme { from, by, greatest } => self.select_extreme(from, by, *greatest, context),
        }
    }

    /// What "each other creature" excludes in addition to the source: the targets of a spell, the creature
    /// to which an Aura or Equipment is attached.
    fn spared_objects(&self, filter: &Filter, context: &Context) -> Entities {
        if !matches!(filter, Filter::All(parts) if parts.contains(&Filter::Other)) {
            return Entities::new();
        }
        let source = self.state.object(context.source);
        if source.zone == Zone::Stack && source.kind != ObjectKind::Ability {
            return context.targets.iter().flat_map(|choice| choice.entities.iter().copied()).collect();
        }
        source.attached_to.into_iter().collect()
    }

    fn select_extreme(&self, from: &Selector, by: &Amount, greatest: bool, context: &Context) -> Entities {
        let candidates = self.select(from, context);
        let value = |entity: Entity| {
            let mut inner = context.clone();
            inner.iterated = Some(entity);
            self.amount(by, &inner)
        };
        let values: SmallVec<[i32; 8]> = candidates.iter().map(|entity| value(*entity)).collect();
        let best = if greatest { values.iter().max() } else { values.iter().min() };
        let kept = candidates.iter().zip(&values).filter(|(_, value)| Some(*value) == best);
        kept.map(|(entity, _)| *entity).collect()
    }

    fn defending_player(&self, context: &Context) -> PlayerId {
        let attacker = self.state.attacker(context.source).or_else(|| {
            let subject = context.event.as_ref()?.subject?.object()?;
            self.state.attacker(subject)
        });
        match attacker.map(|attacker| attacker.defender) {
            Some(Entity::Player(player)) => player,
            Some(Entity::Object(id)) => self.controller(id),
            None => self.state.active.opponent(),
        }
    }

    fn map_players(
        &self,
        of: &Selector,
        context: &Context,
        player_of: impl Fn(&Self, ObjectId) -> PlayerId,
    ) -> Entities {
        let mut players = Entities::new();
        for entity in self.select(of, context) {
            let player = match entity {
                Entity::Player(player) => player,
                Entity::Object(id) => player_of(self, id),
            };
            if !players.contains(&Entity::Player(player)) {
                players.push(Entity::Player(player));
            }
        }
        players
    }

    /// The first player of a selector.
    #[must_use]
    pub fn select_player(&self, selector: &Selector, context: &Context) -> Option<PlayerId> {
        self.select(selector, context).into_iter().find_map(Entity::player)
    }

    fn objects(&self, selector: &Selector, context: &Context) -> SmallVec<[ObjectId; 4]> {
        self.select(selector, context).into_iter().filter_map(Entity::object).collect()
    }
}

/// The ability that a reference stands for.
#[must_use]
pub(crate) fn find_ability(state: &GameState, reference: AbilityRef) -> Option<&Ability> {
    match reference {
        AbilityRef::Face(face, index) => state.faces.get(face)?.abilities.get(usize::from(index)),
        AbilityRef::Grant(face, index, change) => {
            let Ability::Static(granting) = state.faces.get(face)?.abilities.get(usize::from(index))? else {
                return None;
            };
            match granting.changes.get(usize::from(change))? {
                crate::ability::Change::AddAbility(ability) => Some(ability),
                _ => None,
            }
        }
        AbilityRef::Loose(index) => state.abilities.get(usize::from(index)),
        AbilityRef::Land(color) => land_ability(color),
        AbilityRef::Keyword(keyword, index) => expand_keyword(keyword).get(usize::from(index)),
        AbilityRef::Protection(color) => protection_ability(color),
    }
}

fn has_any_subtype(own: &Characteristics, names: &[&str]) -> bool {
    own.all_creature_types || own.subtypes.iter().any(|subtype| names.contains(&subtype.name()))
}

/// Statistic of a player for the current turn.
#[must_use]
pub(crate) fn statistic(state: &GameState, player: PlayerId, which: TurnStatistic) -> i32 {
    state.player(player).statistics.get(which as usize).copied().unwrap_or(0)
}
