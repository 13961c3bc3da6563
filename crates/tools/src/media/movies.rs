//! Films and series, from OMDb.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Reply, Request, ServiceTool, needs, words};
use async_trait::async_trait;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Answer of OMDb: the wanted, or its own words about why not.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OmdbAnswer<T> {
    Found(T),
    #[serde(rename_all = "PascalCase")]
    Refused {
        error: String,
    },
}

/// Asks OMDb; the wanted, or its own words about why there is nothing.
async fn ask<T: DeserializeOwned>(
    request: &Request,
    context: &ToolContext,
) -> Result<(Option<T>, Findings<()>), ToolError> {
    let Reply { data, age } = request.ask::<OmdbAnswer<T>>(context).await?;
    let mut frame = Findings::new(request, age, Vec::new());
    Ok(match data {
        OmdbAnswer::Found(data) => (Some(data), frame),
        OmdbAnswer::Refused { error } => {
            frame.note = Some(format!("OMDb says: {error:?}"));
            (None, frame)
        }
    })
}

pub(super) struct SearchMovies;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MoviesInput {
    query: String,
    #[serde(default)]
    year: String,
    /// movie, series or episode; empty: all.
    #[serde(default, rename = "type")]
    kind: MovieKind,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum MovieKind {
    #[default]
    #[serde(rename = "")]
    Any,
    Movie,
    Series,
    Episode,
}

impl MovieKind {
    fn word(self) -> &'static str {
        match self {
            MovieKind::Any => "",
            MovieKind::Movie => "movie",
            MovieKind::Series => "series",
            MovieKind::Episode => "episode",
        }
    }
}

#[derive(Debug, Deserialize)]
struct MovieList {
    #[serde(rename = "Search")]
    search: Vec<MovieEntry>,
}

/// A film of a list, in the words of the service.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct MovieEntry {
    title: String,
    year: String,
    #[serde(rename = "imdbID")]
    imdb_id: String,
    #[serde(rename = "Type")]
    kind: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Movie {
    title: String,
    year: String,
    imdb_id: String,
    kind: String,
}

fn year(text: &str) -> Result<&str, ToolError> {
    let text = text.trim();
    if text.len() > 4 || !text.chars().all(|c| c.is_ascii_digit()) {
        return Err(ToolError::Usage("`year` is a year such as \"1999\".".into()));
    }
    Ok(text)
}

#[async_trait]
impl ServiceTool for SearchMovies {
    type Input = MoviesInput;
    type Item = Movie;
    const NAME: &'static str = "search_movies";
    const DESCRIPTION: &'static str = "Search films and series by title.";
    const EXAMPLE: &'static str = r#"{"query": "blade runner", "year": "1982", "type": "movie"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("title", "query")];
    const NOUN: &'static str = "film";

    fn requests(input: &MoviesInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let query = [
            ("s", words(&input.query, Self::NAME, "query")?),
            ("y", year(&input.year)?),
            ("type", input.kind.word()),
        ];
        Ok(vec![Request::new(Service::Omdb, &[""], &query, context)?])
    }

    async fn find(input: MoviesInput, context: &ToolContext) -> Result<Findings<Movie>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let (list, frame) = ask::<MovieList>(&request, context).await?;
        let movie = |entry: MovieEntry| Movie {
            title: entry.title,
            year: entry.year,
            imdb_id: entry.imdb_id,
            kind: entry.kind,
        };
        let all = list.map(|list| list.search).unwrap_or_default();
        Ok(frame.with(all.into_iter().map(movie).collect()))
    }

    fn show(item: &Movie, listing: &mut Listing) {
        listing.entry(&format!("{} ({}, {}) imdb_id: {}", item.title, item.year, item.kind, item.imdb_id));
    }
}

pub(super) struct GetMovieDetails;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DetailsInput {
    /// The title; or give `imdb_id`.
    #[serde(default)]
    title: String,
    /// The id at IMDb, such as "tt0083658".
    #[serde(default)]
    imdb_id: String,
}

/// Details in the words of the service.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MovieAnswer {
    title: String,
    #[serde(default)]
    year: String,
    #[serde(default)]
    rated: String,
    #[serde(default)]
    runtime: String,
    #[serde(default)]
    genre: String,
    #[serde(default)]
    director: String,
    #[serde(default)]
    writer: String,
    #[serde(default)]
    actors: String,
    #[serde(default)]
    plot: String,
    #[serde(default)]
    language: String,
    #[serde(default)]
    country: String,
    #[serde(default)]
    awards: String,
    #[serde(default)]
    ratings: Vec<MovieRating>,
    #[serde(default, rename = "imdbID")]
    imdb_id: String,
    #[serde(default, rename = "Type")]
    kind: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct MovieRating {
    source: String,
    value: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MovieDetails {
    title: String,
    year: String,
    kind: String,
    imdb_id: String,
    rated: String,
    runtime: String,
    genre: String,
    director: String,
    writer: String,
    actors: String,
    language: String,
    country: String,
    awards: String,
    ratings: Vec<String>,
    plot: String,
}

#[async_trait]
impl ServiceTool for GetMovieDetails {
    type Input = DetailsInput;
    type Item = MovieDetails;
    const NAME: &'static str = "get_movie_details";
    const DESCRIPTION: &'static str = "Details of a film or series: plot, cast, ratings, runtime.";
    const EXAMPLE: &'static str = r#"{"imdb_id": "tt0083658"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("query", "title"), ("id", "imdb_id")];
    const NOUN: &'static str = "film";

    fn requests(input: &DetailsInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let (title, id) = (input.title.trim(), input.imdb_id.trim());
        if title.is_empty() && id.is_empty() {
            return Err(needs(Self::NAME, "title", "the title, or `imdb_id`"));
        }
        let title = if id.is_empty() { title } else { "" };
        Ok(vec![Request::new(Service::Omdb, &[""], &[("i", id), ("t", title), ("plot", "full")], context)?])
    }

    async fn find(input: DetailsInput, context: &ToolContext) -> Result<Findings<MovieDetails>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let (movie, frame) = ask::<MovieAnswer>(&request, context).await?;
        let details = movie.map(|movie| MovieDetails {
            ratings: movie.ratings.into_iter().map(|one| format!("{} {}", one.source, one.value)).collect(),
            title: movie.title,
            year: movie.year,
            kind: movie.kind,
            imdb_id: movie.imdb_id,
            rated: movie.rated,
            runtime: movie.runtime,
            genre: movie.genre,
            director: movie.director,
            writer: movie.writer,
            actors: movie.actors,
            language: movie.language,
            country: movie.country,
            awards: movie.awards,
            plot: movie.plot,
        });
        Ok(frame.with(details.into_iter().collect()))
    }

    fn show(item: &MovieDetails, listing: &mut Listing) {
        listing.entry(&format!("{} ({}, {})", item.title, item.year, item.kind));
        let facts = [
            ("imdb_id", &item.imdb_id),
            ("rated", &item.rated),
            ("runtime", &item.runtime),
            ("genre", &item.genre),
            ("director", &item.director),
            ("writer", &item.writer),
            ("actors", &item.actors),
            ("language", &item.language),
            ("country", &item.country),
            ("awards", &item.awards),
        ];
        for (label, value) in facts {
            if value != "N/A" {
                listing.fact(label, value);
            }
        }
        listing.fact("ratings", &item.ratings.join(", "));
        listing.fact("plot", &item.plot);
    }
}
