//! Texts for actions, options and objects, from the point of view of one seat.
//!
//! What a seat may not see is called "a card"; players are "you" and "opponent".

use crate::cards::mode_text;
use marvin_mtg::MTGEngine;
use marvin_mtg::ability::{Ability, CounterKind, TurnStep};
use marvin_mtg::action::Action;
use marvin_mtg::cards::Pool;
use marvin_mtg::context::TargetChoice;
use marvin_mtg::decision::{Choosable, Decision, DecisionKind};
use marvin_mtg::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use marvin_mtg::state::CastWay;
use marvin_mtg::surface::ASKS;

/// Point of view of a seat on a game.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewpoint<'e> {
    pub engine: &'e MTGEngine,
    pub pool: &'e Pool,
    pub seat: PlayerId,
}

/// Id of an object in the compact form.
pub(crate) fn object_id(id: ObjectId) -> String {
    format!("c{}", id.0)
}

/// Id of an object or player in the compact form.
pub(crate) fn entity_id(entity: Entity) -> String {
    match entity {
        Entity::Player(player) => format!("p{}", player.0),
        Entity::Object(id) => object_id(id),
    }
}

/// Name of a step for people.
pub(crate) fn step_name(step: TurnStep) -> &'static str {
    match step {
        TurnStep::Untap => "untap",
        TurnStep::Upkeep => "upkeep",
        TurnStep::Draw => "draw",
        TurnStep::Main1 => "first main phase",
        TurnStep::BeginCombat => "beginning of combat",
        TurnStep::DeclareAttackers => "declare attackers",
        TurnStep::DeclareBlockers => "declare blockers",
        TurnStep::FirstStrikeDamage => "first-strike damage",
        TurnStep::CombatDamage => "combat damage",
        TurnStep::EndCombat => "end of combat",
        TurnStep::Main2 => "second main phase",
        TurnStep::End => "end step",
        TurnStep::Cleanup => "cleanup",
    }
}

/// Name of a kind of counter: `+1/+1`, `loyalty`, `first strike`.
pub(crate) fn counter_name(kind: CounterKind) -> String {
    match kind {
        CounterKind::PlusOne => "+1/+1".to_owned(),
        CounterKind::MinusOne => "-1/-1".to_owned(),
        other => serde_json::to_value(other)
            .ok()
            .and_then(|value| value.as_str().map(|name| name.replace('_', " ")))
            .unwrap_or_default(),
    }
}

