//! Rules of the service layer beyond the eight cases: consent, keys, pauses, sign-in, files of the person.

use super::super::server::{Server, answer, page, redirect};
use super::{KEY, at, never, sign_in};
use crate::support::Fixture;
use async_trait::async_trait;
use marvin_gate::Decision;
use marvin_tools::service::check::ServiceState;
use marvin_tools::{ApprovalAnswer, Approver, Question};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const JSON: &str = "application/json";
const WEATHER: &str =
    r#"{"current": {"time": "2026-11-17T15:00", "weather_code": 3}, "daily": {"time": []}}"#;

/// A person who answers yes or no and remembers the questions.
pub(super) struct Person {
    says_yes: bool,
    pub(super) questions: Mutex<Vec<String>>,
}

#[async_trait]
impl Approver for Person {
    async fn ask(&self, question: Question) -> ApprovalAnswer {
        self.questions
            .lock()
            .unwrap()
            .push(format!("{} [{}]", question.verdict.reason, question.verdict.rule));
        if self.says_yes { ApprovalAnswer::Yes } else { ApprovalAnswer::No("the person said no".into()) }
    }
}

pub(super) fn attend(fixture: &mut Fixture, says_yes: bool) -> Arc<Person> {
    let person = Arc::new(Person { says_yes, questions: Mutex::default() });
    fixture.context.attended = true;
    fixture.context.approver = Some(person.clone());
    person
}

fn point() -> Value {
    json!({"latitude": 52.5, "longitude": 13.4})
}

#[tokio::test]
async fn a_person_is_asked_once_per_service() {
    let server = Server::start(|_, _| page("200 OK", JSON, WEATHER)).await;
    let mut fixture =
        at(&server.url(""), &[("MARVIN_TOOLS_PRIVATE", "ask"), ("MARVIN_SERVICES_CACHE", "false")]);
    let refused = fixture.call("weather_forecast", point()).await;
    assert_eq!((refused.verdict.decision, refused.verdict.rule.as_str()), (Decision::Deny, "privacy.ask"));
    assert!(refused.verdict.reason.contains("this tells Open-Meteo where you are"), "{:?}", refused.verdict);
    let person = attend(&mut fixture, false);
    fixture.bad("weather_forecast", point()).await;
    fixture.bad("weather_forecast", point()).await;
    assert_eq!(person.questions.lock().unwrap().len(), 2, "a no is not kept");
    assert_eq!(server.hits(), 0);
    let person = attend(&mut fixture, true);
    fixture.good("weather_forecast", point()).await;
    fixture.good("weather_forecast", point()).await;
    assert_eq!(person.questions.lock().unwrap().len(), 1, "a yes is kept");
    assert_eq!(server.hits(), 2);
    // Of two services only the one without an answer is asked about.
    let route = json!({"origin_lat": 1.0, "origin_lng": 1.0, "dest_lat": 2.0, "dest_lng": 2.0});
    fixture.call("estimate_traffic_adjusted_time", route).await;
    let asked = person.questions.lock().unwrap().last().unwrap().clone();
    assert!(asked.contains("this tells OSRM where you are"), "{asked}");
    let agreed = fixture.call("weather_forecast", point()).await.verdict;
    assert_eq!((agreed.decision, agreed.rule.as_str()), (Decision::Allow, "privacy.agreed"));
    let file = fixture.context.layout.service_consents();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!file.starts_with(&fixture.root));
}

#[tokio::test]
async fn a_setting_can_forbid_it() {
    let server = Server::start(|_, _| never()).await;
    let mut fixture = at(&server.url(""), &[("MARVIN_TOOLS_PRIVATE", "deny")]);
    let person = attend(&mut fixture, true);
    let denied = fixture.call("get_my_location", json!({})).await;
    assert_eq!(denied.verdict.rule, "privacy.denied");
    assert!(person.questions.lock().unwrap().is_empty() && server.hits() == 0);
}

