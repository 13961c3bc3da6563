//! A game at the table: its engine, its records, and who is to answer.

use crate::board::{Board, BoardFacts};
use crate::cards::{CardText, deck_cards};
use crate::context::TableContext;
use crate::error::{TableError, UndoProblem};
use crate::labels::Viewpoint;
use crate::log::{GameLog, LogLine};
use crate::question::Question;
use crate::records::{self, GameRecords, GameRow, QuestionKind, QuestionRecord};
use crate::setup::{GameSetup, SeatKind};
use crate::step::{Mind, Step, Thought, ThoughtResult, choose_mind};
use crate::stops::{OpenYield, YieldUntil};
use crate::why_not::WhyNot;
use marvin_base::clock;
use marvin_mtg::MTGEngine;
use marvin_mtg::action::Action;
use marvin_mtg::decision::{Answer, Decision, DecisionKind, Refusal, RefusalReason};
use marvin_mtg::ids::PlayerId;
use marvin_mtg::journal::{AnswerOrigin, GameJournal, JournalHeader, JournalLine};
use marvin_mtg::players::Observation;
use marvin_mtg::scenario::CachedSource;
use marvin_mtg::state::{EndReason, Outcome};
use marvin_mtg::surface::{CompactAnswer, Stops};

/// Answers after which a game ends as a draw, so that no game runs for ever.
const MAX_ANSWERS: usize = 20_000;

/// Passes in a row that one step makes by itself.
const MAX_PASSES: usize = 10_000;

/// Game with its records.
#[derive(Debug)]
pub struct Table {
    context: TableContext,
    id: String,
    setup: GameSetup,
    journal: GameJournal,
    pub(crate) records: GameRecords,
    log: GameLog,
    yields: [Option<OpenYield>; 2],
}

impl Table {
    /// Starts a game and writes its setup.
    ///
    /// # Errors
    /// Decks with cards that are not supported, a directory that cannot be written.
    pub fn create(context: &TableContext, setup: GameSetup) -> Result<Self, TableError> {
        // Everything that can be wrong is checked before anything is written.
        make_header(context, &setup)?;
        check_model(context, &setup)?;
        let id = records::make_directory(&context.games)?;
        let directory = context.games.join(&id);
        records::write_setup(&directory, &setup)?;
        Self::open(context, &id, setup)
    }

    /// Opens a game where it was left.
    ///
    /// # Errors
    /// A game that does not exist, that another process plays, or whose journal was changed.
    pub fn resume(context: &TableContext, id: &str) -> Result<Self, TableError> {
        let directory = records::find_directory(&context.games, id)?;
        let setup = records::read_setup(&directory)?;
        check_model(context, &setup)?;
        Self::open(context, id, setup)
    }

    /// Opens the newest game that is not over.
    ///
    /// # Errors
    /// No such game; see [`resume`](Self::resume).
    pub fn resume_latest(context: &TableContext) -> Result<Self, TableError> {
        for id in records::list_ids(&context.games) {
            let directory = context.games.join(&id);
            if records::read_summary(&directory).is_none_or(|summary| summary.reason.is_none()) {
                return Self::resume(context, &id);
            }
        }
        Err(TableError::NoOpenGame)
    }

    /// All games, newest first.
    ///
    /// # Errors
    /// A game whose files cannot be read.
    pub fn list(context: &TableContext) -> Result<Vec<GameRow>, TableError> {
        records::list_ids(&context.games).iter().map(|id| records::game_row(&context.games, id)).collect()
    }

    fn open(context: &TableContext, id: &str, setup: GameSetup) -> Result<Self, TableError> {
        let directory = context.games.join(id);
        let mut records = GameRecords::open(&directory, context.redactor.clone())?;
        let text = records::read_journal(&directory)?;
        let cards = CachedSource::new(&context.pool);
        let mut log = GameLog::default();
        let journal = if text.is_empty() {
            let journal = GameJournal::start(make_header(context, &setup)?, &cards)?;
            records.append_header(&journal.header)?;
            journal
        } else {
            replay_with_log(&text, &cards, context, &mut log)?
        };
        Ok(Self {
            context: context.clone(),
            id: id.to_owned(),
            setup,
            journal,
            records,
            log,
            yields: [None, None],
        })
    }

    /// This game in a list of games.
    #[must_use]
    pub fn row(&self) -> GameRow {
        let [one, two] = &self.setup.decks;
        GameRow {
            id: self.id.clone(),
            decks: [one.name.clone(), two.name.clone()],
            players: self.setup.seats.map(SeatKind::key),
            answers: self.journal.lines.len(),
            summary: None,
        }
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    #[must_use]
    pub fn setup(&self) -> &GameSetup {
        &self.setup
    }

    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.journal.engine().outcome()
    }

