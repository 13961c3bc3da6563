//! The cases: calls with the documented answers of the services. `@TEXT@` stands for free text of the service.

/// A call of a tool with the answers that its service gives.
pub(super) struct Case {
    pub(super) tool: &'static str,
    pub(super) arguments: &'static str,
    /// Beginnings of paths with their bodies.
    pub(super) replies: &'static [(&'static str, &'static str)],
    /// Part of the text that a good call gives.
    pub(super) expects: &'static str,
    /// Key and other settings.
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// Part of the error without these settings; none where the tool works without.
    pub(super) without_key: Option<&'static str>,
    /// Whether the person is signed in at Spotify.
    pub(super) signed_in: bool,
    pub(super) is_xml: bool,
    /// Whether the answer holds text of the service, which is then marked.
    pub(super) is_marked: bool,
    pub(super) is_cached: bool,
    /// Whether the free text is shown.
    pub(super) has_text: bool,
    /// Whether a second service is asked where the first fails.
    pub(super) has_fallback: bool,
    /// Whether the first request is a POST, which is not repeated.
    pub(super) is_post: bool,
}

impl Case {
    pub(super) fn content_type(&self) -> &'static str {
        if self.is_xml { "application/xml" } else { "application/json" }
    }
}

const PLAIN: Case = Case {
    tool: "",
    arguments: "{}",
    replies: &[],
    expects: "",
    variables: &[],
    without_key: None,
    signed_in: false,
    is_xml: false,
    is_marked: true,
    is_cached: true,
    has_text: true,
    has_fallback: false,
    is_post: false,
};

