//! Talk with a model while the game waits: it may speak and not act.

use crate::error::TableError;
use crate::model_player::{GamePrompt, ModelCall, ModelFigures, ModelMind, Talk, TalkResult, TalkRole};
use crate::records::QuestionKind;
use crate::setup::SeatKind;
use crate::table::Table;
use marvin_mtg::ids::PlayerId;
use marvin_mtg::journal::AnswerOrigin;

/// Characters of a question to the model.
const MAX_QUESTION_CHARS: usize = 2_000;

impl Table {
    /// Figures of the models of this game.
    #[must_use]
    pub fn model_figures(&self) -> ModelFigures {
        let calls: Vec<ModelCall> = self.records.read_model_calls();
        let decided = |origin: Option<AnswerOrigin>| origin == Some(AnswerOrigin::HeuristicForModel);
        let fallbacks = self.journal().lines.iter().filter(|line| decided(line.origin)).count();
        ModelFigures::of_calls(&calls, fallbacks, self.outcome().is_some())
    }

    /// What a model seat is told for the open question.
    pub(crate) fn make_model_mind(&self, seat: PlayerId) -> Option<ModelMind> {
        let model = self.context().model.clone()?;
        let question = self.question(seat)?;
        let prompt =
            GamePrompt::new(&self.board(seat), &self.log(seat, 0), &question, &self.fitting_lessons(seat));
        Some(ModelMind { model, prompt, spent: self.model_figures() })
    }

    /// A question of a person to the model. Where the opponent is a model, it answers from its own seat;
    /// else the model teaches from the person's. Run it, then hand the result to
    /// [`finish_talk`](Self::finish_talk).
    ///
    /// # Errors
    /// No model is set up.
    pub fn talk(&self, seat: PlayerId, text: &str) -> Result<Talk, TableError> {
        let Some(model) = self.context().model.clone() else {
            let problem = self.context().model_problem.clone();
            return Err(TableError::Model(problem.unwrap_or_else(|| "no model is set up".to_owned())));
        };
        let opponent = seat.opponent();
        let (role, speaker) = if self.setup().seat(opponent) == SeatKind::Model {
            (TalkRole::Opponent, opponent)
        } else {
            (TalkRole::Tutor, seat)
        };
        let text: String = text.chars().take(MAX_QUESTION_CHARS).collect();
        let messages = GamePrompt::talk(role, &self.board(speaker), &self.log(speaker, 0), &text);
        let decision = self.engine().decision().map_or(0, |decision| decision.number);
        Ok(Talk { model, messages, question: text, decision })
    }

    /// Records a talk and returns what the model said.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub fn finish_talk(&mut self, seat: PlayerId, result: TalkResult) -> Result<String, TableError> {
        self.records.append_model_call(&result.call)?;
        self.record_question(seat, QuestionKind::Talk, &result.question, &result.text)?;
        Ok(result.text)
    }
}
