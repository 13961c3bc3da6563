//! Which of its tools a request of a session's agent offers.
//!
//! Every tool that is offered costs tokens in every request, and most turns need few. With `tools.offer = auto` a request
//! offers the core tools of the mode, those that the person's words name, those that were called, and those that `find_tools`
//! found. What was offered once stays offered until the turn ends, and comes in the order in which it was added, so that the
//! beginning of a request stays the same and a vendor's cache holds.
//!
//! Limits: this is about tokens, not about rights. A tool of the agent that is not offered can still be called, and is judged
//! like any other.

use crate::debug::debug_fields;
use crate::tool_host::{ToolCallResult, ToolHost};
use async_trait::async_trait;
use marvin_base::settings::{Settings, table};
use marvin_gate::{Intent, Touches};
use marvin_model::{Message, ToolCall, ToolSpec};
use marvin_tools::{FileHashes, Output, Tool, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tools that one search brings in.
const MAX_FOUND: usize = 8;

/// Core tools of a conversation.
const CORE_CHAT: [&str; 6] =
    ["convert_units", "get_usage", "read_note", "web_fetch", "web_search", "write_note"];

/// Core tools of coding.
const CORE_CODING: [&str; 19] = [
    "add_commitment",
    "append_file",
    "apply_patch",
    "code_grep",
    "create_file",
    "get_usage",
    "git_commit",
    "git_diff",
    "git_log",
    "git_status",
    "list_commitments",
    "read_file",
    "run_command",
    "run_tests",
    "tk",
    "tree",
    "web_fetch",
    "web_search",
    "write_note",
];

/// Words of a person, or beginnings of them, with the beginnings of the names of the tools that they mean.
const WORDS: [(&[&str], &[&str]); 49] = [
    (
        &["convert", "unit", "km", "mile", "kg", "pound", "celsius", "fahrenheit", "litre", "cups"],
        &["convert_units"],
    ),
    (
        &["currenc", "exchange rate", "dollar", "euro", "usd", "eur ", "gbp", "yen", "franc"],
        &["convert_units"],
    ),
    (&["github", "repositor", "clone"], &["github_"]),
    (&["ticket", "issue", "backlog", "bug", "task"], &["create_ticket", "ticket_", "tk"]),
    (&["note"], &["file_read_lines", "file_apply_patch", "notes_", "read_note", "write_note"]),
    (&["feed", "rss"], &["read_rss"]),
    (&["news", "headline", "latest on", "what happened"], &["search_news", "read_rss"]),
    (&["http", "page", "website", "url", "www"], &["browse_web", "scrape_page", "web_fetch"]),
    (&["price", "scrape"], &["scrape_page"]),
    (&["download"], &["download_file", "yt_dlp_download"]),
    (&["youtube", "youtu.be", "yt-dlp", "vimeo", "soundcloud", "video"], &["yt_dlp_download"]),
    (&["cost", "token", "usage", "spent"], &["get_usage"]),
    (&["branch", "checkout", "commit"], &["git_"]),
    (&["install", "package", "dependenc"], &["install_packages"]),
    (
        &["servitor", "parallel", "delegate"],
        &["summon_servitor", "dismiss_servitor", "list_servitors", "message_servitor", "wait_for_servitor"],
    ),
    (&["agent", "research", "delegate"], &["launch_"]),
    (&["skill"], &["load_skill"]),
    (
        &[
            "calendar",
            "appointment",
            "meeting",
            "agenda",
            "event",
            "schedul",
            "reschedul",
            "birthday",
            "diary",
            "free on",
            "free at",
            "busy on",
            "busy at",
            "plans for",
            "planned for",
        ],
        &["calendar_"],
    ),
    (
        &["alarm", "wake", "remind", "alert me", "don't let me forget"],
        &["set_alarm", "list_alarms", "cancel_alarm"],
    ),
    (&["timer", "timing", "time me", "stopwatch", "countdown", "count down", "pomodoro"], &["timer_"]),
    (
        &[
            "ntfy",
            "push notif",
            "push message",
            "notif",
            "topic",
            "subscri",
            "unsubscri",
            "publish",
            "to my phone",
        ],
        &["generate_ntfy_topic", "ntfy_"],
    ),
    (&["commitment", "verif"], &["add_commitment", "list_commitments", "verify"]),
    // Location and travel.
    (
        &["where am i", "my location", "near", "around here", "closest", "close to", "within walking"],
        &["get_my_location", "places_"],
    ),
    (
        &[
            "restaurant",
            "cafe",
            "café",
            "coffee shop",
            "pub ",
            "pharmac",
            "hotel",
            "supermarket",
            "petrol",
            "gas station",
            "museum",
            "atm ",
            "parking",
            "hospital",
            "bakery",
            "place to eat",
            "shop in",
            "bar in",
            "cinema",
        ],
        &["get_my_location", "places_"],
    ),
    (
        &[
            "drive",
            "driving",
            "commute",
            "route",
            "direction",
            "walk to",
            "by bike",
            "by car",
            "way to the",
            "traffic",
            "rush hour",
            "travel time",
            "journey",
        ],
        &["estimate_", "get_directions", "get_my_location", "places_text_search"],
    ),
    (
        &["weather", "forecast", "rain", "snow", "umbrella", "sunny", "windy", "thunderstorm"],
        &["get_my_location", "places_text_search", "weather_forecast"],
    ),
    (
        &[
            "places",
            "the place",
            "home address",
            "my address",
            "saved",
            "save this",
            "favourite spot",
            "remember my home",
        ],
        &["list_places", "remove_place", "save_place"],
    ),
    (&["google places", "google maps", "google key"], &["setup_google_auth"]),
    // Knowledge.
    (
        &["paper", "study", "studies", "scientific", "literature", "citation", "journal article"],
        &["search_arxiv", "search_papers"],
    ),
    (&["arxiv", "preprint"], &["search_arxiv"]),
    (&["wiki", "encyclop", "biograph", "who was"], &["wiki_"]),
    (
        &["stack overflow", "stackoverflow", "stack exchange", "superuser", "serverfault", "askubuntu"],
        &["stack_"],
    ),
    // Media.
    (
        &["movie", "film", "series", "tv show", "imdb", "actor", "actress", "cast of"],
        &["get_movie_details", "search_movies"],
    ),
    (&["game", "playstation", "xbox", "nintendo"], &["get_game_details", "search_games", "steam_search"]),
    (&["steam"], &["steam_"]),
    (&["recipe", "cook", "bake", "ingredient", "meal"], &["recipe_"]),
    (
        &["song", "album", "musician", "band", "singer", "discograph", "musicbrainz", "music"],
        &["music_", "spotify_search"],
    ),
    (&["spotify", "playlist"], &["spotify_"]),
    // Utilities.
    (
        &[
            "define",
            "definition",
            "meaning of",
            "the word",
            "synonym",
            "antonym",
            "dictionary",
            "better word",
        ],
        &["dictionary_lookup"],
    ),
    (
        &["translat", "how do you say", "in french", "in german", "in spanish", "in italian", "in japanese"],
        &["translate_text"],
    ),
    (
        &[
            "this machine",
            "this computer",
            "my computer",
            "memory",
            "cpu",
            "disk",
            "uptime",
            "kernel",
            "operating system",
        ],
        &["system_info"],
    ),
    (&["bookmark", "this link", "for later"], &["bookmark_"]),
    (&["blender", "3d scene", "3d model", "render"], &["blender_"]),
    // The session itself.
    (&["profile"], &["switch_profile"]),
    (
        &[
            "prefer",
            "vegetarian",
            "vegan",
            "allerg",
            "spicy",
            "cuisine",
            "a car",
            "budget",
            "wheelchair",
            "diet",
        ],
        &["update_preferences"],
    ),
    (&["compact", "shorten"], &["compact_history"]),
    (
        &["last week", "last month", "we talk", "you said", "you once", "old conversation", "backup"],
        &["search_history_backups"],
    ),
    (&["goodbye", "bye", "quit", "exit"], &["exit_app"]),
    (&["working dir", "work in", "directory to", "which directory"], &["get_working_dir", "set_working_dir"]),
];

/// Topics of tools that `find_tools` names in place of their names, with the beginnings of those names.
const TOPICS: [(&str, &[&str]); 15] = [
    ("calendar, alarms and timers", &["calendar_", "set_alarm", "list_alarms", "cancel_alarm", "timer_"]),
    ("push notifications", &["ntfy_", "generate_ntfy_topic"]),
    (
        "places and routes",
        &[
            "get_my_location",
            "places_",
            "estimate_",
            "get_directions",
            "setup_google_auth",
            "list_places",
            "save_place",
            "remove_place",
        ],
    ),
    ("weather", &["weather_"]),
    ("news and papers", &["search_news", "search_papers", "search_arxiv"]),
    ("Wikipedia", &["wiki_"]),
    ("Stack Exchange", &["stack_"]),
    ("films", &["search_movies", "get_movie_"]),
    ("games and Steam", &["search_games", "get_game_", "steam_"]),
    ("recipes", &["recipe_"]),
    ("music and Spotify", &["music_", "spotify_"]),
    ("dictionary and translation", &["dictionary_", "translate_"]),
    ("bookmarks", &["bookmark_"]),
    ("Blender", &["blender_"]),
    (
        "this machine, profile and history",
        &[
            "system_info",
            "switch_profile",
            "update_preferences",
            "compact_history",
            "search_history_",
            "exit_app",
            "set_working_dir",
        ],
    ),
];

/// Finds tools that are not offered yet.
#[derive(Debug, Clone)]
pub struct FindTools {
    offering: Arc<Offering>,
}

/// What is needed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindInput {
    /// What the tool should do, or its name.
    query: String,
}

