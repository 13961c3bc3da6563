//! Routes of the server and their answers, read from where the data is stored by the same calls as the commands.
//!
//! The description (`openapi.json`) names the same routes, which a test checks.

mod calendar;
mod chat;
mod files;
mod memory;
mod open_games;
mod runs;
mod self_improve;
mod send;
mod stream;
pub(crate) mod table;
mod workspace;

use crate::answer::{Answer, Refusal, json, json_response, typed};
use crate::assets;
use crate::session::Sessions;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
pub(crate) use chat::Code;
use marvin_agent::ProjectContext;
use marvin_agent::chat::Chat;
use marvin_table::TableHost;
use open_games::OpenGames;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Streams of events at the same time.
const MAX_EVENT_STREAMS: usize = 640;
/// Records that are read at the same time.
const MAX_CONCURRENT_READS: usize = 4;
/// Characters that a person says at once.
const MAX_TEXT_CHARS: usize = 200_000;
/// The largest number that every reader of JSON knows.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

#[derive(Serialize)]
struct Health {
    ok: bool,
}

#[derive(Serialize)]
struct SessionToken {
    token: String,
}

/// Operation of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Page,
    Asset,
    Health,
    Session,
    Description,
    Status,
    Messages,
    Events,
    Prompt,
    Send,
    Cancel,
    Command,
    Commands,
    Approvals,
    Answer,
    Memory,
    Decide,
    Runs,
    Run,
    Trace,
    Calls,
    Timeline,
    File,
    Servitors,
    Decisions,
    Explain,
    Packs,
    Lessons,
    Settings,
    Calendar,
    Games,
    StartGame,
    Game,
    GameOrder,
    GameCard,
    GameQuestion,
    GameEvents,
}

/// One thing that can be asked for.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    /// `{name}` stands for one part of the address.
    pub(crate) path: &'static str,
    pub(crate) act: Act,
    /// Needs no token: it tells nothing of the person or the project, and changes nothing; or it is how a code becomes the token.
    pub(crate) open: bool,
}

const fn open(path: &'static str, act: Act) -> Route {
    Route { method: "GET", path, act, open: true }
}

const fn get(path: &'static str, act: Act) -> Route {
    Route { method: "GET", path, act, open: false }
}

const fn post(path: &'static str, act: Act) -> Route {
    Route { method: "POST", path, act, open: false }
}

pub(crate) static ROUTES: [Route; 37] = [
    open("/", Act::Page),
    open("/assets/{file}", Act::Asset),
    open("/healthz", Act::Health),
    open("/openapi.json", Act::Description),
    Route { method: "POST", path: "/api/session", act: Act::Session, open: true },
    get("/api/status", Act::Status),
    get("/api/messages", Act::Messages),
    get("/api/events", Act::Events),
    post("/api/prompt", Act::Prompt),
    post("/api/send", Act::Send),
    post("/api/cancel", Act::Cancel),
    post("/api/command", Act::Command),
    get("/api/commands", Act::Commands),
    get("/api/approvals", Act::Approvals),
    post("/api/approvals/{id}", Act::Answer),
    get("/api/memory", Act::Memory),
    post("/api/memory/{id}", Act::Decide),
    get("/api/runs", Act::Runs),
    get("/api/runs/{run}", Act::Run),
    get("/api/runs/{run}/trace", Act::Trace),
    get("/api/runs/{run}/calls", Act::Calls),
    get("/api/runs/{run}/timeline", Act::Timeline),
    get("/api/runs/{run}/file", Act::File),
    get("/api/servitors", Act::Servitors),
    get("/api/gate/decisions", Act::Decisions),
    post("/api/gate/explain", Act::Explain),
    get("/api/packs", Act::Packs),
    get("/api/lessons", Act::Lessons),
    get("/api/settings", Act::Settings),
    get("/api/calendar", Act::Calendar),
    get("/api/table", Act::Games),
    post("/api/table", Act::StartGame),
    get("/api/table/{game}", Act::Game),
    post("/api/table/{game}", Act::GameOrder),
    get("/api/table/{game}/card", Act::GameCard),
    post("/api/table/{game}/ask", Act::GameQuestion),
    get("/api/table/{game}/events", Act::GameEvents),
];

