//! Whole games at the table: scripted models, answers of people, kills, records and lessons.
//!
//! `MTG_PLAY_GAMES` and `MTG_PLAY_KILLS` say how many games are played (`cargo xtask mtg-play`).

#[cfg(test)]
mod table_games {
    pub(crate) mod leaks;
    pub(crate) mod lessons;
    pub(crate) mod models;
    pub(crate) mod people;
    pub(crate) mod shared;
    pub(crate) mod support;
}