/// The tools that were found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FoundTools {
    tools: Vec<String>,
}

#[async_trait]
impl Tool for FindTools {
    type Input = FindInput;
    type Data = FoundTools;
    const NAME: &'static str = "find_tools";
    const DESCRIPTION: &'static str =
        "Find further tools; those that are found can be called from the next reply on.";
    const EXAMPLE: &'static str = r#"{"query": "search code on GitHub"}"#;
    const TOUCHES: Touches = Touches::NOTHING;

    fn intents(_input: &FindInput, _context: &ToolContext) -> Vec<Intent> {
        Vec::new()
    }

    async fn call(&self, input: FindInput, _context: &ToolContext) -> Result<Output<FoundTools>, ToolError> {
        let found = self.offering.search(&input.query);
        let tools: Vec<String> = found.iter().map(|spec| spec.name.clone()).collect();
        let lines: Vec<String> =
            found.iter().map(|spec| format!("- {}: {}", spec.name, spec.description)).collect();
        let summary = format!("{} tools", tools.len());
        let text = if lines.is_empty() {
            "No further tool fits these words.".to_string()
        } else {
            format!("You have these tools from now on:\n{}", lines.join("\n"))
        };
        Ok(Output::new(summary, text, FoundTools { tools }))
    }
}

/// What is offered in a turn.
#[derive(Debug, Default)]
pub struct Offering {
    /// None: every tool is offered.
    policy: Option<Policy>,
    state: Mutex<OfferState>,
}