    /// Seat of the person, if exactly one person plays.
    #[must_use]
    pub fn person(&self) -> Option<PlayerId> {
        let mut persons =
            PlayerId::BOTH.into_iter().filter(|seat| self.setup.seat(*seat) == SeatKind::Person);
        let first = persons.next();
        if persons.next().is_some() { None } else { first }
    }

    pub(crate) fn context(&self) -> &TableContext {
        &self.context
    }

    pub(crate) fn journal(&self) -> &GameJournal {
        &self.journal
    }

    pub(crate) fn engine(&self) -> &MTGEngine {
        self.journal.engine()
    }

    pub(crate) fn view(&self, seat: PlayerId) -> Viewpoint<'_> {
        Viewpoint { engine: self.journal.engine(), pool: &self.context.pool, seat }
    }

    /// The game as a seat sees it.
    #[must_use]
    pub fn board(&self, seat: PlayerId) -> Board {
        let [one, two] = &self.setup.decks;
        let facts = BoardFacts {
            game_id: &self.id,
            decks: [&one.name, &two.name],
            players: self.setup.seats.map(SeatKind::key),
        };
        self.view(seat).board(facts)
    }

    /// The question that is open for a seat.
    #[must_use]
    pub fn question(&self, seat: PlayerId) -> Option<Question> {
        self.view(seat).question()
    }

    /// Lines of the log from a number on, as a seat reads them.
    #[must_use]
    pub fn log(&self, seat: PlayerId, since: usize) -> Vec<LogLine> {
        self.log.lines(seat, since)
    }

    /// Number of the next log line.
    #[must_use]
    pub fn log_length(&self) -> usize {
        self.log.len()
    }

    /// What is printed on a card.
    #[must_use]
    pub fn card_text(&self, name: &str) -> Option<CardText> {
        CardText::find(&self.context.pool, name)
    }

    /// Why a card cannot be used now, by its id or a part of its name.
    #[must_use]
    pub fn why_not(&self, seat: PlayerId, text: &str) -> Vec<WhyNot> {
        self.view(seat).why_not(text)
    }

    #[must_use]
    pub fn stops(&self, seat: PlayerId) -> &Stops {
        self.setup.stops(seat)
    }

    /// Changes where a seat is asked, for the rest of the game.
    ///
    /// # Errors
    /// A setup that cannot be written.
    pub fn set_stops(&mut self, seat: PlayerId, stops: Stops) -> Result<(), TableError> {
        *self.setup.stops_mut(seat) = stops;
        records::write_setup(&self.records.directory, &self.setup)
    }

    /// Lets a seat pass by itself from now on.
    pub fn yield_until(&mut self, seat: PlayerId, until: YieldUntil) {
        let open = OpenYield::new(until, self.journal.engine());
        *self.yield_mut(seat) = Some(open);
    }

    /// Ends a yield.
    pub fn end_yield(&mut self, seat: PlayerId) {
        *self.yield_mut(seat) = None;
    }

    fn yield_mut(&mut self, seat: PlayerId) -> &mut Option<OpenYield> {
        let [first, second] = &mut self.yields;
        if seat == PlayerId(0) { first } else { second }
    }

    /// Answers the open question of a seat. The number is that of the question; an answer to an
    /// earlier question is refused.
    ///
    /// # Errors
    /// The rule or condition that refuses the answer, and then nothing has changed; or a journal that
    /// cannot be written.
    pub fn answer(&mut self, seat: PlayerId, number: u32, answer: &CompactAnswer) -> Result<(), TableError> {
        let open = self.engine().decision().map(|decision| decision.number);
        if let Some(open) = open.filter(|open| *open != number) {
            return Err(Refusal::from(RefusalReason::OldDecision(open)).into());
        }
        let answer = self.engine().read_compact(seat, answer)?;
        // A person's own answer ends a yield that has not begun to pass.
        self.submit(seat, number, answer, AnswerOrigin::Person)
    }

    /// Gives the game up. Nothing else does: no answer of a question concedes.
    ///
    /// # Errors
    /// A game that is over.
    pub fn concede(&mut self, seat: PlayerId) -> Result<(), TableError> {
        let number = self.engine().decision().map_or(0, |decision| decision.number);
        self.submit(seat, number, Answer::Action(Box::new(Action::Concede)), AnswerOrigin::Person)
    }

    fn submit(
        &mut self,
        seat: PlayerId,
        number: u32,
        answer: Answer,
        origin: AnswerOrigin,
    ) -> Result<(), TableError> {
        let before = self.journal.engine().clone();
        self.journal.submit_from(seat, number, answer, Some(origin))?;
        let Some(line) = self.journal.lines.last() else { return Ok(()) };
        self.records.append_line(line)?;
        add_to_log(&mut self.log, &before, line, self.journal.engine(), &self.context);
        Ok(())
    }

    /// What the game waits for. Passes that need no question, and answers without a choice, are made
    /// by the way.
    ///
    /// # Errors
    /// A journal that cannot be written.
    pub fn next_step(&mut self) -> Result<Step, TableError> {
        for _ in 0..MAX_PASSES {
            if let Some(outcome) = self.outcome() {
                return Ok(Step::Over(outcome));
            }
            let Some(decision) = self.engine().decision() else {
                return Ok(Step::Over(Outcome { winner: None, reason: EndReason::Limit }));
            };
            if self.journal.lines.len() >= MAX_ANSWERS {
                return Ok(Step::Over(Outcome { winner: None, reason: EndReason::Limit }));
            }
            let (seat, number) = (decision.player, decision.number);
            let Some((answer, origin)) = self.find_automatic(seat) else {
                return Ok(self.make_step(seat, number));
            };
            self.submit(seat, number, answer, origin)?;
        }
        Ok(Step::Over(Outcome { winner: None, reason: EndReason::Limit }))
    }

    /// Answer that needs no question: a pass where the seat is not asked, or the only legal answer.
    fn find_automatic(&mut self, seat: PlayerId) -> Option<(Answer, AnswerOrigin)> {
        if !self.setup.seat(seat).is_asked() {
            return None;
        }
        let engine = self.journal.engine();
        let decision = engine.decision()?;
        if decision.kind != DecisionKind::Priority {
            return forced_answer(decision).map(|answer| (answer, AnswerOrigin::Forced));
        }
        let pass = || (Answer::Action(Box::new(Action::Pass)), AnswerOrigin::Pass);
        let [first, second] = &self.yields;
        let open = if seat == PlayerId(0) { first } else { second };
        match open {
            Some(open) if open.holds(engine, seat) => return Some(pass()),
            Some(_) => {
                // A yield that has ended is forgotten; the stops hold again.
                *self.yield_mut(seat) = None;
            }
            None => {}
        }
        let passes = self.journal.engine().passes_automatically(self.setup.stops(seat));
        passes.then(pass)
    }

    fn make_step(&self, seat: PlayerId, number: u32) -> Step {
        let mind = match self.setup.seat(seat) {
            SeatKind::Model => self.make_model_mind(seat).map(Mind::Model),
            _ => choose_mind(&self.setup, seat, number),
        };
        match mind {
            None => Step::Person(seat),
            Some(mind) => Step::Think(Box::new(Thought {
                seat,
                number,
                answers: self.journal.lines.len(),
                observation: Observation::new(self.engine(), seat),
                mind,
            })),
        }
    }

    /// Applies the result of a thought; returns whether it still fitted the game.
    ///
    /// # Errors
    /// An answer that the rules refuse, a journal that cannot be written.
    pub fn finish_step(&mut self, result: ThoughtResult) -> Result<bool, TableError> {
        let open = self.engine().decision().map(|decision| (decision.player, decision.number));
        if open != Some((result.seat, result.number)) || self.journal.lines.len() != result.answers {
            return Ok(false);
        }
        for call in &result.calls {
            self.records.append_model_call(call)?;
        }
        let turn = self.engine().state().turn;
        self.submit(result.seat, result.number, result.answer, result.origin)?;
        if let Some(remark) = &result.remark {
            let who = result.seat;
            self.log.note(turn, who, |seat| {
                format!("{} says: {remark}", if seat == who { "you" } else { "opponent" })
            });
        }
        Ok(true)
    }

    /// Makes one step, with its thought.
    ///
    /// # Errors
    /// See [`next_step`](Self::next_step) and [`finish_step`](Self::finish_step).
    pub async fn step(&mut self) -> Result<Option<Step>, TableError> {
        match self.next_step()? {
            Step::Think(thought) => {
                let result = thought.run().await;
                self.finish_step(result)?;
                Ok(None)
            }
            waiting => Ok(Some(waiting)),
        }
    }

    /// Plays until a person must answer or the game is over.
    ///
    /// # Errors
    /// See [`step`](Self::step).
    pub async fn play_on(&mut self) -> Result<Step, TableError> {
        loop {
            if let Some(waiting) = self.step().await? {
                return Ok(waiting);
            }
        }
    }

    /// Takes back the last answer of a person, and everything after it. Only in training games.
    ///
    /// # Errors
    /// A game that is not for training, or without an answer of this seat.
    pub fn undo(&mut self, seat: PlayerId) -> Result<(), TableError> {
        if !self.setup.training {
            return Err(TableError::Undo(UndoProblem::NotTraining));
        }
        let own = |line: &JournalLine| line.player == seat && line.origin == Some(AnswerOrigin::Person);
        let Some(keep) = self.journal.lines.iter().rposition(own) else {
            return Err(TableError::Undo(UndoProblem::NoAnswer));
        };
        let cards = CachedSource::new(&self.context.pool);
        let mut text = String::new();
        for (index, line) in
            self.journal.to_text().map_err(json_error(&self.records.directory))?.lines().enumerate()
        {
            if index <= keep {
                text.push_str(line);
                text.push('\n');
            }
        }
        let mut log = GameLog::default();
        let journal = replay_with_log(&text, &cards, &self.context, &mut log)?;
        self.records.replace_journal(&journal)?;
        self.journal = journal;
        self.log = log;
        self.yields = [None, None];
        Ok(())
    }

    /// Writes a question outside the game, with its answer.
    pub(crate) fn record_question(
        &self,
        seat: PlayerId,
        kind: QuestionKind,
        question: &str,
        answer: &str,
    ) -> Result<(), TableError> {
        self.records.append_question(&QuestionRecord {
            ts_utc: clock::now_stamp(),
            seat,
            kind,
            turn: self.engine().state().turn,
            decision: self.engine().decision().map_or(0, |decision| decision.number),
            question: question.to_owned(),
            answer: answer.to_owned(),
        })
    }
}

