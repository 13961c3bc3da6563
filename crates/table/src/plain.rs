//! A game line by line: every line is an answer or a command, every result is text.
//!
//! The terminal without a board, a conversation and a pipe share this interpreter.

use crate::error::TableError;
use crate::question::{AnswerForm, ChoiceOption, Question};
use crate::render::OptionStyle;
use crate::stops::YieldUntil;
use crate::table::Table;
use marvin_mtg::ability::TurnStep;
use marvin_mtg::ids::PlayerId;
use marvin_mtg::surface::CompactAnswer;

/// Log lines that `log` shows.
const MAX_LOG_LINES: usize = 20;

/// Commands of a game in lines, as `help` shows them.
pub const PLAIN_HELP: &str = "\
answers: the number of an option, several numbers, or
  attack: all, none, `1 3` (they attack the first defender), `1>2` (creature 1 attacks defender 2)
  block: none, `1>2 3>2` (blocker 1 and blocker 3 block attacker 2)
  amounts: `2 1`
commands:
  pass, p              pass priority
  board, b             show the board
  log                  show what happened last
  card NAME            text of a card
  why NAME             why a card cannot be used now
  hint [1|2|3]         what matters; candidate lines; the best line with the evidence of a search
  ask TEXT             talk to the model; it does not act
  stops                where you are asked; `stops +end` and `stops -end` change it
  yield turn|own|stack pass until the end of the turn, your next turn, or an empty stack
  undo                 take your last answer back (training games)
  concede yes          give up
  quit                 leave; the game can be resumed";

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlainCommand {
    Answer(CompactAnswer),
    Board,
    Help,
    Log,
    Card(String),
    WhyNot(String),
    Hint(u8),
    Ask(String),
    Stops,
    SetStop {
        step: TurnStep,
        on: bool,
    },
    Yield(YieldUntil),
    Undo,
    Concede,
    Quit,
    /// Nothing was typed.
    Nothing,
}

/// Line that is neither a command nor an answer to the question.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read `{line}`: {reason}")]
pub struct LineError {
    pub line: String,
    pub reason: LineProblem,
}

/// Why a line cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    #[error("no question is open")]
    NoQuestion,
    #[error("it is neither a command nor a number of an option")]
    Unknown,
    #[error("the question has no option {0}")]
    NoOption(usize),
    #[error("it needs numbers like `1>2`")]
    Pair,
    #[error("`concede yes` gives the game up")]
    Confirm,
    #[error("the steps are {}", step_keys())]
    Step,
    #[error("say until when: turn, own or stack")]
    Until,
    #[error("say what: `{0} NAME`")]
    NeedsText(&'static str),
}

/// Steps by the words that `stops` takes.
const STEP_KEYS: [(&str, TurnStep); 9] = [
    ("upkeep", TurnStep::Upkeep),
    ("draw", TurnStep::Draw),
    ("main1", TurnStep::Main1),
    ("combat", TurnStep::BeginCombat),
    ("attackers", TurnStep::DeclareAttackers),
    ("blockers", TurnStep::DeclareBlockers),
    ("damage", TurnStep::CombatDamage),
    ("main2", TurnStep::Main2),
    ("end", TurnStep::End),
];

fn step_keys() -> String {
    STEP_KEYS.map(|(key, _)| key).join(", ")
}

/// Reads a line for the question that is open.
///
/// # Errors
/// A line that is neither a command nor an answer.
pub fn read_line(question: Option<&Question>, line: &str) -> Result<PlainCommand, LineError> {
    let text = line.trim();
    let wrong = |reason: LineProblem| LineError { line: text.to_owned(), reason };
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let needs = |key: &'static str, make: fn(String) -> PlainCommand| {
        if rest.is_empty() { Err(wrong(LineProblem::NeedsText(key))) } else { Ok(make(rest.to_owned())) }
    };
    match word.to_ascii_lowercase().as_str() {
        "" => Ok(PlainCommand::Nothing),
        "help" | "?" => Ok(PlainCommand::Help),
        "board" | "b" => Ok(PlainCommand::Board),
        "log" => Ok(PlainCommand::Log),
        "card" => needs("card", PlainCommand::Card),
        "why" => needs("why", PlainCommand::WhyNot),
        "ask" | "say" => needs("ask", PlainCommand::Ask),
        "hint" => Ok(PlainCommand::Hint(rest.parse().unwrap_or(1).clamp(1, 3))),
        "undo" => Ok(PlainCommand::Undo),
        "concede" if rest == "yes" => Ok(PlainCommand::Concede),
        "concede" => Err(wrong(LineProblem::Confirm)),
        "quit" | "exit" => Ok(PlainCommand::Quit),
        "stops" if rest.is_empty() => Ok(PlainCommand::Stops),
        "stops" => {
            let (on, name) = match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
                (Some(name), _) => (true, name),
                (None, Some(name)) => (false, name),
                (None, None) => (true, rest),
            };
            let step = STEP_KEYS.iter().find(|(key, _)| *key == name);
            let step = step.ok_or_else(|| wrong(LineProblem::Step))?.1;
            Ok(PlainCommand::SetStop { step, on })
        }
        "yield" => match rest {
            "turn" => Ok(PlainCommand::Yield(YieldUntil::EndOfTurn)),
            "own" => Ok(PlainCommand::Yield(YieldUntil::OwnTurn)),
            "stack" => Ok(PlainCommand::Yield(YieldUntil::EmptyStack)),
            _ => Err(wrong(LineProblem::Until)),
        },
        _ => {
            let question = question.ok_or_else(|| wrong(LineProblem::NoQuestion))?;
            read_answer(question, text).map(PlainCommand::Answer).map_err(wrong)
        }
    }
}

