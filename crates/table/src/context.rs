//! What every game of a project shares: its directory, cards, model and memory.

use crate::cards::load_pool;
use crate::error::TableError;
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
        })
    }

    /// Games of a project, or of the person where there is no project.
    ///
    /// # Errors
    /// Cards that cannot be read.
    pub fn of_project(project: &ProjectContext) -> Result<Self, TableError> {
        Ok(Self {
            games: Places::from_settings(&project.layout, &project.settings).games,
            pool: Arc::new(load_pool(&project.layout)?),
            redactor: project.redactor.clone(),
        })
    }
}
