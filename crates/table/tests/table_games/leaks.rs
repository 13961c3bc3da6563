//! Search for hidden cards of the opponent in prompts.

use marvin_mtg::MTGEngine;
use marvin_mtg::decision::Choosable;
use marvin_mtg::ids::{Entity, ObjectId};
use marvin_mtg::journal::{GameJournal, JournalLine};
use marvin_mtg::scenario::CachedSource;
use marvin_table::{ModelCall, PlayerId, Table, TableContext};
use std::collections::{BTreeMap, BTreeSet};

/// Names that a seat may know from a position.
fn add_known(engine: &MTGEngine, seat: PlayerId, known: &mut BTreeSet<String>) {
    let state = engine.state();
    let mut add = |id: ObjectId| {
        known.insert(engine.view().name(id).to_owned());
    };
    for player in PlayerId::BOTH {
        state.player(player).graveyard.iter().copied().for_each(&mut add);
    }
    state.player(seat).hand.iter().copied().for_each(&mut add);
    state.battlefield.iter().chain(&state.exile).copied().for_each(&mut add);
    state.stack.iter().for_each(|item| add(item.context.source));
    if let Some(decision) = engine.decision().filter(|decision| decision.player == seat) {
        decision.subjects.iter().copied().for_each(&mut add);
        for option in &decision.options {
            if let Choosable::Entity(Entity::Object(id)) = option {
                add(*id);
            }
        }
    }
}

fn hidden_names(engine: &MTGEngine, seat: PlayerId) -> BTreeSet<String> {
    let other = engine.state().player(seat.opponent());
    let hidden = other.hand.iter().chain(&other.library);
    hidden.map(|id| engine.view().name(*id).to_owned()).collect()
}

/// Hidden names in the prompts of a seat, with the decision.
pub(crate) fn find_leaks(
    journal: &str,
    context: &TableContext,
    seat: PlayerId,
    table: &Table,
    prompts: &[String],
) -> Vec<(u32, String)> {
    let calls = std::fs::read_to_string(context.games.join(table.id()).join("model.jsonl")).unwrap();
    let calls: Vec<ModelCall> = calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(calls.len(), prompts.len(), "every request is recorded");
    let mut by_decision: BTreeMap<u32, Vec<&String>> = BTreeMap::new();
    for (call, prompt) in calls.iter().zip(prompts) {
        by_decision.entry(call.decision).or_default().push(prompt);
    }
    let cards = CachedSource::new(&context.pool);
    let mut game = GameJournal::replay(journal, &cards, Some(0)).unwrap();
    let mut known = BTreeSet::new();
    let mut leaks = Vec::new();
    let mut searched = 0;
    for line in journal.lines().skip(1) {
        let line: JournalLine = serde_json::from_str(line).unwrap();
        add_known(game.engine(), seat, &mut known);
        if line.player == seat {
            let hidden = hidden_names(game.engine(), seat);
            for prompt in by_decision.get(&line.decision).into_iter().flatten() {
                searched += 1;
                let found = hidden.difference(&known).filter(|name| prompt.contains(name.as_str()));
                leaks.extend(found.map(|name| (line.decision, name.clone())));
            }
        }
        game.submit_from(line.player, line.decision, line.answer, line.origin).unwrap();
    }
    assert_eq!(searched, prompts.len(), "every prompt is searched");
    leaks
}