/// State that the pages share.
#[derive(Debug)]
pub(crate) struct PageHandler {
    context: Arc<ProjectContext>,
    chat: Chat,
    sessions: Arc<Sessions>,
    cancel: CancellationToken,
    streams: Arc<Semaphore>,
    reads: Semaphore,
    games: Arc<OpenGames>,
    /// Questions that bring their own conversation; one at a time.
    alone: tokio::sync::Mutex<()>,
}

impl PageHandler {
    pub(crate) fn new(
        context: Arc<ProjectContext>,
        chat: Chat,
        sessions: Arc<Sessions>,
        cancel: CancellationToken,
    ) -> Self {
        let (streams, reads) =
            (Arc::new(Semaphore::new(MAX_EVENT_STREAMS)), Semaphore::new(MAX_CONCURRENT_READS));
        PageHandler {
            context,
            chat,
            sessions,
            cancel,
            streams,
            reads,
            games: Arc::default(),
            alone: tokio::sync::Mutex::default(),
        }
    }

    /// Answers a request that was let in; `part` stands for `{…}` in its path.
    pub(crate) async fn answer(
        &self,
        act: Act,
        part: String,
        query: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Response, Refusal> {
        let query = Query::read(query);
        let value = match act {
            Act::Page => return Ok(assets::PAGE.response()),
            Act::Asset => return asset(&part),
            Act::Description => return Ok(typed(StatusCode::OK, "application/json", assets::DESCRIPTION)),
            Act::Events => return self.events(&query, headers),
            Act::GameEvents => {
                let host = self.game(part).await?;
                return table::events(&host, &self.streams, &self.cancel);
            }
            Act::Health => health()?,
            Act::Session => {
                let chat::Code { code } = read(body)?;
                session_token(self.sessions.exchange(&code))?
            }
            Act::Status => self.status()?,
            Act::Messages => self.messages(&query)?,
            Act::Prompt => self.prompt(&read(body)?)?,
            Act::Send => self.send(read(body)?).await?,
            Act::Cancel => {
                let chat::EmptyBody {} = read(body)?;
                json(&self.chat.cancel())?
            }
            Act::Command => self.command(&read(body)?).await?,
            Act::Commands => chat::commands()?,
            Act::Approvals => self.approvals()?,
            Act::Answer => self.approve(&part, read(body)?)?,
            Act::Memory => self.reading(memory::show).await?,
            Act::Decide => {
                let decision = read(body)?;
                let person = self.chat.person();
                self.reading(move |context| memory::decide(context, person, &part, decision)).await?
            }
            Act::Runs => {
                let (most, before) = (query.number("limit", 50, 1, 500)?, query.text("before"));
                self.reading(move |context| runs::list(context, most, before.as_deref())).await?
            }
            Act::Run => self.reading(move |context| runs::show(context, &part)).await?,
            Act::Timeline => {
                let (most, after) =
                    (query.number("limit", 500, 1, 5_000)?, query.number("after", 0, 0, MAX_SAFE_INTEGER)?);
                self.reading(move |context| runs::timeline(context, &part, after, most)).await?
            }
            Act::Trace => {
                let (most, from) =
                    (query.number("limit", 100, 1, 500)?, query.number("from", 0, 0, MAX_SAFE_INTEGER)?);
                self.reading(move |context| runs::trace(context, &part, from, most)).await?
            }
            Act::Calls => self.reading(move |context| runs::calls(context, &part)).await?,
            Act::File => {
                let path = query.text("path").ok_or_else(|| Refusal::bad("say which file: ?path=…"))?;
                self.reading(move |context| files::show(context, &part, &path)).await?
            }
            Act::Servitors => self.reading(workspace::servitors).await?,
            Act::Decisions => {
                let most = query.number("limit", 200, 1, 2_000)?;
                self.reading(move |context| workspace::decisions(context, most)).await?
            }
            Act::Explain => {
                let asked = read(body)?;
                self.reading(move |context| workspace::explain(context, &asked)).await?
            }
            Act::Packs => self.reading(workspace::packs).await?,
            Act::Lessons => self.reading(workspace::lessons).await?,
            Act::Settings => workspace::settings(&self.context)?,
            Act::Calendar => {
                let (month, year) = (query.number("month", 0, 0, 12)?, query.number("year", 0, 0, 9_998)?);
                self.reading(move |context| calendar::show(context, month, year)).await?
            }
            Act::Games | Act::StartGame | Act::Game | Act::GameOrder | Act::GameCard | Act::GameQuestion => {
                self.table(act, part, &query, body).await?
            }
        };
        Ok(json_response(StatusCode::OK, &value))
    }

    /// Answers what is about games.
    async fn table(&self, act: Act, part: String, query: &Query, body: &Bytes) -> Answer {
        let games = self.games.clone();
        match act {
            Act::Games => return self.reading(move |context| games.lobby(context)).await,
            Act::StartGame => {
                let order = read(body)?;
                return self.reading(move |context| games.start(context, &order)).await;
            }
            _ => {}
        }
        let host = self.game(part).await?;
        let seat = table::usual_seat(&host);
        match act {
            Act::GameOrder => table::order(&host, seat, read(body)?),
            Act::GameCard => table::card(&host, query),
            Act::GameQuestion => table::ask(host, seat, read(body)?).await,
            _ => table::show(&host, seat, query),
        }
    }

    /// An open game; one that is not open yet is opened.
    async fn game(&self, id: String) -> Result<Arc<TableHost>, Refusal> {
        let games = self.games.clone();
        self.reading(move |context| games.find(context, &id)).await
    }

    /// Reads what is stored, on a thread of its own; only a few at a time.
    async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce(&ProjectContext) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let _place = self.reads.acquire().await.map_err(|_| Refusal::broken("the server ends"))?;
        let context = self.context.clone();
        let read = tokio::task::spawn_blocking(move || read(&context)).await;
        read.unwrap_or_else(|error| Err(Refusal::broken(format!("cannot read it: {error}"))))
    }
}