fn pick(options: &[ChoiceOption], word: &str) -> Result<String, LineProblem> {
    if let Some(option) = options.iter().find(|option| option.id == word) {
        return Ok(option.id.clone());
    }
    let number: usize = word.parse().map_err(|_| LineProblem::Unknown)?;
    let option = number.checked_sub(1).and_then(|index| options.get(index));
    option.map(|option| option.id.clone()).ok_or(LineProblem::NoOption(number))
}

fn split_words(text: &str) -> Vec<&str> {
    text.split([' ', ',', ';', '\t']).filter(|word| !word.is_empty()).collect()
}

/// Reads an answer in the way a person types it.
fn read_answer(question: &Question, text: &str) -> Result<CompactAnswer, LineProblem> {
    let words = split_words(text);
    let none = text.eq_ignore_ascii_case("none");
    match &question.form {
        AnswerForm::Action { options } => {
            let word = if matches!(text, "pass" | "p") { "a0" } else { text };
            Ok(CompactAnswer::Action(pick(options, word)?))
        }
        AnswerForm::Options { .. } if none => Ok(CompactAnswer::Options(Vec::new())),
        AnswerForm::Options { options, .. } => {
            let labelled = options.iter().find(|option| option.label.eq_ignore_ascii_case(text));
            if let Some(option) = labelled {
                return Ok(CompactAnswer::Options(vec![option.id.clone()]));
            }
            let ids = words.iter().map(|word| pick(options, word)).collect::<Result<_, _>>()?;
            Ok(CompactAnswer::Options(ids))
        }
        AnswerForm::Attackers { .. } if none => Ok(CompactAnswer::Attackers(Vec::new())),
        AnswerForm::Attackers { attackers, defenders, .. } => {
            let first = defenders.first().map(|one| one.id.clone()).unwrap_or_default();
            if text.eq_ignore_ascii_case("all") {
                let all = attackers.iter().map(|one| (one.id.clone(), first.clone())).collect();
                return Ok(CompactAnswer::Attackers(all));
            }
            let pair = |word: &&str| match word.split_once('>') {
                Some((one, two)) => Ok((pick(attackers, one)?, pick(defenders, two)?)),
                None => Ok((pick(attackers, word)?, first.clone())),
            };
            words.iter().map(pair).collect::<Result<_, _>>().map(CompactAnswer::Attackers)
        }
        AnswerForm::Blockers { .. } if none => Ok(CompactAnswer::Blockers(Vec::new())),
        AnswerForm::Blockers { blockers, attackers, .. } => {
            let own: Vec<ChoiceOption> = blockers
                .iter()
                .map(|one| ChoiceOption {
                    id: one.id.clone(),
                    label: one.label.clone(),
                    cards: Vec::new(),
                    targets: Vec::new(),
                })
                .collect();
            let pair = |word: &&str| {
                let (one, two) = word.split_once('>').ok_or(LineProblem::Pair)?;
                Ok((pick(&own, one)?, pick(attackers, two)?))
            };
            words.iter().map(pair).collect::<Result<_, _>>().map(CompactAnswer::Blockers)
        }
        AnswerForm::Amounts { .. } => {
            let amount = |word: &&str| word.parse::<i32>().map_err(|_| LineProblem::Unknown);
            words.iter().map(amount).collect::<Result<_, _>>().map(CompactAnswer::Amounts)
        }
    }
}

/// Result of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlainOutcome {
    /// Text; the same question is still open.
    Text(String),
    /// The answer was taken, the game goes to its next step.
    Answered,
    /// A question for the model: give it to [`Table::talk`].
    Ask(String),
    Quit,
}