impl Viewpoint<'_> {
    pub(crate) fn player(&self, player: PlayerId) -> &'static str {
        if player == self.seat { "you" } else { "opponent" }
    }

    /// Whether this seat may read the name of an object, also because the open question shows it.
    fn is_known(&self, id: ObjectId) -> bool {
        self.engine.can_see(self.seat, id)
            || self.engine.decision().is_some_and(|decision| {
                decision.player == self.seat
                    && (decision.subjects.contains(&id)
                        || decision.options.contains(&Choosable::Entity(Entity::Object(id))))
            })
    }

    pub(crate) fn object(&self, id: ObjectId) -> String {
        if self.is_known(id) { self.engine.view().name(id).to_owned() } else { "a card".to_owned() }
    }

    pub(crate) fn entity(&self, entity: Entity) -> String {
        match entity {
            Entity::Player(player) => self.player(player).to_owned(),
            Entity::Object(id) => self.object(id),
        }
    }

    /// Name, with power and toughness of a creature on the battlefield.
    pub(crate) fn creature(&self, entity: Entity) -> String {
        let name = self.entity(entity);
        match entity {
            Entity::Object(id)
                if self.engine.state().is_on_battlefield(id)
                    && self.engine.view().characteristics(id).is_creature() =>
            {
                format!("{name} {}/{}", self.engine.view().power(id), self.engine.view().toughness(id))
            }
            _ => name,
        }
    }

    fn targets(&self, choices: &[TargetChoice]) -> String {
        let mut names = Vec::new();
        for choice in choices {
            for (position, entity) in choice.entities.iter().enumerate() {
                let own = match entity {
                    Entity::Object(id) if self.engine.view().controller(*id) == self.seat => "your ",
                    _ => "",
                };
                let part =
                    choice.division.get(position).map(|part| format!("{part} to ")).unwrap_or_default();
                names.push(format!("{part}{own}{}", self.creature(*entity)));
            }
        }
        if names.is_empty() { String::new() } else { format!(" on {}", names.join(", ")) }
    }

    fn modes(&self, source: ObjectId, modes: &[u8]) -> String {
        let name = self.engine.view().name(source);
        let texts: Vec<String> = modes
            .iter()
            .map(|mode| {
                mode_text(self.pool, name, *mode).unwrap_or_else(|| format!("mode {}", u16::from(*mode) + 1))
            })
            .collect();
        if texts.is_empty() { String::new() } else { format!(" ({})", texts.join("; ")) }
    }

    pub(crate) fn ability(&self, reference: AbilityRef) -> &str {
        match self.engine.view().ability(reference) {
            Some(Ability::Activated(ability)) => ability.text.as_str(),
            Some(Ability::Triggered(ability)) => ability.text.as_str(),
            _ => "",
        }
    }

    /// What an action does.
    pub(crate) fn action(&self, action: &Action) -> String {
        match action {
            Action::Pass => "pass".to_owned(),
            Action::Concede => "concede".to_owned(),
            Action::PlayLand { card } => format!("play {}", self.engine.view().name(*card)),
            Action::Cast(cast) => {
                let way = match cast.way {
                    CastWay::Normal => String::new(),
                    other => serde_json::to_value(other)
                        .ok()
                        .and_then(|value| value.as_str().map(|name| format!(" [{name}]")))
                        .unwrap_or_default(),
                };
                let kicked = if cast.kicked > 0 { " kicked" } else { "" };
                let x = if cast.x > 0 { format!(" X={}", cast.x) } else { String::new() };
                let name = self.engine.view().name(cast.card);
                let modes = self.modes(cast.card, &cast.modes);
                let targets = self.targets(&cast.targets);
                let paid = self.payment(&cast.payment.objects);
                let asks = if cast.ask { ASKS } else { "" };
                let extra = self.engine.extra_cost_text(cast);
                format!("cast {name}{way}{kicked}{extra}{x}{modes}{targets}{paid}{asks}")
            }
            Action::Activate(activate) => {
                let name = self.engine.view().name(activate.source);
                let modes = self.modes(activate.source, &activate.modes);
                let text = self.ability(activate.ability);
                let x = if activate.x > 0 { format!(" X={}", activate.x) } else { String::new() };
                let targets = self.targets(&activate.targets);
                let asks = if activate.ask { ASKS } else { "" };
                format!("activate {name}: {text}{x}{modes}{targets}{asks}")
            }
        }
    }

    /// What pays a cost, if the action names it.
    fn payment(&self, objects: &[ObjectId]) -> String {
        let names: Vec<&str> = objects.iter().map(|id| self.engine.view().name(*id)).collect();
        if names.is_empty() { String::new() } else { format!(", paying with {}", names.join(", ")) }
    }

    /// What an option of a question is.
    pub(crate) fn option(&self, decision: &Decision, position: usize) -> String {
        let Some(option) = decision.options.get(position) else { return String::new() };
        match option {
            Choosable::Entity(entity) => {
                let label = self.creature(*entity);
                match entity {
                    Entity::Object(id) if self.engine.state().is_on_battlefield(*id) => {
                        format!("{label} ({})", self.player(self.engine.view().controller(*id)))
                    }
                    _ => label,
                }
            }
            Choosable::Index(index) => match decision.kind {
                DecisionKind::TriggerOrder => decision
                    .subjects
                    .get(position)
                    .map(|id| format!("trigger of {}", self.object(*id)))
                    .unwrap_or_else(|| format!("trigger {}", position + 1)),
                _ => decision
                    .source
                    .and_then(|id| mode_text(self.pool, self.engine.view().name(id), *index))
                    .unwrap_or_else(|| self.engine.option_label(option)),
            },
            _ => self.engine.option_label(option),
        }
    }
}
