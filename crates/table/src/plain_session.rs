//! A game in lines from its start to its summary: the same for a terminal, a pipe and a conversation.

use crate::error::TableError;
use crate::plain::PlainOutcome;
use crate::sideboard::{NextGame, SideboardOutcome};
use crate::step::Step;
use crate::table::Table;
use marvin_mtg::ids::PlayerId;

/// Game that is played in lines.
#[derive(Debug)]
pub struct PlainSession {
    table: Table,
    /// Log lines that were shown.
    shown: usize,
    /// Seat whose question is shown.
    seat: PlayerId,
    /// The next game of the match, while people use their sideboards.
    between: Option<Sideboarding>,
}

/// Next game with the people who are not ready for it.
#[derive(Debug)]
struct Sideboarding {
    game: NextGame,
    waiting: Vec<PlayerId>,
}

/// Text for the person, and how the session ended, if it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainText {
    pub text: String,
    pub end: Option<SessionEnd>,
}

/// How a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// The match is decided.
    Over,
    /// The person left; the game can be resumed.
    Left,
}

impl PlainSession {
    #[must_use]
    pub fn new(table: Table) -> Self {
        let seat = table.person().unwrap_or(PlayerId(0));
        // A resumed game begins with its board, not with its whole log.
        let shown = table.log_length();
        Self { table, shown, seat, between: None }
    }

    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Plays until the first question and shows it, with what an approved memory says about the deck.
    ///
    /// # Errors
    /// Records that cannot be written.
    pub async fn start(&mut self) -> Result<PlainText, TableError> {
        let [one, two] = &self.table.setup().decks;
        let [first, second] = self.table.setup().seats;
        let mut lines = vec![format!(
            "{}: {} ({}) against {} ({}), seed {}",
            self.table.id(),
            one.name,
            first.key(),
            two.name,
            second.key(),
            self.table.setup().seed
        )];
        let lessons = self.table.fitting_lessons(self.seat);
        lines.extend(lessons.iter().map(|lesson| format!("Lesson: {lesson}")));
        lines.push("Type `help` for the commands.".to_owned());
        let mut start = self.proceed().await?;
        start.text = format!("{}\n\n{}", lines.join("\n"), start.text);
        Ok(start)
    }

    /// Carries out a line.
    ///
    /// # Errors
    /// Records that cannot be written; what is wrong with a line is told as text.
    pub async fn run_line(&mut self, line: &str) -> Result<PlainText, TableError> {
        if let Some(between) = self.between.take() {
            return self.run_sideboard_line(between, line).await;
        }
        let passes = matches!(line.trim(), "pass" | "p" | "1");
        let warnings =
            if passes && self.table.setup().tutor { self.table.warnings(self.seat) } else { Vec::new() };
        match self.table.run_line(self.seat, line)? {
            PlainOutcome::Text(text) => Ok(PlainText { text, end: None }),
            PlainOutcome::Answered => {
                let mut next = self.proceed().await?;
                for warning in warnings.iter().rev() {
                    next.text = format!("Tutor: {}\n{}", warning.text, next.text);
                }
                Ok(next)
            }
            PlainOutcome::Ask(text) => {
                let text = match self.table.talk(self.seat, &text) {
                    Ok(talk) => {
                        let result = talk.run().await;
                        self.table.finish_talk(self.seat, result)?
                    }
                    Err(error) => error.to_string(),
                };
                Ok(PlainText { text, end: None })
            }
            PlainOutcome::Quit => {
                let summary = self.table.close()?;
                Ok(PlainText { text: summary.to_string(), end: Some(SessionEnd::Left) })
            }
        }
    }

    /// Plays until a person must answer, and shows what happened.
    async fn proceed(&mut self) -> Result<PlainText, TableError> {
        let step = self.table.play_on().await?;
        if let Step::Person(seat) = step {
            self.seat = seat;
        }
        let events = self.table.log(self.seat, self.shown);
        self.shown = self.table.log_length();
        let mut text: String = events.iter().map(|line| format!("{}\n", line.text)).collect();
        if !text.is_empty() {
            text.push('\n');
        }
        if let Step::Over(_) = step {
            text.push_str(&self.table.close()?.to_string());
            return self.finish_game(text).await;
        }
        text.push_str(&self.table.screen_text(self.seat));
        Ok(PlainText { text, end: None })
    }

    /// Goes on to the next game of a match, or ends the session.
    async fn finish_game(&mut self, mut text: String) -> Result<PlainText, TableError> {
        let game = match self.table.plan_next_game() {
            Ok(game) => game,
            Err(TableError::Match(_)) => return Ok(PlainText { text, end: Some(SessionEnd::Over) }),
            Err(error) => return Err(error),
        };
        let waiting = game.seats_with_sideboard();
        if let Some(seat) = waiting.first() {
            text.push_str(&format!("\n{}", game.invitation(*seat)));
            self.between = Some(Sideboarding { game, waiting });
            return Ok(PlainText { text, end: None });
        }
        let [one, two] = game.score().wins;
        text.push_str(&format!("\nMatch: {one} to {two}. The next game begins.\n\n"));
        self.start_next(game, text).await
    }

    /// Starts the next game; its first question follows the text.
    async fn start_next(&mut self, game: NextGame, text: String) -> Result<PlainText, TableError> {
        self.table = game.start()?;
        self.shown = 0;
        let start = Box::pin(self.proceed()).await?;
        Ok(PlainText { text: format!("{text}{}", start.text), end: start.end })
    }

    /// Carries out a line of a person between two games.
    async fn run_sideboard_line(
        &mut self,
        mut between: Sideboarding,
        line: &str,
    ) -> Result<PlainText, TableError> {
        let Some(seat) = between.waiting.first().copied() else {
            return self.start_next(between.game, String::new()).await;
        };
        let text = match between.game.run_line(seat, line) {
            SideboardOutcome::Text(text) => text,
            SideboardOutcome::Quit => {
                // The game exists from now on, so that it can be resumed.
                self.table = between.game.start()?;
                let summary = self.table.close()?;
                return Ok(PlainText { text: summary.to_string(), end: Some(SessionEnd::Left) });
            }
            SideboardOutcome::Ready => {
                between.waiting.remove(0);
                match between.waiting.first() {
                    Some(next) => between.game.invitation(*next),
                    None => {
                        let text = "The next game begins.\n\n".to_owned();
                        return self.start_next(between.game, text).await;
                    }
                }
            }
        };
        self.between = Some(between);
        Ok(PlainText { text, end: None })
    }
}