#[derive(Debug, Clone, Default)]
struct Policy {
    core: BTreeSet<String>,
    /// Beginnings of names that the person wants in every request.
    always: Vec<String>,
    /// Names that the person's settings list.
    listed: Vec<String>,
}

impl Policy {
    fn has(&self, name: &str) -> bool {
        self.core.contains(name) || self.always.iter().any(|start| name.starts_with(start.as_str()))
    }
}

#[derive(Debug, Default)]
struct OfferState {
    /// All tools, in a stable order.
    catalogue: Vec<ToolSpec>,
    /// Names that are offered, in the order in which they were added.
    offered: Vec<String>,
}

impl Offering {
    /// The offering of a session's agent. `always`: names beyond the core, such as tools that the person switched on.
    #[must_use]
    pub fn new(settings: &Settings, coding: bool, always: impl IntoIterator<Item = String>) -> Arc<Self> {
        let core: &[&str] = if coding { &CORE_CODING } else { &CORE_CHAT };
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
        let mut listed = Vec::new();
        let policy = match settings.text(&table::TOOLS_OFFER).trim() {
            "all" => None,
            "auto" | "" => Some(names(core)),
            list => {
                let list = list.split(',').map(str::trim).filter(|name| !name.is_empty());
                listed.extend(list.map(ToString::to_string));
                Some(listed.iter().cloned().collect())
            }
        };
        let policy = policy.map(|mut core: BTreeSet<String>| {
            core.extend(always);
            core.insert(FindTools::NAME.to_string());
            Policy { core, always: settings.list(&table::TOOLS_ALWAYS), listed }
        });
        Arc::new(Offering { policy, state: Mutex::default() })
    }