fn json_error(path: &std::path::Path) -> impl FnOnce(serde_json::Error) -> TableError + use<> {
    let path = path.to_path_buf();
    move |source| TableError::Json { path, source }
}

/// A seat of a model needs one.
fn check_model(context: &TableContext, setup: &GameSetup) -> Result<(), TableError> {
    if setup.seats.contains(&SeatKind::Model) && context.model.is_none() {
        let problem = context.model_problem.clone();
        return Err(TableError::Model(problem.unwrap_or_else(|| "no model is set up".to_owned())));
    }
    Ok(())
}

fn make_header(context: &TableContext, setup: &GameSetup) -> Result<JournalHeader, TableError> {
    let [one, two] = &setup.decks;
    let decks = [deck_cards(one, &context.pool)?, deck_cards(two, &context.pool)?];
    Ok(JournalHeader { chooser: setup.chooser, ..JournalHeader::new(setup.seed, decks) })
}

/// Answer to a question that leaves no choice.
fn forced_answer(decision: &Decision) -> Option<Answer> {
    let count = u32::try_from(decision.options.len()).unwrap_or(u32::MAX);
    let is_list = !matches!(
        decision.kind,
        DecisionKind::DeclareAttackers
            | DecisionKind::DeclareBlockers
            | DecisionKind::Division
            | DecisionKind::DamageAssignment
            | DecisionKind::OrderCards
            | DecisionKind::ScryOrder
            | DecisionKind::TriggerOrder
    );
    (is_list && decision.min >= count).then(|| Answer::Options((0..count).collect()))
}

