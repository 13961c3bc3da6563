//! The services that tools ask: names, keys, rates and ages of replies.

use marvin_base::layout::Layout;
use marvin_base::settings::{Setting, Settings, table};
use marvin_gate::network::Service;
use std::time::Duration;

/// One service.
#[derive(Debug)]
pub(crate) struct ServiceRow {
    pub(crate) service: Service,
    /// The name that people know.
    pub(crate) name: &'static str,
    /// Directory in the cache.
    pub(crate) directory: &'static str,
    pub(crate) key: Option<Key>,
    /// Pause between two requests that the service's rules ask for. Instances of the person's own have none.
    pub(crate) pause: Duration,
    /// Age up to which a reply is used again.
    pub(crate) keep: Duration,
    /// A small request without effect, below the base URL, for `marvin tools check --live`.
    pub(crate) probe: &'static str,
}

/// The key of a service.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) setting: &'static Setting,
    /// File in `~/.ssh` that holds the key where the setting does not.
    pub(crate) file: &'static str,
    pub(crate) place: KeyPlace,
    /// Whether the service answers only with a key.
    pub(crate) is_needed: bool,
    /// Page at which a person gets a key.
    pub(crate) page: &'static str,
}

/// Where a request carries the key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyPlace {
    Header(&'static str),
    Query(&'static str),
}

impl Key {
    /// The key itself, from the setting or the file.
    pub(crate) fn find(&self, settings: &Settings, layout: &Layout) -> Option<String> {
        let given = settings.given(self.setting).map(str::trim).filter(|key| !key.is_empty());
        given.map(str::to_string).or_else(|| read_key_file(layout, self.file))
    }
}

fn read_key_file(layout: &Layout, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(layout.home().join(".ssh").join(name)).ok()?;
    Some(text.trim().to_string()).filter(|key| !key.is_empty())
}

/// Keys of services that lie in files, as (name, key), for the redactor.
#[must_use]
pub fn key_files(layout: &Layout) -> Vec<(String, String)> {
    let files = ROWS.iter().filter_map(|row| row.key.as_ref()).map(|key| key.file);
    files.filter_map(|name| Some((name.to_string(), read_key_file(layout, name)?))).collect()
}

const fn key(
    setting: &'static Setting,
    file: &'static str,
    place: KeyPlace,
    is_needed: bool,
    page: &'static str,
) -> Option<Key> {
    Some(Key { setting, file, place, is_needed, page })
}

const fn row(
    service: Service,
    name: &'static str,
    directory: &'static str,
    pause_ms: u64,
    keep_s: u64,
    probe: &'static str,
    key: Option<Key>,
) -> ServiceRow {
    let (pause, keep) = (Duration::from_millis(pause_ms), Duration::from_secs(keep_s));
    ServiceRow { service, name, directory, key, pause, keep, probe }
}

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

use KeyPlace::{Header, Query};

/// Every service, in the order of `marvin tools check`.
#[rustfmt::skip]
pub(crate) static ROWS: [ServiceRow; 23] = [
    row(Service::IpLocation, "ip-api.com", "ip_location", 1_400, 10 * MINUTE, "json/?fields=status", None),
    row(Service::Places, "Google Places", "places", 0, HOUR, "",
        key(&table::PLACES_KEY, "GOOGLE_PLACES_API_KEY", Header("x-goog-api-key"), true, "https://console.cloud.google.com/apis/library/places.googleapis.com")),
    row(Service::Nominatim, "Nominatim", "nominatim", 1_000, DAY, "status?format=json", None),
    row(Service::Overpass, "Overpass", "overpass", 1_000, DAY, "api/status", None),
    row(Service::Osrm, "OSRM", "osrm", 1_000, HOUR, "route/v1/driving/13.388860,52.517037;13.397634,52.529407?overview=false", None),
    row(Service::OpenMeteo, "Open-Meteo", "open_meteo", 100, 30 * MINUTE, "v1/forecast?latitude=52.5&longitude=13.4&current=temperature_2m", None),
    row(Service::News, "Google News", "news", 500, 10 * MINUTE, "rss/search?q=weather&hl=en-US&gl=US&ceid=US:en", None),
    row(Service::NewsApi, "NewsAPI", "newsapi", 500, 10 * MINUTE, "v2/everything?q=weather&pageSize=1",
        key(&table::NEWSAPI_KEY, "NEWSAPI_KEY", Header("x-api-key"), true, "https://newsapi.org/register")),
    row(Service::SemanticScholar, "Semantic Scholar", "semantic_scholar", 1_000, DAY, "graph/v1/paper/search?query=attention&limit=1",
        key(&table::SEMANTIC_SCHOLAR_KEY, "SEMANTIC_SCHOLAR_API_KEY", Header("x-api-key"), false, "https://www.semanticscholar.org/product/api")),
    row(Service::Arxiv, "arXiv", "arxiv", 3_000, DAY, "api/query?search_query=all:electron&max_results=1", None),
    row(Service::Wikipedia, "Wikipedia", "wikipedia", 100, DAY, "w/api.php?action=query&meta=siteinfo&format=json", None),
    row(Service::StackExchange, "Stack Exchange", "stack_exchange", 100, HOUR, "2.3/info?site=stackoverflow",
        key(&table::STACK_EXCHANGE_KEY, "STACK_EXCHANGE_KEY", Query("key"), false, "https://stackapps.com")),
    row(Service::Omdb, "OMDb", "omdb", 100, DAY, "?i=tt0111161",
        key(&table::OMDB_KEY, "OMDB_API_KEY", Query("apikey"), true, "https://www.omdbapi.com/apikey.aspx")),
    row(Service::Rawg, "RAWG", "rawg", 100, DAY, "api/games?page_size=1",
        key(&table::RAWG_KEY, "RAWG_API_KEY", Query("key"), true, "https://rawg.io/apidocs")),
    row(Service::Steam, "Steam", "steam", 1_500, HOUR, "api/featured", None),
    row(Service::SteamApi, "Steam Web API", "steam_api", 100, 10 * MINUTE, "ISteamWebAPIUtil/GetServerInfo/v1/",
        key(&table::STEAM_API_KEY, "STEAM_API_KEY", Query("key"), true, "https://steamcommunity.com/dev/apikey")),
    row(Service::MealDb, "TheMealDB", "mealdb", 200, DAY, "lookup.php?i=52772", None),
    row(Service::MusicBrainz, "MusicBrainz", "musicbrainz", 1_000, DAY, "ws/2/artist?query=bach&limit=1&fmt=json", None),
    row(Service::Spotify, "Spotify", "spotify", 100, HOUR, "", None),
    row(Service::SpotifyAccounts, "the sign-in of Spotify", "spotify_accounts", 0, 0, "", None),
    row(Service::Frankfurter, "Frankfurter", "frankfurter", 100, HOUR, "v1/latest?base=EUR&symbols=USD", None),
    row(Service::Dictionary, "Free Dictionary", "dictionary", 500, 30 * DAY, "api/v2/entries/en/tree", None),
    row(Service::Translation, "MyMemory", "translation", 500, 30 * DAY, "get?q=tree&langpair=en|de", None),
];

/// How a person gets a client id of Spotify.
pub(crate) fn spotify_client_advice(settings: &Settings) -> String {
    format!(
        "create an application at https://developer.spotify.com/dashboard with the redirect URI {}, and set {} in config.toml",
        settings.text(&table::SPOTIFY_REDIRECT),
        table::SPOTIFY_CLIENT.key
    )
}

/// The row of a service that tools ask through this layer.
pub(crate) fn find(service: Service) -> Option<&'static ServiceRow> {
    ROWS.iter().find(|row| row.service == service)
}
