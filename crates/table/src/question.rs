//! Questions for a seat: a sentence, the options by flat ids, and how many of them are needed.

use crate::labels::{Viewpoint, entity_id, object_id, step_name};
use marvin_mtg::MTGEngine;
use marvin_mtg::action::Action;
use marvin_mtg::context::TargetChoice;
use marvin_mtg::decision::{Choosable, Decision, DecisionKind};
use marvin_mtg::ids::{Entity, PlayerId};
use serde::Serialize;

/// Question to a seat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Number that the answer names; another number means that the question has changed.
    pub number: u32,
    pub seat: PlayerId,
    pub kind: DecisionKind,
    pub sentence: String,
    /// Card that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub form: AnswerForm,
}

/// Shape of the answer; each variant is answered by the [`CompactAnswer`](crate::CompactAnswer) of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum AnswerForm {
    /// One of the ids. `a0` is always to pass.
    Action { options: Vec<ChoiceOption> },
    /// A list of ids; for an order all of them, first is first.
    Options { options: Vec<ChoiceOption>, min: u32, max: u32, ordered: bool },
    /// Pairs of creature and what it attacks; an empty list attacks with nothing.
    Attackers { attackers: Vec<ChoiceOption>, defenders: Vec<ChoiceOption>, required: Vec<(String, String)> },
    /// Pairs of blocker and attacker; an empty list blocks with nothing.
    Blockers { blockers: Vec<BlockerOption>, attackers: Vec<ChoiceOption>, required: Vec<(String, String)> },
    /// One amount for each option, in their order, which add up to the total; a legal proposal to begin with.
    Amounts { options: Vec<ChoiceOption>, total: i32, minimums: Vec<i32>, proposal: Vec<i32> },
}

/// Thing that can be answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChoiceOption {
    pub id: String,
    /// What it does or is.
    pub label: String,
    /// Cards on the board that stand for it; several if they are alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
    /// Ids of its targets, for a front end that lets them be pointed at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

/// Creature that can block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BlockerOption {
    pub id: String,
    pub label: String,
    /// Attackers that it can block.
    pub can_block: Vec<String>,
}

/// The least for each, the rest for the first.
fn propose_division(decision: &Decision) -> Vec<i32> {
    let mut amounts = decision.minimums.clone();
    let rest = decision.total - amounts.iter().sum::<i32>();
    if let Some(first) = amounts.first_mut() {
        *first += rest;
    }
    amounts
}

fn is_order(kind: DecisionKind) -> bool {
    matches!(kind, DecisionKind::OrderCards | DecisionKind::ScryOrder | DecisionKind::TriggerOrder)
}