    /// The tool that searches what is not offered; none where everything is.
    #[must_use]
    pub fn tool(self: &Arc<Self>) -> Option<FindTools> {
        self.policy.as_ref().map(|_| FindTools { offering: self.clone() })
    }

    /// A notice about names in the person's settings that none of these tools has.
    #[must_use]
    pub fn unknown_names(&self, tools: &BTreeSet<String>) -> Option<String> {
        let policy = self.policy.as_ref()?;
        let listed = policy.listed.iter().filter(|name| !tools.contains(*name));
        let begins = |start: &&String| !tools.iter().any(|name| name.starts_with(start.as_str()));
        let unknown: Vec<&str> =
            listed.chain(policy.always.iter().filter(begins)).map(String::as_str).collect();
        (!unknown.is_empty()).then(|| {
            format!(
                "tools.offer or tools.always names what this session does not have: {} (`marvin tools list` shows all)",
                unknown.join(", ")
            )
        })
    }

    fn state(&self) -> MutexGuard<'_, OfferState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tools that a request with these messages offers.
    pub fn offer(&self, all: Vec<ToolSpec>, messages: &[Message]) -> Vec<ToolSpec> {
        let Some(policy) = &self.policy else { return all };
        let mut state = self.state();
        if state.catalogue.is_empty() {
            state.catalogue = with_rest_named(all, policy);
        }
        let called = messages.iter().flat_map(|message| match message {
            Message::Assistant { tool_calls, .. } => {
                tool_calls.iter().map(|call| call.name.clone()).collect()
            }
            _ => Vec::new(),
        });
        let called: BTreeSet<String> = called.collect();
        let said: String = messages
            .iter()
            .filter(|message| matches!(message, Message::User { .. }))
            .map(|message| format!(" {}", message.content().to_lowercase()))
            .collect();
        let meant = meant_by(&said);
        let OfferState { catalogue, offered } = &mut *state;
        for spec in catalogue.iter() {
            let name = &spec.name;
            let is_meant = called.contains(name) || meant.iter().any(|start| name.starts_with(start));
            if (policy.has(name) || is_meant) && !offered.contains(name) {
                offered.push(name.clone());
            }
        }
        let spec = |name: &String| catalogue.iter().find(|spec| spec.name == *name).cloned();
        offered.iter().filter_map(spec).collect()
    }