#[tokio::test]
async fn a_check_speaks_to_the_person() {
    let server = Server::start(|_, _| never()).await;
    let fixture = at(&server.url(""), &[("MARVIN_WEB_ORG_ALLOWLIST", "example.com")]);
    let all = marvin_tools::service::check::check(&fixture.context, true).await;
    let reasons: Vec<&str> = all.iter().map(|status| status.reason.as_str()).collect();
    assert_eq!(server.hits(), 0, "{reasons:#?}");
    assert!(reasons.iter().all(|reason| !reason.contains("the person")), "{reasons:#?}");
    let refused = all.iter().find(|status| status.service == "Open-Meteo").unwrap();
    assert!(
        refused.reason.ends_with("; name its host in web.org_allowlist of your config.toml"),
        "{}",
        refused.reason
    );
}

#[tokio::test]
async fn a_check_names_what_is_missing() {
    let server = Server::start(|_, _| never()).await;
    let variables = [("MARVIN_OPEN_METEO_URL", "https://weather.invalid"), ("MARVIN_SERVICES_RETRIES", "0")];
    let fixture = at(&server.url(""), &variables);
    let all = marvin_tools::service::check::check(&fixture.context, true).await;
    let status = |name: &str| all.iter().find(|status| status.service == name).unwrap();
    let (weather, spotify) = (status("Open-Meteo"), status("Spotify"));
    assert_eq!(weather.state, ServiceState::Fails);
    assert!(weather.reason.contains("weather.invalid cannot be resolved"), "{}", weather.reason);
    assert!(
        weather.reason.ends_with("; check the network and services.open_meteo.url"),
        "{}",
        weather.reason
    );
    assert_eq!(spotify.state, ServiceState::Unusable);
    assert!(spotify.reason.ends_with("set services.spotify.client_id in config.toml"), "{}", spotify.reason);
}

#[tokio::test]
async fn a_second_service_gets_nothing_personal_without_its_own_yes() {
    let nominatim = Server::start(|_, _| page("200 OK", JSON, "[]")).await;
    let google = Server::start(|_, _| page("500 Oops", JSON, "{}")).await;
    let (first, second) = (google.url(""), nominatim.url(""));
    let variables = [
        ("MARVIN_TOOLS_PRIVATE", "ask"),
        ("MARVIN_PLACES_KEY", KEY),
        ("MARVIN_PLACES_URL", first.as_str()),
        ("MARVIN_NOMINATIM_URL", second.as_str()),
    ];
    let mut fixture = at(&google.url(""), &variables);
    attend(&mut fixture, true);
    let around = json!({"text_query": "ramen", "latitude": 52.5, "longitude": 13.4});
    let failed = fixture.bad("places_text_search", around).await;
    assert!(failed.contains("Google Places") && failed.contains("before they agree"), "{failed}");
    assert_eq!(nominatim.hits(), 0);
    // Without a point there is nothing personal in it.
    let text = fixture.good("places_text_search", json!({"text_query": "ramen"})).await;
    assert!(text.contains("Nominatim found nothing"), "{text}");
    assert_eq!(nominatim.hits(), 1);
}

#[tokio::test]
async fn a_short_pause_is_waited_for() {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    let server = Server::start(move |_, _| match seen.fetch_add(1, Ordering::SeqCst) {
        0 => answer("429 Too Many Requests", &[("Retry-After", "1")], "{}"),
        _ => page("200 OK", JSON, WEATHER),
    })
    .await;
    let fixture = at(&server.url(""), &[]);
    let text = fixture.good("weather_forecast", point()).await;
    assert!(text.contains("overcast") && count.load(Ordering::SeqCst) == 2, "{text}");
}

