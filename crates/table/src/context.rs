//! What every game of a project shares: its directory, cards, model and memory.

use crate::cards::load_pool;
use crate::error::TableError;
use crate::game_memory::{ApprovedLesson, GameMemory};
use crate::model_player::GameModel;
use marvin_agent::ProjectContext;
use marvin_base::redact::Redactor;
use marvin_memory::Places;
use marvin_mtg::cards::Pool;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Context of games.
#[derive(Debug, Clone)]
pub struct TableContext {
    /// Directory with one directory per game.
    pub games: PathBuf,
    pub pool: Arc<Pool>,
    pub redactor: Arc<Redactor>,
    /// Model for seats of models, talk and teaching.
    pub model: Option<GameModel>,
    /// Reason for a missing model.
    pub model_problem: Option<String>,
    /// Memory that lessons are proposed to.
    pub memory: Option<GameMemory>,
    /// What a person approved about Magic.
    pub lessons: Vec<ApprovedLesson>,
}

impl TableContext {
    /// Games in a directory, with the shipped cards, without model and memory.
    ///
    /// # Errors
    /// Shipped cards that cannot be read.
    pub fn new(games: &Path) -> Result<Self, TableError> {
        let pool = Pool::shipped().map_err(|error| TableError::Pool(error.to_string()))?;
        Ok(Self {
            games: games.to_path_buf(),
            pool: Arc::new(pool.clone()),
            redactor: Arc::new(Redactor::patterns_only()),
            model: None,
            model_problem: None,
            memory: None,
            lessons: Vec::new(),
        })
    }

    /// Games of a project, or of the person outside projects.
    ///
    /// # Errors
    /// Cards that cannot be read. A model that is not set up fails only the games that need it.
    pub fn of_project(project: &ProjectContext) -> Result<Self, TableError> {
        let places = Places::from_settings(&project.layout, &project.settings);
        let (model, model_problem) = match GameModel::choose(project) {
            Ok(model) => (Some(model), None),
            Err(TableError::Model(problem)) => (None, Some(problem)),
            Err(error) => (None, Some(error.to_string())),
        };
        let memory = GameMemory { places, redactor: project.redactor.clone() };
        Ok(Self {
            games: memory.places.games.clone(),
            pool: Arc::new(load_pool(&project.layout)?),
            redactor: project.redactor.clone(),
            model,
            model_problem,
            // A memory that cannot be trusted teaches nothing; `marvin memory` says what is wrong with it.
            lessons: memory.approved().unwrap_or_default(),
            memory: Some(memory),
        })
    }
}
