//! Players: "target player", "each opponent", "its controller", and their possessives.

use super::core::{BoxPhrase, Context, Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::object::Possessive;
use crate::ability::{Filter, Selector, TargetSpec, Zone};
use winnow::error::EmptyError;

/// A player as the subject of a verb in the third person.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Player;

impl Phrase for Player {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if let Ok(selector) = attempt(input, parse_target) {
            input.state.player = Some(selector.clone());
            return Ok(selector);
        }
        if has_word(input, "that player") || has_word(input, "they") {
            return input.state.player.clone().ok_or(EmptyError);
        }
        let selector = PlayerName.parse(input)?;
        input.state.player = Some(player_of_each(&selector));
        Ok(selector)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        if out.attempt(|out| print_target(value, out)) {
            out.context.player = Some(value.clone());
            return true;
        }
        if out.context.player.as_ref() == Some(value) && out.one_of(&["that player", "they"]) {
            return true;
        }
        if !PlayerName.print(value, out) {
            return false;
        }
        out.context.player = Some(player_of_each(value));
        true
    }
}

/// "That player" and "their" after "each player" mean each of them in turn; there is one opponent.
fn player_of_each(selector: &Selector) -> Selector {
    match selector {
        Selector::EachPlayer => Selector::Iterated,
        other => other.clone(),
    }
}

/// What "their" means: of the subject, or of the player who was mentioned.
fn possessor(context: &Context) -> Option<Selector> {
    context.subject.as_ref().or(context.player.as_ref()).map(player_of_each)
}

rules! {
    /// A player who is not a target.
    PlayerName: Selector {
        ["each player"] => { Selector::EachPlayer };
        ["each opponent"] => { Selector::EachOpponent };
        ["each other player"] => { Selector::EachOpponent };
        ["defending player"] => { Selector::DefendingPlayer };
        ["the active player"] => { Selector::ActivePlayer };
        ["the chosen player"] => { Selector::ChosenPlayer };
        [(what: BoxPhrase(Possessive)) "controller"] => { Selector::Controller(what) };
        [(what: BoxPhrase(Possessive)) "owner"] => { Selector::Owner(what) };
    }
}

const PLAYER_TARGETS: [(&str, Filter); 2] =
    [("target player", Filter::Player), ("target opponent", Filter::Opponent)];

fn parse_target(input: &mut Input<'_>) -> ParseResult<Selector> {
    let is_optional = has_word(input, "up to one ");
    for (text, filter) in PLAYER_TARGETS {
        let mut trial = input.clone();
        if word(&mut trial, text).is_ok() && !continues_noun(trial.input) {
            *input = trial;
            let mut spec = TargetSpec::single(filter);
            spec.min = u8::from(!is_optional);
            return add_target(input, spec);
        }
    }
    Err(EmptyError)
}

/// Whether the noun continues: "target player or planeswalker".
fn continues_noun(rest: &str) -> bool {
    rest.starts_with(" or ") || rest.starts_with(char::is_alphanumeric)
}

fn print_target(value: &Selector, out: &mut Printer<'_>) -> bool {
    let Some(spec) = next_target(value, out) else { return false };
    if spec.zone != Zone::Battlefield {
        return false;
    }
    let Some((text, _)) = PLAYER_TARGETS.iter().find(|(_, filter)| *filter == spec.filter) else {
        return false;
    };
    out.context.mentioned += 1;
    (spec.min != 0 || out.word("up to one ")) && out.word(text)
}

/// Adds a target to those of the ability.
pub(crate) fn add_target(input: &mut Input<'_>, spec: TargetSpec) -> ParseResult<Selector> {
    let slot = u8::try_from(input.state.targets.len()).map_err(|_| EmptyError)?;
    input.state.targets.push(spec);
    input.state.mentioned += 1;
    Ok(Selector::Target(slot))
}

/// The target that the selector means, if the text did not mention it yet and it is its turn.
pub(crate) fn next_target(value: &Selector, out: &Printer<'_>) -> Option<TargetSpec> {
    match value {
        Selector::Target(slot) if usize::from(*slot) == out.context.mentioned => {
            out.context.targets.get(usize::from(*slot)).cloned()
        }
        _ => None,
    }
}

/// The possessive of a player: "your ", "that player's ", "target opponent's ".
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlayerPossessive;

impl Phrase for PlayerPossessive {
    type Value = Selector;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Selector> {
        if has_word(input, "your ") {
            return Ok(Selector::You);
        }
        if has_word(input, "their ") {
            return possessor(&input.state).ok_or(EmptyError);
        }
        let selector = Player.parse(input)?;
        word(input, "'s ")?;
        Ok(selector)
    }

    fn print(&self, value: &Selector, out: &mut Printer<'_>) -> bool {
        if *value == Selector::You && out.attempt(|out| out.word("your ")) {
            return true;
        }
        if possessor(&out.context).as_ref() == Some(value) && out.attempt(|out| out.word("their ")) {
            return true;
        }
        Player.print(value, out) && out.word("'s ")
    }
}