impl Table {
    /// Carries out a line of a person.
    ///
    /// # Errors
    /// Records that cannot be written; a line or answer that is wrong is told as text.
    pub fn run_line(&mut self, seat: PlayerId, line: &str) -> Result<PlainOutcome, TableError> {
        let question = self.question(seat);
        let command = match read_line(question.as_ref(), line) {
            Ok(command) => command,
            Err(error) => return Ok(PlainOutcome::Text(error.to_string())),
        };
        let text = match command {
            PlainCommand::Answer(answer) => {
                let number = question.map_or(0, |question| question.number);
                return match self.answer(seat, number, &answer) {
                    Ok(()) => Ok(PlainOutcome::Answered),
                    Err(TableError::Refused(refusal)) => Ok(PlainOutcome::Text(match refusal.rule {
                        Some(rule) => format!("{refusal} (rule {rule})"),
                        None => refusal.to_string(),
                    })),
                    Err(error) => Err(error),
                };
            }
            PlainCommand::Quit => return Ok(PlainOutcome::Quit),
            PlainCommand::Ask(text) => return Ok(PlainOutcome::Ask(text)),
            PlainCommand::Concede => {
                self.concede(seat)?;
                return Ok(PlainOutcome::Answered);
            }
            PlainCommand::Undo => {
                return match self.undo(seat) {
                    Ok(()) => Ok(PlainOutcome::Answered),
                    Err(error @ TableError::Undo(_)) => {
                        let hint = error.hint().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
                        Ok(PlainOutcome::Text(format!("{error}{hint}")))
                    }
                    Err(error) => Err(error),
                };
            }
            PlainCommand::Yield(until) => {
                self.yield_until(seat, until);
                return Ok(PlainOutcome::Answered);
            }
            PlainCommand::SetStop { step, on } => {
                self.change_stop(seat, step, on)?;
                self.stops_text(seat)
            }
            PlainCommand::Stops => self.stops_text(seat),
            PlainCommand::Board | PlainCommand::Nothing => self.screen_text(seat),
            PlainCommand::Help => PLAIN_HELP.to_owned(),
            PlainCommand::Log => {
                let since = self.log_length().saturating_sub(MAX_LOG_LINES);
                self.log(seat, since).iter().map(|line| line.text.clone()).collect::<Vec<_>>().join("\n")
            }
            PlainCommand::Card(name) => match self.card_text(&name) {
                Some(card) => card.to_string(),
                None => format!("no card is called `{name}`"),
            },
            PlainCommand::WhyNot(name) => self.why_not_text(seat, &name)?,
            PlainCommand::Hint(level) => self.hint(seat, level)?.to_string(),
        };
        Ok(PlainOutcome::Text(text))
    }

    /// Board and question as text.
    #[must_use]
    pub fn screen_text(&self, seat: PlayerId) -> String {
        let board = self.board(seat).to_text(OptionStyle::Numbers);
        let question = self.question(seat).map(|question| question.to_text(OptionStyle::Numbers));
        match question {
            Some(question) => format!("{board}\n\n{question}"),
            None => board,
        }
    }

    pub(crate) fn why_not_text(&self, seat: PlayerId, name: &str) -> Result<String, TableError> {
        let found = self.why_not(seat, name);
        let line = |entry: &crate::WhyNot| {
            let rule = entry.rule.map(|rule| format!(" (rule {rule})")).unwrap_or_default();
            format!("{}: {}{rule}", entry.action, entry.reason)
        };
        let text = if found.is_empty() {
            format!("no card of yours is called `{name}`")
        } else {
            found.iter().map(line).collect::<Vec<_>>().join("\n")
        };
        self.record_question(seat, crate::QuestionKind::WhyNot, name, &text)?;
        Ok(text)
    }

    fn stops_text(&self, seat: PlayerId) -> String {
        let stops = self.stops(seat);
        let names = |steps: &[TurnStep]| {
            let known = STEP_KEYS.iter().filter(|(_, step)| steps.contains(step));
            known.map(|(key, _)| *key).collect::<Vec<_>>().join(", ")
        };
        format!(
            "you are asked in your turn: {}; in the opponent's: {}; and when the opponent puts something on the stack",
            names(&stops.own_turn),
            names(&stops.opponent_turn)
        )
    }

    fn change_stop(&mut self, seat: PlayerId, step: TurnStep, on: bool) -> Result<(), TableError> {
        let mut stops = self.stops(seat).clone();
        for steps in [&mut stops.own_turn, &mut stops.opponent_turn] {
            steps.retain(|known| *known != step);
            if on {
                steps.push(step);
                steps.sort_unstable();
            }
        }
        self.set_stops(seat, stops)
    }
}
