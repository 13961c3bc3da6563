//! Places by words: Google Places where it has a key, else OpenStreetMap.

use super::point::{Point, describe_metres};
use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{
    Findings, Hint, Listing, Request, ServiceError, ServiceTool, WHERE_YOU_ARE, may_tell, words,
};
use async_trait::async_trait;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fields of Google's places that are asked for, and paid for.
const FIELDS: &str = "places.displayName,places.formattedAddress,places.location,places.rating,\
    places.userRatingCount,places.nationalPhoneNumber,places.websiteUri,places.currentOpeningHours.openNow,\
    places.priceLevel,places.primaryType";

pub(super) struct TextSearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TextInput {
    /// Words, such as "ramen in Kreuzberg".
    text_query: String,
    /// Search around this point; 0 and 0: anywhere.
    #[serde(default)]
    latitude: f64,
    #[serde(default)]
    longitude: f64,
    /// Radius in metres.
    #[serde(default = "five_kilometres")]
    radius: f64,
    /// Results at most, 1 to 20.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
    /// Only places that are open now (Google Places only).
    #[serde(default)]
    open_now: bool,
}

pub(super) fn five_kilometres() -> f64 {
    5_000.0
}

/// A place that was found.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Place {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) latitude: f64,
    pub(super) longitude: f64,
    pub(super) kind: String,
    pub(super) phone: String,
    pub(super) website: String,
    pub(super) opening: String,
    pub(super) rating: Option<f64>,
    pub(super) ratings: Option<u64>,
    /// Metres from the point that was asked about.
    pub(super) distance_m: Option<f64>,
}

pub(super) fn show_place(place: &Place, listing: &mut Listing) {
    listing.entry(&place.name);
    listing.fact("address", &place.address);
    listing.fact("coordinates", &format!("{}, {}", place.latitude, place.longitude));
    listing.number("distance", place.distance_m.map(describe_metres), "");
    listing.fact("kind", &place.kind);
    listing.number("rating", place.rating, "");
    listing.number("ratings", place.ratings, "");
    listing.fact("opening", &place.opening);
    listing.fact("phone", &place.phone);
    listing.fact("website", &place.website);
}

impl TextInput {
    fn center(&self) -> Result<Option<Point>, ToolError> {
        if self.latitude == 0.0 && self.longitude == 0.0 {
            return Ok(None);
        }
        Point::new(self.latitude, self.longitude).map(Some)
    }

    fn max_results(&self) -> usize {
        self.max_results.clamp(1, 20)
    }
}

/// Body of a search in Google Places.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GoogleTextBody<'a> {
    text_query: &'a str,
    max_result_count: usize,
    open_now: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    location_bias: Option<Area>,
}

/// A circle as Google Places takes it.
#[derive(Debug, Serialize)]
pub(super) struct Area {
    circle: Circle,
}

