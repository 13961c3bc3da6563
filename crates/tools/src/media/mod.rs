//! Media: films, games, recipes and music.

mod games;
mod movies;
mod music;
mod recipes;
mod spotify;
mod steam;

use crate::service::tool;
use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        tool::<movies::SearchMovies>(),
        tool::<movies::GetMovieDetails>(),
        tool::<games::SearchGames>(),
        tool::<games::GetGameDetails>(),
        tool::<steam::SteamSearch>(),
        tool::<steam::SteamAppDetails>(),
        tool::<steam::SteamFeatured>(),
        tool::<steam::SteamPlayerStats>(),
        tool::<steam::SteamUserGames>(),
        tool::<steam::SteamUserSummary>(),
        tool::<recipes::RecipeSearch>(),
        tool::<recipes::RecipeLookup>(),
        tool::<music::MusicSearch>(),
        tool::<music::MusicLookup>(),
        Arc::new(spotify::SpotifyAuth),
        tool::<spotify::SpotifySearch>(),
        tool::<spotify::SpotifyCreatePlaylist>(),
        tool::<spotify::SpotifyAddTracks>(),
    ]
}
