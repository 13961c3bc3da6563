//! What happened in a game, one line at a time, worded for each seat without what it may not know.

use crate::labels::{Viewpoint, step_name};
use marvin_mtg::MTGEngine;
use marvin_mtg::ability::{TurnStep, Zone};
use marvin_mtg::action::Action;
use marvin_mtg::cards::Pool;
use marvin_mtg::decision::{Answer, Decision, DecisionKind};
use marvin_mtg::ids::{Entity, ObjectId, PlayerId};
use marvin_mtg::state::{EndReason, ObjectKind};
use serde::Serialize;

/// Kind of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    Turn,
    Action,
    Combat,
    Choice,
    Life,
    Zone,
    /// About the players and not the game: a model that gave no legal answer.
    Note,
    End,
}

/// Line of the log as one seat reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogLine {
    pub number: usize,
    pub turn: u32,
    pub kind: LogKind,
    /// Player whose answer it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seat: Option<PlayerId>,
    pub text: String,
}

#[derive(Debug, Clone)]
struct LogEntry {
    turn: u32,
    kind: LogKind,
    seat: Option<PlayerId>,
    /// Text for each seat.
    texts: [String; 2],
}

/// Log of a game.
#[derive(Debug, Clone, Default)]
pub(crate) struct GameLog {
    entries: Vec<LogEntry>,
}

impl GameLog {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Lines from a number on, as a seat reads them.
    pub(crate) fn lines(&self, seat: PlayerId, since: usize) -> Vec<LogLine> {
        let line = |(number, entry): (usize, &LogEntry)| LogLine {
            number,
            turn: entry.turn,
            kind: entry.kind,
            seat: entry.seat,
            text: entry.texts.get(usize::from(seat.0.min(1))).cloned().unwrap_or_default(),
        };
        self.entries.iter().enumerate().skip(since).map(line).collect()
    }

    pub(crate) fn note(&mut self, turn: u32, seat: PlayerId, text: impl Fn(PlayerId) -> String) {
        let texts = PlayerId::BOTH.map(text);
        self.entries.push(LogEntry { turn, kind: LogKind::Note, seat: Some(seat), texts });
    }

    fn push(
        &mut self,
        turn: u32,
        kind: LogKind,
        seat: Option<PlayerId>,
        engine: &MTGEngine,
        pool: &Pool,
        text: impl Fn(&Viewpoint<'_>) -> String,
    ) {
        let texts = PlayerId::BOTH.map(|seat| text(&Viewpoint { engine, pool, seat }));
        if texts.iter().any(|text| !text.is_empty()) {
            self.entries.push(LogEntry { turn, kind, seat, texts });
        }
    }

    /// Adds what an answer did: the answer, then every public change of the game.
    pub(crate) fn add_answer(
        &mut self,
        before: &MTGEngine,
        decision: &Decision,
        answer: &Answer,
        after: &MTGEngine,
        pool: &Pool,
    ) {
        let turn = before.state().turn;
        let player = decision.player;
        let concedes = matches!(answer, Answer::Action(action) if **action == Action::Concede);
        let kind = match decision.kind {
            DecisionKind::Priority => LogKind::Action,
            DecisionKind::DeclareAttackers | DecisionKind::DeclareBlockers => LogKind::Combat,
            _ => LogKind::Choice,
        };
        if !concedes {
            self.push(turn, kind, Some(player), before, pool, |view| {
                let text = describe_answer(view, decision, answer);
                if text.is_empty() { text } else { format!("{}: {text}", view.player(player)) }
            });
        }
        self.add_changes(before, after, pool);
    }

    fn add_changes(&mut self, before: &MTGEngine, after: &MTGEngine, pool: &Pool) {
        let (old, new) = (before.state(), after.state());
        for item in &old.stack {
            let gone = !new.stack.iter().any(|known| known.object == item.object);
            if gone {
                self.push(old.turn, LogKind::Zone, None, before, pool, |view| {
                    let kind = if item.ability.is_some() { "ability of " } else { "" };
                    format!("{kind}{} leaves the stack", view.object(item.context.source))
                });
            }
        }
        for id in &old.battlefield {
            if !new.is_on_battlefield(*id) {
                let text = leave_text(after, *id);
                self.push(old.turn, LogKind::Zone, None, before, pool, |view| {
                    format!("{} {text}", view.object(*id))
                });
            }
        }
        for id in &new.battlefield {
            if !old.battlefield.contains(id) {
                let token = new.object(*id).kind == ObjectKind::Token;
                self.push(new.turn, LogKind::Zone, None, after, pool, |view| {
                    let kind = if token { " (token)" } else { "" };
                    let owner = view.player(after.view().controller(*id));
                    format!("{}{kind} enters the battlefield under control of {owner}", view.object(*id))
                });
            }
        }
        for (player, (one, two)) in PlayerId::BOTH.into_iter().zip(old.players.iter().zip(&new.players)) {
            if one.life != two.life {
                let (from, to) = (one.life, two.life);
                self.push(old.turn, LogKind::Life, None, after, pool, |view| {
                    format!("{}: life {from} to {to}", view.player(player))
                });
            }
        }
        if old.turn != new.turn {
            self.push(new.turn, LogKind::Turn, None, after, pool, |view| {
                format!("Turn {}: {}", new.turn, view.player(new.active))
            });
        }
        if let (None, Some(outcome)) = (before.outcome(), after.outcome()) {
            self.push(new.turn, LogKind::End, None, after, pool, |view| match outcome.winner {
                Some(winner) => {
                    format!("Game over: {} won ({})", view.player(winner), reason_text(outcome.reason))
                }
                None => format!("Game over: draw ({})", reason_text(outcome.reason)),
            });
        }
    }
}

/// Why a game ended, in words.
pub(crate) fn reason_text(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Life => "no life left",
        EndReason::EmptyLibrary => "draw from an empty library",
        EndReason::Poison => "ten poison counters",
        EndReason::Concession => "concession",
        EndReason::Effect => "effect of a card",
        EndReason::Loop => "endless loop",
        EndReason::Limit => "limit of answers",
    }
}