#[derive(Debug, Serialize)]
struct Circle {
    center: LatLng,
    radius: f64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct LatLng {
    latitude: f64,
    longitude: f64,
}

impl Area {
    pub(super) fn new(center: Point, radius: f64) -> Self {
        let center = LatLng { latitude: center.latitude, longitude: center.longitude };
        Area { circle: Circle { center, radius: radius.clamp(1.0, 50_000.0) } }
    }
}

/// Answer of Google Places.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GoogleAnswer {
    places: Vec<GooglePlace>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GooglePlace {
    display_name: GoogleText,
    formatted_address: String,
    location: LatLng,
    rating: Option<f64>,
    user_rating_count: Option<u64>,
    national_phone_number: String,
    website_uri: String,
    primary_type: String,
    current_opening_hours: Option<GoogleHours>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GoogleText {
    text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GoogleHours {
    open_now: Option<bool>,
}

impl GoogleAnswer {
    pub(super) fn into_places(self, from: Option<Point>) -> Vec<Place> {
        let place = |place: GooglePlace| Place {
            name: place.display_name.text,
            address: place.formatted_address,
            latitude: place.location.latitude,
            longitude: place.location.longitude,
            kind: place.primary_type,
            phone: place.national_phone_number,
            website: place.website_uri,
            opening: match place.current_opening_hours.and_then(|hours| hours.open_now) {
                Some(true) => "open now".into(),
                Some(false) => "closed now".into(),
                None => String::new(),
            },
            rating: place.rating,
            ratings: place.user_rating_count,
            distance_m: distance(from, place.location.latitude, place.location.longitude),
        };
        self.places.into_iter().map(place).collect()
    }
}

pub(super) fn distance(from: Option<Point>, latitude: f64, longitude: f64) -> Option<f64> {
    let to = Point::new(latitude, longitude).ok()?;
    from.map(|from| from.distance_to(to).round())
}

/// A search of Google Places, without its body; fails without a key.
pub(super) fn google(path: &str, context: &ToolContext) -> Result<Request, ServiceError> {
    Request::new(Service::Places, &["v1", path], &[("fields", FIELDS)], context)
}

/// A place of Nominatim.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NominatimPlace {
    name: String,
    display_name: String,
    lat: String,
    lon: String,
    category: String,
    #[serde(rename = "type")]
    kind: String,
}

fn nominatim(input: &TextInput, context: &ToolContext) -> Result<Request, ToolError> {
    let query = words(&input.text_query, TextSearch::NAME, "text_query")?;
    let limit = input.max_results().to_string();
    let viewbox = input.center()?.map(|center| viewbox(center, input.radius)).unwrap_or_default();
    let bounded = if viewbox.is_empty() { "" } else { "1" };
    let query =
        [("q", query), ("format", "jsonv2"), ("limit", &limit), ("viewbox", &viewbox), ("bounded", bounded)];
    Ok(Request::new(Service::Nominatim, &["search"], &query, context)?)
}

/// The rectangle around a circle: left, top, right, bottom.
fn viewbox(center: Point, radius: f64) -> String {
    const METRES_PER_DEGREE: f64 = 111_320.0;
    let high = radius.clamp(1.0, 500_000.0) / METRES_PER_DEGREE;
    let wide = high / center.latitude.to_radians().cos().max(0.01);
    format!(
        "{:.5},{:.5},{:.5},{:.5}",
        center.longitude - wide,
        center.latitude + high,
        center.longitude + wide,
        center.latitude - high
    )
}

async fn ask_nominatim(input: &TextInput, context: &ToolContext) -> Result<Findings<Place>, ToolError> {
    let request = nominatim(input, context)?;
    let reply = request.ask::<Vec<NominatimPlace>>(context).await?;
    let center = input.center()?;
    let place = |place: NominatimPlace| {
        let (latitude, longitude) = (place.lat.parse().ok()?, place.lon.parse().ok()?);
        let first = place.display_name.split(',').next().unwrap_or_default().to_string();
        Some(Place {
            name: if place.name.is_empty() { first } else { place.name },
            address: place.display_name,
            kind: format!("{} {}", place.category, place.kind).trim().to_string(),
            distance_m: distance(center, latitude, longitude),
            latitude,
            longitude,
            ..Place::default()
        })
    };
    let places = reply.data.into_iter().filter_map(place).take(input.max_results()).collect();
    let mut findings = Findings::new(&request, reply.age, places);
    findings.note = input.open_now.then(|| "OpenStreetMap does not say which of them are open now".into());
    Ok(findings)
}

#[async_trait]
impl ServiceTool for TextSearch {
    type Input = TextInput;
    type Item = Place;
    const NAME: &'static str = "places_text_search";
    const DESCRIPTION: &'static str =
        "Find places (restaurants, shops, addresses, sights) by words, anywhere or around a point.";
    const EXAMPLE: &'static str = r#"{"text_query": "ramen", "latitude": 52.52, "longitude": 13.405, "radius": 3000, "max_results": 5}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("query", "text_query"), ("lat", "latitude"), ("lng", "longitude"), ("limit", "max_results")];
    const NOUN: &'static str = "place";

    fn requests(input: &TextInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let fallback = nominatim(input, context)?;
        Ok(vec![google("places:searchText", context).unwrap_or(fallback)])
    }

    fn tells(input: &TextInput) -> Option<&'static str> {
        let is_around = input.latitude != 0.0 || input.longitude != 0.0;
        is_around.then_some(WHERE_YOU_ARE)
    }

    async fn find(input: TextInput, context: &ToolContext) -> Result<Findings<Place>, ToolError> {
        let Ok(request) = google("places:searchText", context) else {
            return ask_nominatim(&input, context).await;
        };
        let center = input.center()?;
        let body = GoogleTextBody {
            text_query: words(&input.text_query, TextSearch::NAME, "text_query")?,
            max_result_count: input.max_results(),
            open_now: input.open_now,
            location_bias: center.map(|center| Area::new(center, input.radius)),
        };
        let request = request.post_json(&body)?;
        match request.ask::<GoogleAnswer>(context).await {
            Ok(reply) => Ok(Findings::new(&request, reply.age, reply.data.into_places(center))),
            Err(error) if error.is_passing() => {
                fall_back(error, Service::Nominatim, center.is_some(), context)?;
                ask_nominatim(&input, context).await
            }
            Err(error) => Err(error.into()),
        }
    }

    fn show(item: &Place, listing: &mut Listing) {
        show_place(item, listing);
    }
}

/// Whether a second service may answer in place of the first: not with personal data that the person did not agree to give it.
pub(super) fn fall_back(
    error: ServiceError,
    to: Service,
    is_personal: bool,
    context: &ToolContext,
) -> Result<(), ToolError> {
    if !is_personal || may_tell(to, context) {
        return Ok(());
    }
    let own = if error.hint.caller.is_empty() { String::new() } else { format!("{}; ", error.hint.caller) };
    let caller = format!(
        "{own}OpenStreetMap could answer, but it is not told where the person is before they agree: ask them, or to set \
         tools.private = allow"
    );
    let hint = Hint { caller, ..error.hint };
    Err(ServiceError { hint, ..error }.into())
}
