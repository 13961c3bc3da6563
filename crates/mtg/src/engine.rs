//! The engine: runs tasks until a player must choose, and takes the answer.

use crate::ability::{Ability, Zone};
use crate::card::CardFace;
use crate::context::Context;
use crate::decision::{Answer, Choosable, Decision, DecisionKind, OptionLabel, Refusal, RefusalReason};
use crate::eval::View;
use crate::ids::{AbilityRef, Entity, ObjectId, PlayerId};
use crate::layers::{Projection, project};
use crate::state::{EndReason, GameState, ObjectKind, Outcome};
use crate::task::{Frame, Task};
use std::sync::{Arc, OnceLock};

/// Tasks in a row without a question after which a game is a draw (104.4b).
const MAX_QUIET_TASKS: u32 = 20_000;

/// Signal that a task needs an answer; the question is in the state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspend;

/// Result of a step that may need an answer.
pub(crate) type Flow<T> = Result<T, Suspend>;

/// What the game waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// A question is open for this player.
    Waiting(PlayerId),
    Over(Outcome),
}

/// Rules engine with the state of one game.
#[derive(Debug, Clone)]
pub struct MTGEngine {
    pub(crate) state: GameState,
    projection: OnceLock<Arc<Projection>>,
    /// Next answer of the task that runs.
    cursor: usize,
    /// Whether nothing has happened since state-based actions and triggers were last settled, other than
    /// that a player passed.
    pub(crate) is_settled: bool,
    /// Whether a token or a copy may have left its zone since that was last checked.
    pub(crate) may_have_strays: bool,
    /// Work of replacement effects and of casting during a resolution, done after the current step.
    pub(crate) deferred: Vec<Task>,
}

impl MTGEngine {
    /// Engine for a state that was prepared or read.
    #[must_use]
    pub fn from_state(state: GameState) -> Self {
        Self {
            state,
            projection: OnceLock::new(),
            cursor: 0,
            is_settled: false,
            may_have_strays: true,
            deferred: Vec::new(),
        }
    }

    /// New game of two decks; the starting player is drawn by lot and chooses to play or draw.
    #[must_use]
    pub fn new_game(seed: u64, decks: [&[CardFace]; 2]) -> Self {
        Self::new_match_game(seed, decks, None)
    }

    /// New game of two decks, in which this player, else one drawn by lot, chooses to play or draw (103.1).
    #[must_use]
    pub fn new_match_game(seed: u64, decks: [&[CardFace]; 2], chooser: Option<PlayerId>) -> Self {
        let mut state = GameState::new(seed);
        for (player, deck) in PlayerId::BOTH.into_iter().zip(decks) {
            let mut library: Vec<ObjectId> = Vec::with_capacity(deck.len());
            for card in deck {
                let face = state.faces.intern(card);
                library.push(state.add_object(ObjectKind::Card, face, player, Zone::Library));
            }
            state.player_mut(player).library = library;
        }
        let lot = PlayerId(u8::from(state.random.below(2) == 1));
        let first = chooser.unwrap_or(lot);
        state.active = first;
        state.tasks.push(Task::ChooseStart(first));
        Self::from_state(state)
    }

    #[must_use]
    pub fn state(&self) -> &GameState {
        &self.state
    }

    /// The state, to be changed by a caller that sets up a position.
    pub fn state_mut(&mut self) -> &mut GameState {
        self.touch();
        self.may_have_strays = true;
        self.is_settled = false;
        &mut self.state
    }