/// The answer to a code: the token that it was exchanged for.
pub(crate) fn session_token(token: Option<String>) -> Answer {
    let token = token.ok_or_else(|| {
        let why = "the code of this link was used already, or is not this server's\n  hint: use the link that was printed last";
        Refusal::new(StatusCode::UNAUTHORIZED, why)
    })?;
    json(&SessionToken { token })
}

pub(crate) fn health() -> Answer {
    json(&Health { ok: true })
}

pub(crate) fn asset(name: &str) -> Result<Response, Refusal> {
    let asset = assets::find(name).ok_or_else(|| Refusal::absent("the page has no such file"))?;
    Ok(asset.response())
}

/// Reads the body of a request, which must be an object: serde would also take a list of its values.
pub(crate) fn read<T: DeserializeOwned>(body: &Bytes) -> Result<T, Refusal> {
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(Refusal::bad("the body is not a JSON object"));
    }
    serde_json::from_slice(body).map_err(|error| Refusal::unreadable_body(&error))
}

#[derive(Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn read(text: &str) -> Self {
        let pairs = url::form_urlencoded::parse(text.as_bytes()).take(32);
        Query(pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).collect())
    }

    fn text(&self, key: &str) -> Option<String> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    }

    fn number(&self, key: &str, usual: u64, least: u64, most: u64) -> Result<u64, Refusal> {
        let Some(text) = self.text(key) else { return Ok(usual) };
        let number: Option<u64> =
            text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
        number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            Refusal::bad(format!("?{key}={text}: a whole number from {least} to {most} is wanted"))
        })
    }
}