#[rustfmt::skip]
pub(super) static CASES: [Case; 38] = [
    Case {
        tool: "get_my_location",
        arguments: r#"{}"#,
        replies: &[
            ("/json/?fields=", r##"{"status": "success", "country": "Germany", "regionName": "Berlin", "city": "@TEXT@", "lat": 52.5, "lon": 13.4, "timezone": "Europe/Berlin"}"##),
        ],
        expects: "52.5, 13.4",
        ..PLAIN
    },
    Case {
        tool: "places_text_search",
        arguments: r#"{"text_query": "ramen", "latitude": 52.5, "longitude": 13.4}"#,
        replies: &[
            ("/search?q=ramen&format=jsonv2&limit=5&viewbox=", r##"[{"place_id": 1, "lat": "52.51", "lon": "13.41", "name": "@TEXT@", "display_name": "Cocolo, Berlin", "category": "amenity", "type": "restaurant"}]"##),
        ],
        expects: "52.51, 13.41",
        ..PLAIN
    },
    Case {
        tool: "places_text_search",
        arguments: r#"{"text_query": "ramen"}"#,
        replies: &[
            ("/v1/places:searchText?fields=", r##"{"places": [{"displayName": {"text": "@TEXT@", "languageCode": "en"}, "formattedAddress": "1 Road", "location": {"latitude": 1.5, "longitude": 2.5}, "rating": 4.5, "userRatingCount": 12, "currentOpeningHours": {"openNow": true}}]}"##),
        ],
        expects: "open now",
        variables: &[("MARVIN_PLACES_KEY", super::KEY)],
        is_cached: false,
        has_fallback: true,
        is_post: true,
        ..PLAIN
    },
    Case {
        tool: "places_nearby_search",
        arguments: r#"{"latitude": 52.5, "longitude": 13.4, "included_types": ["cafe", "gas_station"]}"#,
        replies: &[
            ("/api/interpreter?data=", r##"{"version": 0.6, "elements": [{"type": "way", "id": 1, "center": {"lat": 52.5001, "lon": 13.4}, "tags": {"amenity": "cafe", "name": "@TEXT@", "addr:street": "Road", "addr:housenumber": "7"}}, {"type": "node", "id": 2, "lat": 1.0, "lon": 2.0, "tags": {"amenity": "cafe"}}]}"##),
        ],
        expects: "address: Road 7",
        ..PLAIN
    },
    Case {
        tool: "estimate_travel_time",
        arguments: r#"{"origin_lat": 52.52, "origin_lng": 13.405, "dest_lat": 52.4, "dest_lng": 13.06}"#,
        replies: &[
            ("/route/v1/driving/13.405,52.52;13.06,52.4?overview=false&steps=false", r##"{"code": "Ok", "routes": [{"distance": 35000.5, "duration": 2400.0, "legs": [{"summary": "", "steps": [{"distance": 200.0, "duration": 30, "name": "@TEXT@", "maneuver": {"type": "turn", "modifier": "left"}}, {"distance": 0, "duration": 0, "name": "", "maneuver": {"type": "arrive"}}]}]}], "waypoints": []}"##),
        ],
        expects: "40 min (driving), 35.0 km",
        has_text: false,
        ..PLAIN
    },
    Case {
        tool: "estimate_traffic_adjusted_time",
        arguments: r#"{"origin_lat": 52.52, "origin_lng": 13.405, "dest_lat": 52.4, "dest_lng": 13.06}"#,
        replies: &[
            ("/route/v1/driving/13.405,52.52;13.06,52.4", r##"{"code": "Ok", "routes": [{"distance": 35000.5, "duration": 2400.0, "legs": [{"summary": "", "steps": [{"distance": 200.0, "duration": 30, "name": "@TEXT@", "maneuver": {"type": "turn", "modifier": "left"}}, {"distance": 0, "duration": 0, "name": "", "maneuver": {"type": "arrive"}}]}]}], "waypoints": []}"##),
            ("/v1/forecast?latitude=52.52&longitude=13.405", r##"{"latitude": 52.5, "utc_offset_seconds": 3600, "current": {"time": "2026-11-17T15:00", "temperature_2m": 7.5, "weather_code": 61, "wind_speed_10m": 12.0, "visibility": 20000}, "daily": {"time": ["2026-11-17", "@TEXT@"], "weather_code": [3, 73], "temperature_2m_max": [9.1, null], "temperature_2m_min": [2.0, 1.0], "precipitation_sum": [0.2, 0.0], "sunrise": ["2026-11-17T07:30", ""], "sunset": ["2026-11-17T16:05", ""]}}"##),
        ],
        expects: "light rain x 1.2",
        has_text: false,
        ..PLAIN
    },
    Case {
        tool: "get_directions",
        arguments: r#"{"origin_lat": 52.52, "origin_lng": 13.405, "dest_lat": 52.4, "dest_lng": 13.06, "mode": "foot", "waypoints": "52.45,13.3"}"#,
        replies: &[
            ("/route/v1/foot/13.405,52.52;13.3,52.45;13.06,52.4?overview=false&steps=true", r##"{"code": "Ok", "routes": [{"distance": 35000.5, "duration": 2400.0, "legs": [{"summary": "", "steps": [{"distance": 200.0, "duration": 30, "name": "@TEXT@", "maneuver": {"type": "turn", "modifier": "left"}}, {"distance": 0, "duration": 0, "name": "", "maneuver": {"type": "arrive"}}]}]}], "waypoints": []}"##),
        ],
        expects: "2. arrive",
        ..PLAIN
    },
    Case {
        tool: "weather_forecast",
        arguments: r#"{"latitude": 52.52, "longitude": 13.405, "days": 2}"#,
        replies: &[
            ("/v1/forecast?latitude=52.52&longitude=13.405&current=", r##"{"latitude": 52.5, "utc_offset_seconds": 3600, "current": {"time": "2026-11-17T15:00", "temperature_2m": 7.5, "weather_code": 61, "wind_speed_10m": 12.0, "visibility": 20000}, "daily": {"time": ["2026-11-17", "@TEXT@"], "weather_code": [3, 73], "temperature_2m_max": [9.1, null], "temperature_2m_min": [2.0, 1.0], "precipitation_sum": [0.2, 0.0], "sunrise": ["2026-11-17T07:30", ""], "sunset": ["2026-11-17T16:05", ""]}}"##),
        ],
        expects: "2 to 9.1 °C",
        ..PLAIN
    },
    Case {
        tool: "search_news",
        arguments: r#"{"query": "bees"}"#,
        replies: &[
            ("/rss/search?q=bees+when%3A2d", r##"<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><item><title>@TEXT@ - The Paper</title><link>https://n.example/1</link></item></channel></rss>"##),
        ],
        expects: "by: The Paper",
        is_xml: true,
        has_fallback: true,
        ..PLAIN
    },
    Case {
        tool: "search_papers",
        arguments: r#"{"query": "bees", "year_min": 2020, "open_access_only": true}"#,
        replies: &[
            ("/graph/v1/paper/search?query=bees&limit=100&fields=", r##"{"total": 2, "offset": 0, "data": [{"paperId": "a", "title": "@TEXT@", "abstract": null, "year": 2021, "authors": [{"authorId": "1", "name": "A. Author"}], "citationCount": 3, "url": "https://s.example/a", "openAccessPdf": {"url": "https://s.example/a.pdf"}, "externalIds": {"DOI": "10.1/x"}}, {"title": "Closed", "openAccessPdf": null}]}"##),
        ],
        expects: "doi: 10.1/x",
        variables: &[("MARVIN_SEMANTIC_SCHOLAR_KEY", super::KEY)],
        ..PLAIN
    },
    Case {
        tool: "search_arxiv",
        arguments: r#"{"query": "bee swarms"}"#,
        replies: &[
            ("/api/query?search_query=all%3Abee+AND+all%3Aswarms&max_results=5", r##"<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"><title>q</title><id>q</id><updated>2026-01-01T00:00:00Z</updated><entry><id>http://arxiv.org/abs/2401.00001v1</id><title>@TEXT@</title><summary>About bees.</summary><published>2024-01-01T00:00:00Z</published><updated>2024-01-01T00:00:00Z</updated><author><name>B. Keeper</name></author><link href="http://arxiv.org/abs/2401.00001v1" rel="alternate"/></entry></feed>"##),
        ],
        expects: "authors: B. Keeper",
        is_xml: true,
        ..PLAIN
    },
    Case {
        tool: "wiki_search",
        arguments: r#"{"query": "bee"}"#,
        replies: &[
            ("/w/api.php?action=query&list=search&srsearch=bee", r##"{"batchcomplete": "", "query": {"searchinfo": {"totalhits": 1}, "search": [{"ns": 0, "title": "@TEXT@", "pageid": 1, "snippet": "A <span>bee</span> flies"}]}}"##),
        ],
        expects: "A bee flies",
        ..PLAIN
    },
    Case {
        tool: "wiki_summary",
        arguments: r#"{"title": "Honey bee"}"#,
        replies: &[
            ("/api/rest_v1/page/summary/Honey_bee", r##"{"type": "standard", "title": "Honey bee", "description": "Insect", "extract": "@TEXT@"}"##),
        ],
        expects: "Insect",
        ..PLAIN
    },
    Case {
        tool: "wiki_full",
        arguments: r#"{"title": "Bee"}"#,
        replies: &[
            ("/w/api.php?action=query&prop=extracts&explaintext=1&redirects=1&titles=Bee", r##"{"query": {"pages": {"42": {"pageid": 42, "title": "Bee", "extract": "@TEXT@\nBees fly.\nThey make honey."}}}}"##),
        ],
        expects: "file: ",
        ..PLAIN
    },
    Case {
        tool: "wiki_grep",
        arguments: r#"{"title": "Bee", "pattern": "HONEY|plain|previous"}"#,
        replies: &[
            ("/w/api.php?action=query&prop=extracts", r##"{"query": {"pages": {"42": {"pageid": 42, "title": "Bee", "extract": "@TEXT@\nBees fly.\nThey make honey."}}}}"##),
        ],
        expects: "3: They make honey.",
        ..PLAIN
    },
    Case {
        tool: "stack_search",
        arguments: r#"{"query": "borrow", "tagged": "rust,lifetime", "sort": "votes"}"#,
        replies: &[
            ("/2.3/search/advanced?order=desc&sort=votes&q=borrow&site=stackoverflow&tagged=rust%3Blifetime&pagesize=5", r##"{"items": [{"tags": ["rust"], "is_answered": true, "answer_count": 2, "score": 7, "question_id": 99, "title": "@TEXT@ &amp; more", "link": "https://s.example/q/99"}], "has_more": false, "quota_remaining": 299}"##),
        ],
        expects: "& more",
        ..PLAIN
    },
    Case {
        tool: "stack_answers",
        arguments: r#"{"question_id": 99}"#,
        replies: &[
            ("/2.3/questions/99/answers?order=desc&sort=votes&site=stackoverflow&filter=withbody", r##"{"items": [{"answer_id": 5, "score": 3, "is_accepted": false, "body": "<p>First</p>", "owner": {"display_name": "x"}}, {"answer_id": 6, "score": 2, "is_accepted": true, "body": "<p>@TEXT@</p><pre><code>let a = 1;</code></pre>", "owner": {"display_name": "O&#39;Neil"}}]}"##),
        ],
        expects: "answer 6 by O'Neil [2 votes, accepted]",
        ..PLAIN
    },
    Case {
        tool: "search_movies",
        arguments: r#"{"query": "blade", "type": "movie"}"#,
        replies: &[
            ("/?s=blade&type=movie", r##"{"Search": [{"Title": "@TEXT@", "Year": "1982", "imdbID": "tt0083658", "Type": "movie", "Poster": "N/A"}], "totalResults": "1", "Response": "True"}"##),
        ],
        expects: "tt0083658",
        variables: &[("MARVIN_OMDB_KEY", super::KEY)],
        without_key: Some("no key is set"),
        ..PLAIN
    },
    Case {
        tool: "get_movie_details",
        arguments: r#"{"imdb_id": "tt0083658"}"#,
        replies: &[
            ("/?i=tt0083658&plot=full", r##"{"Title": "@TEXT@", "Year": "1982", "Runtime": "117 min", "Director": "Ridley Scott", "Awards": "N/A", "Ratings": [{"Source": "Metacritic", "Value": "84/100"}], "imdbID": "tt0083658", "Type": "movie", "Response": "True"}"##),
        ],
        expects: "ratings: Metacritic 84/100",
        variables: &[("MARVIN_OMDB_KEY", super::KEY)],
        without_key: Some("no key is set"),
        ..PLAIN
    },
    Case {
        tool: "search_games",
        arguments: r#"{"query": "hollow"}"#,
        replies: &[
            ("/api/games?search=hollow&page_size=5", r##"{"count": 1, "results": [{"id": 9767, "slug": "h", "name": "@TEXT@", "released": "2017-02-23", "rating": 4.4, "metacritic": 88, "playtime": 12, "platforms": [{"platform": {"id": 4, "name": "PC"}}], "genres": [{"name": "Platformer"}]}]}"##),
        ],
        expects: "platforms: PC",
        variables: &[("MARVIN_RAWG_KEY", super::KEY)],
        without_key: Some("no key is set"),
        ..PLAIN
    },
    Case {
        tool: "get_game_details",
        arguments: r#"{"game_id": 9767}"#,
        replies: &[
            ("/api/games/9767", r##"{"id": 9767, "slug": "h", "name": "@TEXT@", "released": "2017-02-23", "rating": 4.4, "metacritic": 88, "playtime": 12, "platforms": [{"platform": {"id": 4, "name": "PC"}}], "genres": [{"name": "Platformer"}]}"##),
        ],
        expects: "metacritic: 88",
        variables: &[("MARVIN_RAWG_KEY", super::KEY)],
        without_key: Some("no key is set"),
        ..PLAIN
    },
    Case {
        tool: "steam_search",
        arguments: r#"{"query": "portal"}"#,
        replies: &[
            ("/api/storesearch/?term=portal", r##"{"total": 1, "items": [{"type": "app", "name": "@TEXT@", "id": 620, "price": {"currency": "USD", "initial": 999, "final": 199}, "metascore": "95", "platforms": {"windows": true, "linux": true}}]}"##),
        ],
        expects: "price: 1.99 USD",
        ..PLAIN
    },
    Case {
        tool: "steam_app_details",
        arguments: r#"{"app_id": 620}"#,
        replies: &[
            ("/api/appdetails?appids=620", r##"{"620": {"success": true, "data": {"type": "game", "name": "@TEXT@", "is_free": false, "short_description": "The <b>sequel</b>.", "developers": ["Valve"], "price_overview": {"final_formatted": "$1.99", "discount_percent": 80}, "release_date": {"date": "18 Apr, 2011"}, "metacritic": {"score": 95}, "genres": [{"id": "1", "description": "Action"}]}}}"##),
        ],
        expects: "discount: 80 %",
        ..PLAIN
    },
    Case {
        tool: "steam_featured",
        arguments: r#"{}"#,
        replies: &[
            ("/api/featured?", r##"{"large_capsules": [{"id": 1, "name": "@TEXT@", "final_price": 1299, "currency": "USD", "discount_percent": 35}], "featured_win": [{"id": 1, "name": "again"}, {"id": 2, "name": "Two"}]}"##),
        ],
        expects: "price: 12.99 USD",
        ..PLAIN
    },
    Case {
        tool: "steam_player_stats",
        arguments: r#"{"app_id": 620}"#,
        replies: &[
            ("/ISteamUserStats/GetNumberOfCurrentPlayers/v1/?appid=620", r##"{"response": {"player_count": 4321, "result": 1, "note": "@TEXT@"}}"##),
        ],
        expects: "4321 people play 620",
        variables: &[("MARVIN_STEAM_API_KEY", super::KEY)],
        without_key: Some("no key is set"),
        has_text: false,
        ..PLAIN
    },
    Case {
        tool: "steam_user_games",
        arguments: r#"{"steam_id": "76561197960435530"}"#,
        replies: &[
            ("/IPlayerService/GetOwnedGames/v1/?steamid=76561197960435530", r##"{"response": {"game_count": 2, "games": [{"appid": 10, "name": "Small", "playtime_forever": 5}, {"appid": 620, "name": "@TEXT@", "playtime_forever": 630, "playtime_2weeks": 60}]}}"##),
        ],
        expects: "10.5 h",
        variables: &[("MARVIN_STEAM_API_KEY", super::KEY)],
        without_key: Some("no key is set"),
        ..PLAIN
    },
    Case {
        tool: "steam_user_summary",
        arguments: r#"{"steam_id": "76561197960435530"}"#,
        replies: &[
            ("/ISteamUser/GetPlayerSummaries/v2/?steamids=76561197960435530", r##"{"response": {"players": [{"steamid": "76561197960435530", "personaname": "@TEXT@", "profileurl": "https://s.example/id/r", "personastate": 1, "timecreated": 1063407589}]}}"##),
        ],
        expects: "since: 2003-09-12",
        variables: &[("MARVIN_STEAM_API_KEY", super::KEY)],
        without_key: Some("no key is set"),
        ..PLAIN
    },
    Case {
        tool: "recipe_search",
        arguments: r#"{"query": "teriyaki"}"#,
        replies: &[
            ("/search.php?s=teriyaki", r##"{"meals": [{"idMeal": "52772", "strMeal": "@TEXT@", "strCategory": "Chicken", "strArea": "Japanese", "strInstructions": "Heat the oven.", "strIngredient1": "soy sauce", "strMeasure1": "3/4 cup", "strIngredient2": "", "strMeasure2": null}]}"##),
        ],
        expects: "3/4 cup soy sauce",
        ..PLAIN
    },
    Case {
        tool: "recipe_search",
        arguments: r#"{"query": "chicken breast", "search_type": "ingredient"}"#,
        replies: &[
            ("/filter.php?i=chicken_breast", r##"{"meals": [{"strMeal": "@TEXT@", "strMealThumb": "x", "idMeal": "52795"}]}"##),
        ],
        expects: "meal_id 52795",
        ..PLAIN
    },
    Case {
        tool: "recipe_lookup",
        arguments: r#"{"meal_id": "52772"}"#,
        replies: &[
            ("/lookup.php?i=52772", r##"{"meals": [{"idMeal": "52772", "strMeal": "@TEXT@", "strCategory": "Chicken", "strArea": "Japanese", "strInstructions": "Heat the oven.", "strIngredient1": "soy sauce", "strMeasure1": "3/4 cup", "strIngredient2": "", "strMeasure2": null}]}"##),
        ],
        expects: "Heat the oven.",
        ..PLAIN
    },
    Case {
        tool: "music_search",
        arguments: r#"{"query": "nina", "entity": "recording", "max_results": 3}"#,
        replies: &[
            ("/ws/2/recording?query=nina&limit=3&fmt=json", r##"{"created": "x", "count": 1, "offset": 0, "recordings": [{"id": "a74b1b7f-71a5-4011-9441-d0b5e4122711", "score": 100, "title": "@TEXT@", "length": 178000, "artist-credit": [{"name": "Nina Simone"}], "first-release-date": "1965"}]}"##),
        ],
        expects: "length: 178 s",
        ..PLAIN
    },
    Case {
        tool: "music_lookup",
        arguments: r#"{"mbid": "a74b1b7f-71a5-4011-9441-d0b5e4122711"}"#,
        replies: &[
            ("/ws/2/artist/a74b1b7f-71a5-4011-9441-d0b5e4122711?inc=release-groups+url-rels&fmt=json", r##"{"id": "a74b1b7f-71a5-4011-9441-d0b5e4122711", "name": "@TEXT@", "country": "US", "life-span": {"begin": "1933-02-21", "end": "2003-04-21"}, "release-groups": [{"title": "Pastel Blues", "first-release-date": "1965"}]}"##),
        ],
        expects: "titles: Pastel Blues (1965)",
        ..PLAIN
    },
    Case {
        tool: "spotify_search",
        arguments: r#"{"query": "feeling good"}"#,
        replies: &[
            ("/v1/search?q=feeling+good&type=track&limit=10", r##"{"tracks": {"items": [{"id": "t1", "name": "@TEXT@", "uri": "spotify:track:t1", "artists": [{"name": "Nina Simone"}], "album": {"name": "Blue"}, "external_urls": {"spotify": "https://open.example/t1"}}, null]}}"##),
        ],
        expects: "album: Blue",
        variables: &[("MARVIN_SPOTIFY_CLIENT_ID", "client-1")],
        without_key: Some("no client id is set"),
        signed_in: true,
        is_cached: false,
        ..PLAIN
    },
    Case {
        tool: "spotify_create_playlist",
        arguments: r#"{"name": "Sunday"}"#,
        replies: &[
            ("/v1/me", r##"{"id": "person"}"##),
            ("/v1/users/person/playlists", r##"{"id": "p1", "name": "@TEXT@", "external_urls": {"spotify": "https://open.example/p1"}}"##),
        ],
        expects: "id p1",
        variables: &[("MARVIN_SPOTIFY_CLIENT_ID", "client-1")],
        without_key: Some("no client id is set"),
        signed_in: true,
        is_cached: false,
        ..PLAIN
    },
    Case {
        tool: "spotify_add_tracks",
        arguments: r#"{"playlist_id": "p1", "track_queries": ["feeling good"]}"#,
        replies: &[
            ("/v1/search?q=feeling+good&type=track&limit=1", r##"{"tracks": {"items": [{"id": "t1", "name": "@TEXT@", "uri": "spotify:track:t1", "artists": [{"name": "Nina Simone"}], "album": {"name": "Blue"}, "external_urls": {"spotify": "https://open.example/t1"}}]}}"##),
            ("/v1/playlists/p1/tracks", r##"{"snapshot_id": "s"}"##),
        ],
        expects: "by Nina Simone",
        variables: &[("MARVIN_SPOTIFY_CLIENT_ID", "client-1")],
        without_key: Some("no client id is set"),
        signed_in: true,
        is_cached: false,
        ..PLAIN
    },
    Case {
        tool: "convert_units",
        arguments: r#"{"value": 100, "from_unit": "USD", "to_unit": "eur"}"#,
        replies: &[
            ("/v1/latest?base=USD&symbols=EUR", r##"{"amount": 1.0, "base": "USD", "date": "2026-11-17", "rates": {"EUR": 0.9}, "note": "@TEXT@"}"##),
        ],
        expects: "90.00 EUR (rate 0.9 of 2026-11-17",
        is_marked: false,
        has_text: false,
        ..PLAIN
    },
    Case {
        tool: "dictionary_lookup",
        arguments: r#"{"word": "Tree"}"#,
        replies: &[
            ("/api/v2/entries/en/tree", r##"[{"word": "tree", "phonetic": "/tri/", "meanings": [{"partOfSpeech": "noun", "definitions": [{"definition": "@TEXT@", "example": "a tall tree"}], "synonyms": ["plant"], "antonyms": []}]}]"##),
        ],
        expects: "synonyms: plant",
        ..PLAIN
    },
    Case {
        tool: "translate_text",
        arguments: r#"{"text": "Where?", "target_language": "German"}"#,
        replies: &[
            ("/get?q=Where%3F&langpair=Autodetect%7Cde", r##"{"responseData": {"translatedText": "@TEXT@", "match": 1}, "quotaFinished": false, "responseDetails": "", "responseStatus": 200}"##),
        ],
        expects: "Autodetect to de",
        ..PLAIN
    },
];