    /// Tools that fit the words and are not offered yet, best first.
    fn search(&self, query: &str) -> Vec<ToolSpec> {
        let state = self.state();
        let query = query.to_lowercase();
        let meant = meant_by(&format!(" {query}"));
        let words: Vec<&str> =
            query.split(|char: char| !char.is_alphanumeric()).filter(|word| word.len() > 2).collect();
        let score = |spec: &ToolSpec| {
            let text = format!("{} {}", spec.name.replace('_', " "), spec.description.to_lowercase());
            let fits = words.iter().filter(|word| text.contains(**word)).count();
            let is_meant = meant.iter().any(|start| spec.name.starts_with(start));
            fits + if is_meant { 3 } else { 0 } + if spec.name == query.trim() { 10 } else { 0 }
        };
        let rest = state.catalogue.iter().filter(|spec| !state.offered.contains(&spec.name));
        let mut found: Vec<(usize, &ToolSpec)> = rest.map(|spec| (score(spec), spec)).collect();
        found.retain(|(score, _)| *score > 0);
        found.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.name.cmp(&right.name)));
        found.into_iter().take(MAX_FOUND).map(|(_, spec)| spec.clone()).collect()
    }

    /// Offers what a search found from now on.
    fn bring(&self, query: &str) {
        let found = self.search(query);
        let mut state = self.state();
        state.offered.extend(found.into_iter().map(|spec| spec.name));
    }
}

/// The specifications, with the names of the tools beyond the core, or their topics, in the description of `find_tools`.
fn with_rest_named(mut all: Vec<ToolSpec>, policy: &Policy) -> Vec<ToolSpec> {
    let mut rest: Vec<String> = Vec::new();
    for name in all.iter().map(|spec| &spec.name).filter(|name| !policy.has(name)) {
        let topic = TOPICS.iter().find(|(_, starts)| starts.iter().any(|start| name.starts_with(start)));
        let entry = topic.map_or(name.as_str(), |(topic, _)| *topic);
        if rest.iter().all(|known| known != entry) {
            rest.push(entry.to_string());
        }
    }
    for spec in all.iter_mut().filter(|spec| spec.name == FindTools::NAME) {
        spec.description.push_str(&format!(" There are: {}.", rest.join(", ")));
    }
    all
}

/// Beginnings of the names of tools that a text in lower case speaks of. A word counts where it begins one of the text.
fn meant_by(text: &str) -> BTreeSet<&'static str> {
    let begins = |word: &str| {
        text.match_indices(word).any(|(at, _)| {
            text.get(..at)
                .and_then(|before| before.chars().next_back())
                .is_none_or(|char| !char.is_alphanumeric())
        })
    };
    WORDS
        .iter()
        .filter(|(words, _)| words.iter().any(|word| begins(word)))
        .flat_map(|(_, tools)| tools.iter().copied())
        .collect()
}

/// Tools of a session, offered as its [`Offering`] says.
pub struct OfferedTools {
    inner: Arc<dyn ToolHost>,
    offering: Arc<Offering>,
}

debug_fields!(OfferedTools, offering);

impl OfferedTools {
    #[must_use]
    pub fn new(inner: Arc<dyn ToolHost>, offering: Arc<Offering>) -> Arc<Self> {
        Arc::new(OfferedTools { inner, offering })
    }
}

#[async_trait]
impl ToolHost for OfferedTools {
    fn specs(&self) -> Vec<ToolSpec> {
        self.inner.specs()
    }

    fn offer(&self, messages: &[Message]) -> Vec<ToolSpec> {
        self.offering.offer(self.inner.specs(), messages)
    }

    fn knows(&self, name: &str) -> bool {
        self.inner.knows(name)
    }

    fn touches(&self, name: &str) -> Touches {
        self.inner.touches(name)
    }

    fn changes(&self, name: &str) -> bool {
        self.inner.changes(name)
    }

    fn files_to_write(&self, call: &ToolCall) -> Option<FileHashes> {
        self.inner.files_to_write(call)
    }

    async fn call(&self, call: &ToolCall) -> ToolCallResult {
        let result = self.inner.call(call).await;
        // Here, so that a replay, whose results are recorded, offers the same.
        if call.name == FindTools::NAME
            && let Some(query) = call.arguments.to_value().get("query").and_then(|query| query.as_str())
        {
            self.offering.bring(query);
        }
        result
    }
}

#[cfg(test)]
mod tests;