    /// The open question.
    #[must_use]
    pub fn decision(&self) -> Option<&Decision> {
        self.state.pending.as_ref()
    }

    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.state.outcome
    }

    pub(crate) fn projection(&self) -> &Projection {
        self.projection.get_or_init(|| Arc::new(project(&self.state)))
    }

    pub(crate) fn shared_projection(&self) -> Arc<Projection> {
        Arc::clone(self.projection.get_or_init(|| Arc::new(project(&self.state))))
    }

    /// Forgets the projection; every change of the state that characteristics can see calls it.
    pub(crate) fn touch(&mut self) {
        self.projection = OnceLock::new();
    }

    /// Forgets the projection if it depends on more than the permanents: on the step, on life, on what
    /// is tapped, on other zones.
    pub(crate) fn touch_circumstances(&mut self) {
        if self.projection.get().is_some_and(|projection| projection.is_circumstantial) {
            self.touch();
        }
        debug_assert!(
            self.projection.get().is_none_or(|known| known.is_same(&project(&self.state))),
            "a projection depends on circumstances and does not say so"
        );
    }

    #[must_use]
    pub fn view(&self) -> View<'_> {
        View { state: &self.state, projection: self.projection() }
    }

    pub(crate) fn ability(&self, reference: AbilityRef) -> Option<&Ability> {
        crate::eval::find_ability(&self.state, reference)
    }

    /// Runs until a player must choose or the game is over.
    pub fn advance(&mut self) -> Status {
        loop {
            if let Some(outcome) = self.state.outcome {
                self.state.pending = None;
                return Status::Over(outcome);
            }
            if let Some(decision) = &self.state.pending {
                return Status::Waiting(decision.player);
            }
            self.run_deferred();
            self.state.quiet_steps += 1;
            if self.state.quiet_steps > MAX_QUIET_TASKS {
                self.state.outcome = Some(Outcome { winner: None, reason: EndReason::Loop });
                continue;
            }
            let task = self.state.tasks.pop().unwrap_or(Task::Priority);
            self.cursor = 0;
            let depth = self.state.tasks.len();
            match self.run_task(&task) {
                Ok(()) => self.state.answers.clear(),
                Err(Suspend) => {
                    // A frame puts itself back with what it has already done.
                    if !matches!(task, Task::Frame(_)) {
                        self.state.tasks.truncate(depth);
                        self.state.tasks.push(task);
                    }
                }
            }
        }
    }

    pub(crate) fn run_deferred(&mut self) {
        let deferred = std::mem::take(&mut self.deferred);
        self.state.tasks.extend(deferred.into_iter().rev());
    }

    /// Instructions to follow after the current step.
    pub(crate) fn defer(&mut self, frame: Frame) {
        self.deferred.push(Task::Frame(Box::new(frame)));
    }

    fn run_task(&mut self, task: &Task) -> Flow<()> {
        match task {
            Task::ChooseStart(player) => self.choose_start(*player),
            Task::Mulligan => self.run_mulligan(),
            Task::Bottom(player, count) => self.run_bottom(*player, *count),
            Task::StartFirstTurn => {
                self.start_first_turn();
                Ok(())
            }
            Task::BeginInPlay(card, player) => self.begin_in_play(*card, *player),
            Task::BeginTurn(player) => {
                self.begin_turn(*player);
                Ok(())
            }
            Task::BeginStep(step) => self.begin_step(*step),
            Task::DeclareAttackers => self.run_declare_attackers(),
            Task::DeclareBlockers => self.run_declare_blockers(),
            Task::CombatDamage { first } => self.run_combat_damage(*first),
            Task::CleanupDiscard => self.run_cleanup(),
            Task::Priority => self.run_priority(),
            Task::EndStep => {
                self.end_step();
                Ok(())
            }
            Task::PutTrigger(trigger) => self.put_trigger(trigger),
            Task::ResolveTop => self.resolve_top(),
            Task::Frame(frame) => self.run_frame((**frame).clone()),
            Task::FinishResolution(id) => self.finish_resolution(*id),
            Task::Announce(player, action) => self.run_announce(*player, action),
            Task::Enter(card, player) => self.run_enter(*card, *player),
            Task::CastNow { player, card, free, cost } => {
                self.run_cast_now(*player, *card, *free, cost.as_deref())
            }
        }
    }

    /// Forgets answers that an operation of a frame has used.
    pub(crate) fn clear_answers(&mut self) {
        self.state.answers.clear();
        self.cursor = 0;
    }

    /// Asks a question, or returns the answer if it was given.
    pub(crate) fn choose(&mut self, mut decision: Decision) -> Flow<Answer> {
        if let Some(answer) = self.state.answers.get(self.cursor) {
            self.cursor += 1;
            return Ok(answer.clone());
        }
        self.state.decisions += 1;
        self.state.quiet_steps = 0;
        decision.number = self.state.decisions;
        self.state.pending = Some(decision);
        Err(Suspend)
    }

    /// Asks for options; does not ask when there is nothing to choose.
    pub(crate) fn choose_options(&mut self, decision: Decision) -> Flow<Vec<Choosable>> {
        let count = decision.options.len();
        let all = usize::try_from(decision.min).unwrap_or(usize::MAX) >= count;
        let ordering = matches!(
            decision.kind,
            DecisionKind::OrderCards | DecisionKind::ScryOrder | DecisionKind::TriggerOrder
        );
        if count == 0 || decision.max == 0 {
            return Ok(Vec::new());
        }
        if all && (!ordering || count < 2) {
            return Ok(decision.options);
        }
        let options = decision.options.clone();
        match self.choose(decision)? {
            Answer::Options(chosen) => {
                let pick = |index: &u32| options.get(usize::try_from(*index).ok()?).cloned();
                Ok(chosen.iter().filter_map(pick).collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    pub(crate) fn choose_entities(&mut self, decision: Decision) -> Flow<Vec<Entity>> {
        let chosen = self.choose_options(decision)?;
        let entity =
            |choice: Choosable| if let Choosable::Entity(entity) = choice { Some(entity) } else { None };
        Ok(chosen.into_iter().filter_map(entity).collect())
    }

    pub(crate) fn choose_objects(&mut self, decision: Decision) -> Flow<Vec<ObjectId>> {
        Ok(self.choose_entities(decision)?.into_iter().filter_map(Entity::object).collect())
    }

    /// Asks between two labels; true is the first.
    pub(crate) fn choose_label(
        &mut self,
        player: PlayerId,
        kind: DecisionKind,
        source: Option<ObjectId>,
        labels: [OptionLabel; 2],
    ) -> Flow<bool> {
        let mut decision = Decision::new(player, kind).labels(&labels);
        decision.source = source;
        let chosen = self.choose_options(decision)?;
        let [first, _] = labels;
        Ok(chosen.first() == Some(&Choosable::Label(first)))
    }

    /// Gives an answer to the open question. An answer that breaks a rule changes nothing.
    ///
    /// # Errors
    /// The rule or condition that refuses the answer.
    pub fn submit(&mut self, player: PlayerId, number: u32, answer: Answer) -> Result<Status, Refusal> {
        if self.state.outcome.is_some() {
            return Err(RefusalReason::GameOver.into());
        }
        let Some(decision) = &self.state.pending else {
            return Err(RefusalReason::NothingAsked.into());
        };
        if let Answer::Action(action) = &answer
            && **action == crate::action::Action::Concede
        {
            // A player may concede at any time (104.3a).
            self.concede(player);
            return Ok(self.advance());
        }
        if decision.player != player {
            return Err(RefusalReason::OtherPlayer.into());
        }
        if decision.number != number {
            return Err(RefusalReason::OldDecision(decision.number).into());
        }
        match answer {
            // What is performed is checked first; to plan its payment twice would only cost time.
            Answer::Action(action) if decision.kind == DecisionKind::Priority => {
                self.perform(player, &action)?;
                self.state.pending = None;
            }
            answer => {
                self.check_answer(decision, &answer)?;
                self.state.pending = None;
                self.state.answers.push(answer);
            }
        }
        self.state.quiet_steps = 0;
        Ok(self.advance())
    }

    /// Checks an answer without giving it.
    ///
    /// # Errors
    /// The rule or condition that refuses the answer.
    pub fn check_answer(&self, decision: &Decision, answer: &Answer) -> Result<(), Refusal> {
        match (decision.kind, answer) {
            (DecisionKind::Priority, Answer::Action(action)) => self.why_not(decision.player, action),
            (DecisionKind::DeclareAttackers, Answer::Attack(attack)) => {
                self.check_attack(decision.player, attack)
            }
            (DecisionKind::DeclareBlockers, Answer::Block(block)) => self.check_block(decision.player, block),
            (DecisionKind::DamageAssignment, Answer::Division(amounts)) => {
                self.check_damage_division(decision, amounts)
            }
            (DecisionKind::Division, Answer::Division(amounts)) => check_division(decision, amounts),
            (DecisionKind::Priority | DecisionKind::DeclareAttackers | DecisionKind::DeclareBlockers, _)
            | (_, Answer::Action(_) | Answer::Attack(_) | Answer::Block(_) | Answer::Division(_)) => {
                Err(RefusalReason::WrongKind.into())
            }
            (_, Answer::Options(chosen)) => check_options(decision, chosen),
        }
    }

    pub(crate) fn concede(&mut self, player: PlayerId) {
        self.state.outcome = Some(Outcome { winner: Some(player.opponent()), reason: EndReason::Concession });
        self.state.pending = None;
    }

    /// Context of an ability of a permanent.
    pub(crate) fn context_of(&self, source: ObjectId) -> Context {
        Context::new(source, self.view().controller(source))
    }
}

fn check_options(decision: &Decision, chosen: &[u32]) -> Result<(), Refusal> {
    for (position, option) in chosen.iter().enumerate() {
        if usize::try_from(*option).map_or(true, |option| option >= decision.options.len()) {
            return Err(RefusalReason::NoSuchOption(*option).into());
        }
        if chosen.iter().take(position).any(|earlier| earlier == option) {
            return Err(RefusalReason::Repeated(*option).into());
        }
    }
    let count = u32::try_from(chosen.len()).unwrap_or(u32::MAX);
    if count < decision.min || count > decision.max {
        return Err(
            RefusalReason::WrongCount { got: chosen.len(), min: decision.min, max: decision.max }.into()
        );
    }
    Ok(())
}

fn check_division(decision: &Decision, amounts: &[i32]) -> Result<(), Refusal> {
    if amounts.len() != decision.options.len() {
        return Err(
            RefusalReason::WrongCount { got: amounts.len(), min: decision.min, max: decision.max }.into()
        );
    }
    for (position, amount) in amounts.iter().enumerate() {
        if *amount < decision.minimums.get(position).copied().unwrap_or(0) {
            return Err(RefusalReason::TooSmall(position).into());
        }
    }
    let got = amounts.iter().sum();
    if got != decision.total {
        return Err(RefusalReason::WrongTotal { got, want: decision.total }.into());
    }
    Ok(())
}