#[tokio::test]
async fn a_key_goes_to_its_service_alone_and_comes_back_to_no_text() {
    let other = Server::on("127.0.0.2:0", |_, _| never()).await;
    let target = other.url("/stolen");
    let server = Server::start(move |path, _| match path {
        path if path.contains("i=tt1") => redirect("302 Found", &target),
        path => page("200 OK", JSON, json!({"Title": path, "Response": "True"}).to_string()),
    })
    .await;
    let fixture = at(&server.url(""), &[("MARVIN_OMDB_KEY", KEY)]);
    let text = fixture.good("get_movie_details", json!({"title": "x"})).await;
    assert!(server.heads()[0].contains(&format!("apikey={KEY}")), "{:?}", server.heads());
    assert!(server.heads()[0].to_lowercase().contains("user-agent: marvin/"), "{:?}", server.heads());
    assert!(text.contains("apikey=****") && !text.contains(KEY), "{text}");
    let refused = fixture.bad("get_movie_details", json!({"imdb_id": "tt1"})).await;
    assert!(!refused.contains(KEY) && other.hits() == 0, "{refused}");
    let cache = fixture.context.layout.services_cache();
    assert!(cache.starts_with(&fixture.home) && !cache.starts_with(&fixture.root));
    for entry in std::fs::read_dir(cache.join("omdb/replies")).unwrap() {
        let kept = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!kept.contains(KEY), "{kept}");
    }
}