fn add_to_log(
    log: &mut GameLog,
    before: &MTGEngine,
    line: &JournalLine,
    after: &MTGEngine,
    context: &TableContext,
) {
    let fallback;
    let decision = match before.decision() {
        Some(decision) => decision,
        None => {
            fallback = Decision::new(line.player, line.kind);
            &fallback
        }
    };
    log.add_answer(before, decision, &line.answer, after, &context.pool);
    if line.origin == Some(AnswerOrigin::HeuristicForModel) {
        log.note(before.state().turn, line.player, |seat| {
            let who = if seat == line.player { "you" } else { "opponent" };
            format!("{who}: the model gave no legal answer; the heuristic player decided")
        });
    }
}

/// Replays a journal, asserts every hash, and writes its log again.
fn replay_with_log(
    text: &str,
    cards: &CachedSource<'_>,
    context: &TableContext,
    log: &mut GameLog,
) -> Result<GameJournal, TableError> {
    let mut step = GameJournal::replay(text, cards, Some(0))?;
    let full = GameJournal::replay(text, cards, None)?;
    for line in &full.lines {
        let before = step.engine().clone();
        step.submit_from(line.player, line.decision, line.answer.clone(), line.origin)?;
        add_to_log(log, &before, line, step.engine(), context);
    }
    Ok(full)
}
