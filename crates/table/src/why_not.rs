//! "Why can't I?": the condition or rule that an action fails on.

use crate::labels::{Viewpoint, object_id};
use marvin_mtg::ability::Zone;
use marvin_mtg::action::{Action, ActivateAction, CastAction, Payment};
use marvin_mtg::card::CardType;
use marvin_mtg::cards::fold_name;
use marvin_mtg::decision::{DecisionKind, Refusal};
use marvin_mtg::ids::ObjectId;
use marvin_mtg::state::CastWay;
use serde::Serialize;

/// Answer to "why can't I?" for one thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhyNot {
    /// What was tried.
    pub action: String,
    /// Whether it is possible now.
    pub possible: bool,
    pub reason: String,
    /// Number of the rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
}

impl Viewpoint<'_> {
    /// Tries what a card can do: every way to use it, with the reason where it fails.
    pub(crate) fn why_not(&self, text: &str) -> Vec<WhyNot> {
        let mut found = Vec::new();
        for id in self.find_cards(text) {
            let tried = found.len();
            self.try_card(id, &mut found);
            // A second copy of the same card in the same zone fails for the same reason.
            let repeated = found.split_off(tried);
            for entry in repeated {
                if !found.contains(&entry) {
                    found.push(entry);
                }
            }
        }
        found
    }

    /// Cards of the own hand and visible zones with this id or name.
    fn find_cards(&self, text: &str) -> Vec<ObjectId> {
        let wanted = fold_name(text.trim());
        let state = self.engine.state();
        let own = state.player(self.seat);
        let visible = own.hand.iter().chain(&state.battlefield).chain(&own.graveyard).copied();
        visible
            .filter(|id| {
                let name = fold_name(self.engine.view().name(*id));
                object_id(*id) == text.trim()
                    || name == wanted
                    || (wanted.len() >= 3 && name.contains(&wanted))
            })
            .collect()
    }

    fn try_card(&self, id: ObjectId, found: &mut Vec<WhyNot>) {
        let view = self.engine.view();
        let own = view.characteristics(id);
        let name = view.name(id).to_owned();
        let zone = self.engine.state().object(id).zone;
        if zone == Zone::Battlefield {
            if own.is_creature() && view.controller(id) == self.seat {
                let attack = self.engine.check_attacker(self.seat, id);
                found.push(explain(format!("attack with {name}"), self.at_attack(attack)));
            }
            for reference in &own.abilities {
                let text = self.ability(*reference).to_owned();
                let action = Action::Activate(ActivateAction {
                    source: id,
                    ability: *reference,
                    modes: Vec::new(),
                    targets: Vec::new(),
                    x: 0,
                    mana: 0,
                    payment: Payment::default(),
                    ask: false,
                });
                if !text.is_empty() {
                    found.push(self.explain_action(format!("activate {name}: {text}"), id, &action));
                }
            }
        } else if own.is(CardType::Land) {
            found.push(self.explain_action(format!("play {name}"), id, &Action::PlayLand { card: id }));
        } else {
            let action = Action::Cast(CastAction {
                card: id,
                way: CastWay::Normal,
                modes: Vec::new(),
                targets: Vec::new(),
                x: 0,
                kicked: 0,
                buyback: false,
                additional: 0,
                payment: Payment::default(),
                ask: false,
            });
            found.push(self.explain_action(format!("cast {name}"), id, &action));
        }
    }

    /// Attackers are declared in a step of their own; before it, what fails then fails already now.
    fn at_attack(&self, result: Result<(), Refusal>) -> Result<(), Refusal> {
        let asked = self.engine.decision().is_some_and(|decision| {
            decision.kind == DecisionKind::DeclareAttackers && decision.player == self.seat
        });
        match result {
            Ok(()) if !asked => Err(Refusal::new("508.1", marvin_mtg::decision::RefusalReason::OtherPlayer)),
            other => other,
        }
    }

    /// The result for an action; it is possible if the question lists one with this card.
    fn explain_action(&self, label: String, id: ObjectId, action: &Action) -> WhyNot {
        let listed = self.engine.list_actions(self.seat).into_iter().any(|known| match (&known, action) {
            (Action::PlayLand { card }, Action::PlayLand { .. }) => *card == id,
            (Action::Cast(cast), Action::Cast(_)) => cast.card == id,
            (Action::Activate(one), Action::Activate(two)) => one.source == id && one.ability == two.ability,
            _ => false,
        });
        if listed {
            return explain(label, Ok(()));
        }
        explain(label, self.engine.why_not(self.seat, action))
    }
}

fn explain(action: String, result: Result<(), Refusal>) -> WhyNot {
    match result {
        Ok(()) => WhyNot { action, possible: true, reason: "it is possible now".to_owned(), rule: None },
        Err(refusal) => {
            let reason = match refusal.reason {
                marvin_mtg::decision::RefusalReason::OtherPlayer => {
                    "it is not the moment: you are not asked for it now".to_owned()
                }
                other => other.to_string(),
            };
            WhyNot { action, possible: false, reason, rule: refusal.rule }
        }
    }
}