impl Viewpoint<'_> {
    /// The question that is open for this seat.
    pub(crate) fn question(&self) -> Option<Question> {
        let decision = self.engine.decision().filter(|decision| decision.player == self.seat)?;
        let source = decision.source.map(|id| self.object(id));
        Some(Question {
            number: decision.number,
            seat: self.seat,
            kind: decision.kind,
            sentence: self.sentence(decision, source.as_deref()),
            source,
            form: self.form(decision),
        })
    }

    fn form(&self, decision: &Decision) -> AnswerForm {
        match decision.kind {
            DecisionKind::Priority => AnswerForm::Action { options: self.action_options() },
            DecisionKind::DeclareAttackers => {
                let able = self.engine.possible_attackers(self.seat);
                let required = self.engine.required_attack(self.seat);
                AnswerForm::Attackers {
                    attackers: able.into_iter().map(|id| self.entity_option(Entity::Object(id))).collect(),
                    defenders: self
                        .engine
                        .defenders()
                        .into_iter()
                        .map(|one| self.entity_option(one))
                        .collect(),
                    required: required.into_iter().map(|(id, to)| (object_id(id), entity_id(to))).collect(),
                }
            }
            DecisionKind::DeclareBlockers => {
                // A creature that can block several attackers has a row for each of its blocks.
                let blocker = |id| {
                    let able = decision.subjects.iter().filter(|one| self.engine.can_block(id, **one));
                    let can_block: Vec<String> = able.map(|one| object_id(*one)).collect();
                    let blocks = self.engine.block_limit(id).min(can_block.len()).max(1);
                    let label = self.creature(Entity::Object(id));
                    (0..blocks).map(move |block| BlockerOption {
                        id: object_id(id),
                        label: if block == 0 {
                            label.clone()
                        } else {
                            format!("{label}, block {}", block + 1)
                        },
                        can_block: can_block.clone(),
                    })
                };
                let required = self.engine.required_block(self.seat);
                AnswerForm::Blockers {
                    blockers: self
                        .engine
                        .possible_blockers(self.seat)
                        .into_iter()
                        .flat_map(blocker)
                        .collect(),
                    attackers: decision
                        .subjects
                        .iter()
                        .map(|id| self.entity_option(Entity::Object(*id)))
                        .collect(),
                    required: required.into_iter().map(|(id, to)| (object_id(id), object_id(to))).collect(),
                }
            }
            // Combat damage is divided freely (510.1c): what is lethal bounds only what tramples over.
            DecisionKind::DamageAssignment => AnswerForm::Amounts {
                options: self.numbered_options(decision),
                total: decision.total,
                minimums: vec![0; decision.options.len()],
                proposal: MTGEngine::usual_damage(decision),
            },
            DecisionKind::Division => AnswerForm::Amounts {
                options: self.numbered_options(decision),
                total: decision.total,
                minimums: decision.minimums.clone(),
                proposal: propose_division(decision),
            },
            kind => {
                let count = u32::try_from(decision.options.len()).unwrap_or(u32::MAX);
                AnswerForm::Options {
                    options: self.numbered_options(decision),
                    min: decision.min,
                    max: decision.max.min(count),
                    ordered: is_order(kind),
                }
            }
        }
    }

    fn entity_option(&self, entity: Entity) -> ChoiceOption {
        let id = entity_id(entity);
        ChoiceOption { cards: vec![id.clone()], id, label: self.creature(entity), targets: Vec::new() }
    }

    fn numbered_options(&self, decision: &Decision) -> Vec<ChoiceOption> {
        let option = |(position, option): (usize, &Choosable)| ChoiceOption {
            id: format!("o{position}"),
            label: self.option(decision, position),
            cards: match option {
                Choosable::Entity(entity) => vec![entity_id(*entity)],
                _ => Vec::new(),
            },
            targets: Vec::new(),
        };
        decision.options.iter().enumerate().map(option).collect()
    }

    /// Actions by id; of those that are alike only one, with all its cards.
    fn action_options(&self) -> Vec<ChoiceOption> {
        let mut options: Vec<ChoiceOption> = Vec::new();
        for entry in self.engine.compact_actions(self.seat) {
            let flat = |choices: &[TargetChoice]| -> Vec<String> {
                choices.iter().flat_map(|choice| choice.entities.iter()).map(|one| entity_id(*one)).collect()
            };
            let (card, targets, in_hand) = match &entry.action {
                Action::Pass | Action::Concede => (None, Vec::new(), false),
                Action::PlayLand { card } => (Some(*card), Vec::new(), true),
                Action::Cast(cast) => (Some(cast.card), flat(&cast.targets), true),
                Action::Activate(activate) => (Some(activate.source), flat(&activate.targets), false),
            };
            let label = self.action(&entry.action);
            let card = card.map(object_id);
            let known =
                options.iter_mut().find(|known| in_hand && known.label == label && known.targets == targets);
            match (known, card) {
                (Some(known), card) => known.cards.extend(card),
                (None, card) => options.push(ChoiceOption {
                    id: entry.id,
                    label,
                    cards: card.into_iter().collect(),
                    targets,
                }),
            }
        }
        options
    }

    fn sentence(&self, decision: &Decision, source: Option<&str>) -> String {
        let (min, max) = (decision.min, decision.max);
        let count = if min == max { format!("{min}") } else { format!("{min} to {max}") };
        let cards = if max == 1 && min == 1 { "card" } else { "cards" };
        let by = source.map(|name| format!(" for {name}")).unwrap_or_default();
        match decision.kind {
            DecisionKind::Priority => self.priority_sentence(),
            DecisionKind::PlayOrDraw => "You choose who begins: play first or draw first?".to_owned(),
            DecisionKind::Mulligan => "Keep this opening hand, or take a mulligan?".to_owned(),
            DecisionKind::Bottom => format!("Put {count} {cards} from your hand on the bottom of your library."),
            DecisionKind::DeclareAttackers => "Declare attackers.".to_owned(),
            DecisionKind::DeclareBlockers => "Declare blockers.".to_owned(),
            DecisionKind::DamageAssignment => {
                format!("Divide {} damage{by} among what it fights.", decision.total)
            }
            DecisionKind::TriggerOrder => {
                "Several of your abilities trigger: in which order do they go on the stack? The last resolves first."
                    .to_owned()
            }
            DecisionKind::TriggerModes => format!("Choose {count} of the modes{by}."),
            DecisionKind::TriggerTargets => format!("Choose {count} targets{by}."),
            DecisionKind::May => format!("Use the optional effect{by}?"),
            DecisionKind::PayWard => format!("Pay the ward cost{by}? Otherwise your spell or ability is countered."),
            DecisionKind::PayCost => format!("Pay the cost{by}?"),
            DecisionKind::Discard => format!("Discard {count} {cards}{by}."),
            DecisionKind::Sacrifice => format!("Sacrifice {count} of these{by}."),
            DecisionKind::Choose => format!("Choose {count} of these{by}."),
            DecisionKind::ChooseOption => format!("Choose {count} of the options{by}."),
            DecisionKind::Color => format!("Choose a colour{by}."),
            DecisionKind::CreatureType => format!("Choose a creature type{by}."),
            DecisionKind::BasicLandType => format!("Choose a basic land type{by}."),
            DecisionKind::Player => format!("Choose a player{by}."),
            DecisionKind::Number => format!("Choose a number{by}."),
            DecisionKind::Search => format!("Search your library: choose {count} {cards}{by}."),
            DecisionKind::LookAtTop => format!("You look at these cards: choose {count}{by}."),
            DecisionKind::Scry => {
                format!("Scry{by}: which of these go to the bottom of your library? The rest stays on top.")
            }
            DecisionKind::ScryOrder => "In which order do the cards stay on top? The first is the top.".to_owned(),
            DecisionKind::Surveil => format!("Surveil{by}: which of these go to your graveyard?"),
            DecisionKind::OrderCards => format!("In which order{by}? The first is first."),
            DecisionKind::LegendRule => "You control several legends of the same name: keep which one?".to_owned(),
            DecisionKind::ReplacementOrder => "Which of these effects applies first?".to_owned(),
            DecisionKind::Copy => format!("Choose {count} to copy{by}."),
            DecisionKind::NewTargets => format!("Choose new targets{by}."),
            DecisionKind::Explore => format!("Put the explored card{by} into your graveyard?"),
            DecisionKind::CastNow => format!("Cast it now{by}?"),
            DecisionKind::Division => format!("Divide {}{by}.", decision.total),
        }
    }

    fn priority_sentence(&self) -> String {
        let state = self.engine.state();
        let step = step_name(state.step);
        match state.stack.last() {
            Some(top) => {
                let name = self.object(top.context.source);
                let kind = if top.ability.is_some() { "The ability of " } else { "" };
                format!(
                    "{kind}{name} ({}) is on top of the stack. Respond?",
                    self.player(top.context.controller)
                )
            }
            None if state.active == self.seat => format!("Your {step}. What do you do?"),
            None => format!("The opponent's {step}. What do you do?"),
        }
    }
}
