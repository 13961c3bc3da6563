//! Boards and questions as plain text, for terminals, models and other programs.

use crate::board::{Board, BoardPermanent, BoardSide, BoardStackItem};
use crate::log::turn_heading;
use crate::question::{AnswerForm, ChoiceOption, Question};

/// How options are named in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionStyle {
    /// Numbers from 1, for people who type.
    Numbers,
    /// The ids of the compact form, for models and programs.
    Ids,
}

impl Board {
    /// The board in lines of text; with ids of cards for programs.
    #[must_use]
    pub fn to_text(&self, style: OptionStyle) -> String {
        let ids = style == OptionStyle::Ids;
        let mut lines = vec![turn_heading(self.turn, self.step, self.active == self.seat)];
        lines.push(side_line("Opponent", &self.opponent));
        lines.extend(permanent_lines(&self.opponent, ids));
        if !self.stack.is_empty() {
            lines.push("Stack, top first:".to_owned());
            lines.extend(self.stack.iter().map(|item| format!("  {}", self.stack_line(item))));
        }
        lines.extend(permanent_lines(&self.you, ids));
        lines.push(side_line("You", &self.you));
        let hand: Vec<String> = self
            .hand
            .iter()
            .map(|card| {
                let cost = card.mana_cost.as_deref().map(|cost| format!(" {cost}")).unwrap_or_default();
                let numbers =
                    card.numbers.as_deref().map(|numbers| format!(" {numbers}")).unwrap_or_default();
                let id = if ids { format!(" [{}]", card.id) } else { String::new() };
                format!("{}{cost}{numbers}{id}", card.name)
            })
            .collect();
        lines.push(format!("Hand: {}", if hand.is_empty() { "empty".to_owned() } else { hand.join("; ") }));
        for (name, side) in [("Your", &self.you), ("Opponent's", &self.opponent)] {
            for (zone, cards) in [("graveyard", &side.graveyard), ("exile", &side.exile)] {
                if !cards.is_empty() {
                    let names: Vec<&str> = cards.iter().map(|card| card.name.as_str()).collect();
                    lines.push(format!("{name} {zone}: {}", names.join(", ")));
                }
            }
        }
        lines.join("\n")
    }

    fn stack_line(&self, item: &BoardStackItem) -> String {
        let who = if item.controller == self.seat { "you" } else { "opponent" };
        let kind = if item.is_ability { "ability of " } else { "" };
        let text = if item.text.is_empty() { String::new() } else { format!(": {}", item.text) };
        let targets =
            if item.targets.is_empty() { String::new() } else { format!(" -> {}", item.targets.join(", ")) };
        format!("{kind}{} ({who}){text}{targets}", item.source)
    }
}

fn side_line(name: &str, side: &BoardSide) -> String {
    let mana: String =
        side.mana.iter().map(|(letter, amount)| letter.to_string().repeat(usize::from(*amount))).collect();
    let mana = if mana.is_empty() { String::new() } else { format!(", mana {mana}") };
    let poison = if side.poison > 0 { format!(", poison {}", side.poison) } else { String::new() };
    format!(
        "{name} ({}, {}): life {}{poison}, hand {}, library {}, untapped lands {}{mana}",
        side.player, side.deck, side.life, side.hand_size, side.library_size, side.untapped_lands
    )
}

/// Permanents of a side: others first, each with its state, then lands by name.
fn permanent_lines(side: &BoardSide, ids: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for permanent in side.battlefield.iter().filter(|one| !one.is_land || one.is_creature) {
        lines.push(format!("  {}", permanent_text(permanent, ids)));
    }
    let mut lands: Vec<(String, usize, usize)> = Vec::new();
    for land in side.battlefield.iter().filter(|one| one.is_land && !one.is_creature) {
        match lands.iter_mut().find(|known| known.0 == land.name) {
            Some(known) => {
                known.1 += 1;
                known.2 += usize::from(land.tapped);
            }
            None => lands.push((land.name.clone(), 1, usize::from(land.tapped))),
        }
    }
    let text = |(name, count, tapped): &(String, usize, usize)| {
        let tapped = if *tapped > 0 { format!(" ({tapped} tapped)") } else { String::new() };
        format!("{count} {name}{tapped}")
    };
    if !lands.is_empty() {
        lines.push(format!("  Lands: {}", lands.iter().map(text).collect::<Vec<_>>().join(", ")));
    }
    lines
}

fn permanent_text(permanent: &BoardPermanent, ids: bool) -> String {
    let mut text = permanent.name.clone();
    if let (Some(power), Some(toughness)) = (permanent.power, permanent.toughness) {
        text.push_str(&format!(" {power}/{toughness}"));
    }
    if ids {
        text.push_str(&format!(" [{}]", permanent.id));
    }
    let mut marks: Vec<String> = permanent.keywords.clone();
    if permanent.damage > 0 {
        marks.push(format!("{} damage", permanent.damage));
    }
    marks.extend(permanent.counters.iter().map(|(kind, count)| format!("{count} {kind} counters")));
    for (present, mark) in [
        (permanent.tapped, "tapped"),
        (permanent.summoning_sick, "summoning sick"),
        (permanent.is_token, "token"),
        (permanent.attacks.is_some(), "attacking"),
        (!permanent.blocks.is_empty(), "blocking"),
        (permanent.attached_to.is_some(), "attached"),
    ] {
        if present {
            marks.push(mark.to_owned());
        }
    }
    if !marks.is_empty() {
        text.push_str(&format!(" ({})", marks.join(", ")));
    }
    text
}