#[tokio::test]
async fn a_redirect_that_repeats_the_query_carries_the_key_once() {
    let server = Server::start(|path, _| match path.split_once('?') {
        Some((path, query)) if path != "/new" => redirect("302 Found", &format!("/new?{query}")),
        _ => page("200 OK", JSON, r#"{"Title": "x", "Response": "True"}"#),
    })
    .await;
    let fixture = at(&server.url(""), &[("MARVIN_OMDB_KEY", KEY)]);
    fixture.good("get_movie_details", json!({"title": "a b"})).await;
    let heads = server.heads();
    let last = heads.last().unwrap();
    assert!(last.starts_with("GET /new?t=a+b&"), "{last}");
    assert_eq!(last.matches("apikey=").count(), 1, "{last}");
    assert!(last.contains(&format!("apikey={KEY}")), "{last}");
}

#[tokio::test]
async fn keys_lie_in_files_too_and_wrong_ones_are_named() {
    let server = Server::start(|path, _| match path.contains(&format!("apikey={KEY}")) {
        true => page("200 OK", JSON, r#"{"Title": "x", "Response": "True"}"#),
        false => page("401 Unauthorized", JSON, r#"{"Response": "False", "Error": "Invalid API key!"}"#),
    })
    .await;
    let fixture = at(&server.url(""), &[]);
    std::fs::create_dir_all(fixture.home.join(".ssh")).unwrap();
    std::fs::write(fixture.home.join(".ssh/OMDB_API_KEY"), format!("{KEY}\n")).unwrap();
    fixture.good("get_movie_details", json!({"title": "x"})).await;
    let wrong = at(&server.url(""), &[("MARVIN_OMDB_KEY", "another")]);
    let text = wrong.bad("get_movie_details", json!({"title": "x"})).await;
    assert!(text.contains("refuses the key (HTTP 401)") && text.contains("services.omdb.key"), "{text}");
}

#[tokio::test]
async fn a_refusal_speaks_of_a_key_only_where_there_is_one() {
    let server = Server::start(|_, _| page("403 Forbidden", JSON, "{}")).await;
    let fixture = at(&server.url(""), &[]);
    let text = fixture.bad("wiki_search", json!({"query": "bee"})).await;
    assert!(text.contains("cannot ask Wikipedia: it refuses the request (HTTP 403)"), "{text}");
    let text = fixture.bad("search_papers", json!({"query": "bee"})).await;
    assert!(text.contains("it refuses a request without a key (HTTP 403)"), "{text}");
    assert!(text.contains("set services.semantic_scholar.key"), "{text}");
}

#[tokio::test]
async fn an_answer_of_another_form_is_described_without_types_of_marvin() {
    let server = Server::start(|_, _| page("200 OK", JSON, "[]")).await;
    let fixture = at(&server.url(""), &[]);
    let text = fixture.bad("wiki_search", json!({"query": "bee"})).await;
    assert!(text.contains("it has another form than documented") && !text.contains("struct"), "{text}");
}

#[tokio::test]
async fn news_are_marked_with_the_service_that_they_come_from() {
    let newsapi = r#"{"articles": [{"title": "Bees return", "url": "https://n.example/1"}]}"#;
    let server = Server::start(move |path, _| match path.starts_with("/v2/everything") {
        true => page("200 OK", JSON, newsapi),
        false => page("404 Not Found", JSON, "{}"),
    })
    .await;
    let fixture = at(&server.url(""), &[("MARVIN_NEWSAPI_KEY", KEY)]);
    let text = fixture.good("search_news", json!({"query": "bees"})).await;
    assert!(text.starts_with("(from NewsAPI:") && text.contains("Bees return"), "{text}");
}

#[tokio::test]
async fn papers_of_no_year_are_not_asked_for() {
    let server = Server::start(|_, _| never()).await;
    let fixture = at(&server.url(""), &[]);
    let years = json!({"query": "bees", "year_min": 2024, "year_max": 2020});
    let text = fixture.bad("search_papers", years).await;
    assert!(text.contains("`year_min` (2024) is after `year_max` (2020)"), "{text}");
    assert_eq!(server.hits(), 0);
}

#[tokio::test]
async fn base_urls_that_cannot_be_used_are_named() {
    for base in ["ftp://example.com", "nonsense", "https://example.com/?x=1"] {
        let text = at(base, &[]).bad("wiki_search", json!({"query": "bee"})).await;
        assert!(
            text.contains("its base URL cannot be used") && text.contains("services.wikipedia.url"),
            "{text}"
        );
    }
    // A key is not sent in the clear to another machine.
    let text = at("http://omdb.example", &[("MARVIN_OMDB_KEY", KEY)])
        .bad("search_movies", json!({"query": "x"}))
        .await;
    assert!(text.contains("only over https"), "{text}");
}

#[tokio::test]
async fn saved_places_are_merged_and_foreign_fields_stay() {
    let fixture = at("http://127.0.0.1:9", &[]);
    let file = fixture.context.layout.saved_places("default");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, r#"[{"label": "gym", "name": "Old gym", "colour": "red"}]"#).unwrap();
    fixture
        .good("save_place", json!({"label": " Home ", "address": "1 Road", "lat": 52.5, "lng": 13.4}))
        .await;
    fixture.good("save_place", json!({"label": "home", "phone": "123"})).await;
    fixture.good("save_place", json!({"label": "GYM", "notes": "closed on Monday"})).await;
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(kept[0]["colour"], "red");
    assert_eq!((&kept[0]["name"], &kept[0]["notes"]), (&json!("Old gym"), &json!("closed on Monday")));
    assert_eq!(
        (&kept[1]["label"], &kept[1]["address"], &kept[1]["phone"]),
        (&json!("home"), &json!("1 Road"), &json!("123"))
    );
    assert!(
        kept[1].get("website").is_none() && kept[1]["updated_at"].as_str().unwrap().ends_with('Z'),
        "{kept:#}"
    );
    let text = fixture.good("list_places", json!({})).await;
    assert!(text.contains("- home: 1 Road: (52.5, 13.4): 123"), "{text}");
    let wrong = fixture.bad("remove_place", json!({"label": "hme"})).await;
    assert!(wrong.contains("Did you mean `home`?"), "{wrong}");
    fixture.good("remove_place", json!({"label": "Gym"})).await;
    fixture.bad("save_place", json!({"label": "x", "lat": 100.0})).await;
    std::fs::write(&file, "{ damaged").unwrap();
    let text = fixture.bad("save_place", json!({"label": "x"})).await;
    assert!(text.contains("cannot read") && text.contains("hint: "), "{text}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ damaged");
}

#[tokio::test(flavor = "multi_thread")]
async fn bookmarks_of_two_writers_are_all_kept() {
    let fixture = Arc::new(at("http://127.0.0.1:9", &[]));
    let save = |number: usize| {
        let fixture = fixture.clone();
        async move {
            let url = format!("https://example.com/{number}");
            fixture
                .good(
                    "bookmark_save",
                    json!({"url": url, "title": format!("Page {number}"), "tags": "Rust, web"}),
                )
                .await
        }
    };
    futures_util::future::join_all((0..20).map(save)).await;
    let text = fixture.good("bookmark_list", json!({"tag": "rust", "limit": 5})).await;
    assert!(text.contains("15 further ones"), "{text}");
    fixture
        .good(
            "bookmark_save",
            json!({"url": "https://example.com/7", "notes": "lovely bees", "tags": "insects"}),
        )
        .await;
    let found = fixture.call("bookmark_search", json!({"query": "BEES page"})).await.result.data;
    assert_eq!(
        (&found["total"], &found["bookmarks"][0]["tags"]),
        (&json!(1), &json!(["rust", "web", "insects"]))
    );
    for wrong in [json!({"url": "javascript:1"}), json!({"url": "example.com"}), json!({"url": ""})] {
        fixture.bad("bookmark_save", wrong).await;
    }
}

#[tokio::test]
async fn a_sign_in_at_spotify_keeps_its_tokens_private_and_renews_them() {
    let server = Server::with_bodies("127.0.0.1:0", |path, head, body| {
        let body = String::from_utf8_lossy(body);
        match path {
            "/api/token"
                if body.contains("grant_type=authorization_code&code=AQcode")
                    && body.contains("code_verifier=") =>
            {
                page(
                    "200 OK",
                    JSON,
                    r#"{"access_token": "at-first", "refresh_token": "rt-first", "expires_in": 1}"#,
                )
            }
            "/api/token" if body.contains("grant_type=refresh_token&refresh_token=rt-first") => {
                page("200 OK", JSON, r#"{"access_token": "at-second", "expires_in": 3600}"#)
            }
            path if path.starts_with("/v1/search") && head.contains("Bearer at-second") => {
                page("200 OK", JSON, r#"{"tracks": {"items": []}}"#)
            }
            _ => page("400 Bad Request", JSON, r#"{"error": "invalid_grant"}"#),
        }
    })
    .await;
    let fixture = at(&server.url(""), &[("MARVIN_SPOTIFY_CLIENT_ID", "client-1")]);
    let text = fixture.bad("spotify_search", json!({"query": "x"})).await;
    assert!(text.contains("not signed in") && text.contains("spotify_auth"), "{text}");
    let begun = fixture.call("spotify_auth", json!({})).await.result.data;
    let url = begun["url"].as_str().unwrap();
    assert!(
        url.contains("/authorize?client_id=client-1") && url.contains("code_challenge_method=S256"),
        "{url}"
    );
    let challenge = url.split("code_challenge=").nth(1).unwrap();
    assert_eq!(
        challenge.split('&').next().unwrap().len(),
        43,
        "the address must reach the person whole: {url}"
    );
    let state = url.split("state=").nth(1).unwrap().split('&').next().unwrap();
    let forged = "http://127.0.0.1:8888/callback?code=AQcode&state=forged";
    fixture.bad("spotify_auth", json!({"auth_code": forged})).await;
    let back = format!("http://127.0.0.1:8888/callback?code=AQcode&state={state}");
    let text = fixture.good("spotify_auth", json!({"auth_code": back})).await;
    assert!(!text.contains("at-first"), "{text}");
    let file = fixture.context.layout.tokens("default");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("verifier"));
    fixture.good("spotify_search", json!({"query": "x"})).await;
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.contains("at-second") && kept.contains("rt-first"), "{kept}");
    let other = at(&server.url(""), &[("MARVIN_SPOTIFY_CLIENT_ID", "client-1")]);
    sign_in(&other);
    let refused = other.bad("spotify_search", json!({"query": "x"})).await;
    assert!(refused.contains("HTTP 400") && !refused.contains("at-123456"), "{refused}");
}

#[tokio::test]
async fn local_tools_answer() {
    let fixture = at("http://127.0.0.1:9", &[]);
    let text = fixture.good("system_info", json!({})).await;
    assert!(text.contains("processors: ") && text.contains("local time: "), "{text}");
    let text = fixture.good("setup_google_auth", json!({})).await;
    assert!(text.contains("services.places.key"), "{text}");
    let text = fixture.good("convert_units", json!({"value": 5, "from_unit": "EUR", "to_unit": "eur"})).await;
    assert!(text.contains("5.00 EUR"), "{text}");
    fixture.bad("convert_units", json!({"value": 5, "from_unit": "EUR", "to_unit": "km"})).await;
}