fn leave_text(after: &MTGEngine, id: ObjectId) -> &'static str {
    let zone = after.state().successor(id).map(|next| after.state().object(next).zone);
    match zone {
        Some(Zone::Graveyard) => "goes to the graveyard",
        Some(Zone::Exile) => "is exiled",
        Some(Zone::Hand) => "returns to its owner's hand",
        Some(Zone::Library) => "goes into its owner's library",
        _ => "leaves the battlefield",
    }
}

/// What an answer was, as far as a seat may know; empty for what says nothing.
fn describe_answer(view: &Viewpoint<'_>, decision: &Decision, answer: &Answer) -> String {
    match answer {
        Answer::Action(action) if **action == Action::Pass => String::new(),
        Answer::Action(action) => view.action(action),
        Answer::Attack(pairs) if pairs.is_empty() => "no attack".to_owned(),
        Answer::Attack(pairs) => {
            let pair = |(id, to): &(ObjectId, Entity)| {
                format!("{} attacks {}", view.creature(Entity::Object(*id)), view.entity(*to))
            };
            pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
        }
        Answer::Block(pairs) if pairs.is_empty() => "no block".to_owned(),
        Answer::Block(pairs) => {
            let pair = |(id, to): &(ObjectId, ObjectId)| {
                let (one, two) = (Entity::Object(*id), Entity::Object(*to));
                format!("{} blocks {}", view.creature(one), view.creature(two))
            };
            pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
        }
        Answer::Division(amounts) => {
            let parts = amounts
                .iter()
                .enumerate()
                .map(|(position, amount)| format!("{amount} to {}", view.option(decision, position)));
            format!("divides {}", parts.collect::<Vec<_>>().join(", "))
        }
        Answer::Options(chosen) => describe_options(view, decision, chosen),
    }
}

fn describe_options(view: &Viewpoint<'_>, decision: &Decision, chosen: &[u32]) -> String {
    let positions = || chosen.iter().filter_map(|position| usize::try_from(*position).ok());
    let labels: Vec<String> = positions().map(|position| view.option(decision, position)).collect();
    let what = if labels.is_empty() { "nothing".to_owned() } else { labels.join(", ") };
    match decision.kind {
        DecisionKind::PlayOrDraw | DecisionKind::Mulligan => what,
        DecisionKind::Bottom => format!("bottom of the library: {what}"),
        DecisionKind::Discard => format!("discards {what}"),
        DecisionKind::Sacrifice => format!("sacrifices {what}"),
        DecisionKind::Search => format!("searches: {what}"),
        DecisionKind::Scry => format!("scry to the bottom: {what}"),
        DecisionKind::Surveil => format!("surveil to the graveyard: {what}"),
        DecisionKind::ScryOrder | DecisionKind::OrderCards | DecisionKind::TriggerOrder => String::new(),
        _ => format!("chooses {what}"),
    }
}

/// Heading of a step for texts.
pub(crate) fn turn_heading(turn: u32, step: TurnStep, own: bool) -> String {
    if turn == 0 {
        return "Before the first turn".to_owned();
    }
    let side = if own { "your turn" } else { "opponent's turn" };
    format!("Turn {turn} ({side}), {}", step_name(step))
}