impl Question {
    /// The question with its options and the way to answer it.
    #[must_use]
    pub fn to_text(&self, style: OptionStyle) -> String {
        let mut lines = vec![self.sentence.clone()];
        match &self.form {
            AnswerForm::Action { options } => lines.extend(option_lines(options, style)),
            AnswerForm::Options { options, min, max, ordered } => {
                lines.extend(option_lines(options, style));
                let count = if min == max { format!("{min}") } else { format!("{min} to {max}") };
                lines.push(match (ordered, *max) {
                    (true, _) => "(all of them, in the order that you want)".to_owned(),
                    (false, 1) if *min == 1 => "(one of them)".to_owned(),
                    (false, _) => format!("({count} of them)"),
                });
            }
            AnswerForm::Attackers { attackers, defenders, required } => {
                lines.push("Creatures that can attack:".to_owned());
                lines.extend(option_lines(attackers, style));
                lines.push("What can be attacked:".to_owned());
                lines.extend(option_lines(defenders, style));
                lines.extend(required_line(required, attackers));
            }
            AnswerForm::Blockers { blockers, attackers, required } => {
                lines.push("Attackers:".to_owned());
                lines.extend(option_lines(attackers, style));
                lines.push("Creatures that can block:".to_owned());
                for (position, blocker) in blockers.iter().enumerate() {
                    let name = option_name(position, &blocker.id, style);
                    let can: Vec<String> = attackers
                        .iter()
                        .enumerate()
                        .filter(|(_, attacker)| blocker.can_block.contains(&attacker.id))
                        .map(|(index, attacker)| option_name(index, &attacker.id, style))
                        .collect();
                    lines.push(format!("  {name}) {} can block {}", blocker.label, can.join(", ")));
                }
                lines.extend(required_line(required, attackers));
            }
            AnswerForm::Amounts { options, total, minimums, .. } => {
                lines.extend(option_lines(options, style));
                let least: Vec<String> = minimums.iter().map(ToString::to_string).collect();
                lines.push(format!(
                    "(one amount for each, {total} in all; at least {})",
                    if least.is_empty() { "0".to_owned() } else { least.join(", ") }
                ));
            }
        }
        if style == OptionStyle::Ids {
            lines.push(format!("Answer: {}", self.answer_example()));
        }
        lines.join("\n")
    }

    /// An answer of the right shape, as JSON.
    #[must_use]
    pub fn answer_example(&self) -> String {
        let first = |options: &[ChoiceOption]| options.first().map(|one| one.id.clone()).unwrap_or_default();
        match &self.form {
            AnswerForm::Action { options } => format!(r#"{{"action": "{}"}}"#, first(options)),
            AnswerForm::Options { options, min: 0, .. } => {
                format!(r#"{{"options": []}} or {{"options": ["{}"]}}"#, first(options))
            }
            AnswerForm::Options { options, min, ordered, .. } => {
                let count = usize::try_from(*min).unwrap_or(1);
                let ids: Vec<String> = options
                    .iter()
                    .take(if *ordered { options.len() } else { count })
                    .map(|one| format!("\"{}\"", one.id))
                    .collect();
                format!(r#"{{"options": [{}]}}"#, ids.join(", "))
            }
            AnswerForm::Attackers { attackers, defenders, .. } => format!(
                r#"{{"attackers": []}} or {{"attackers": [["{}", "{}"]]}}"#,
                first(attackers),
                first(defenders)
            ),
            AnswerForm::Blockers { blockers, .. } => {
                let pair = blockers
                    .first()
                    .and_then(|one| one.can_block.first().map(|to| format!("[\"{}\", \"{to}\"]", one.id)));
                format!(r#"{{"blockers": []}} or {{"blockers": [{}]}}"#, pair.unwrap_or_default())
            }
            AnswerForm::Amounts { options, total, .. } => {
                let mut amounts = vec!["0".to_owned(); options.len()];
                if let Some(amount) = amounts.first_mut() {
                    *amount = total.to_string();
                }
                format!(r#"{{"amounts": [{}]}}"#, amounts.join(", "))
            }
        }
    }
}

fn required_line(required: &[(String, String)], options: &[ChoiceOption]) -> Option<String> {
    let label = |id: &String| {
        options.iter().find(|one| one.id == *id).map_or_else(|| id.clone(), |one| one.label.clone())
    };
    let names: Vec<String> = required.iter().map(|(id, _)| label(id)).collect();
    (!names.is_empty()).then(|| format!("(required: {})", names.join(", ")))
}

fn option_name(position: usize, id: &str, style: OptionStyle) -> String {
    match style {
        OptionStyle::Numbers => (position + 1).to_string(),
        OptionStyle::Ids => id.to_owned(),
    }
}

fn option_lines(options: &[ChoiceOption], style: OptionStyle) -> Vec<String> {
    let line = |(position, option): (usize, &ChoiceOption)| {
        format!("  {}) {}", option_name(position, &option.id, style), option.label)
    };
    options.iter().enumerate().map(line).collect()
}
