//! Places around a point, by kind: Google Places where it has a key, else Overpass.

use super::places::{Area, GoogleAnswer, Place, distance, fall_back, five_kilometres, google, show_place};
use super::point::Point;
use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, WHERE_YOU_ARE, needs};
use async_trait::async_trait;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kinds in Google's words with OpenStreetMap's key and value, where the value differs or the key is not `amenity`.
const KINDS: [(&str, &str, &str); 38] = [
    ("amusement_park", "tourism", "theme_park"),
    ("art_gallery", "tourism", "gallery"),
    ("bakery", "shop", "bakery"),
    ("bicycle_store", "shop", "bicycle"),
    ("book_store", "shop", "books"),
    ("bus_stop", "highway", "bus_stop"),
    ("butcher_shop", "shop", "butcher"),
    ("campground", "tourism", "camp_site"),
    ("car_repair", "shop", "car_repair"),
    ("clothing_store", "shop", "clothes"),
    ("coffee_shop", "amenity", "cafe"),
    ("convenience_store", "shop", "convenience"),
    ("department_store", "shop", "department_store"),
    ("doctor", "amenity", "doctors"),
    ("drugstore", "shop", "chemist"),
    ("electronics_store", "shop", "electronics"),
    ("fire_station", "amenity", "fire_station"),
    ("florist", "shop", "florist"),
    ("furniture_store", "shop", "furniture"),
    ("gas_station", "amenity", "fuel"),
    ("grocery_store", "shop", "supermarket"),
    ("gym", "leisure", "fitness_centre"),
    ("hair_salon", "shop", "hairdresser"),
    ("hardware_store", "shop", "hardware"),
    ("hotel", "tourism", "hotel"),
    ("laundry", "shop", "laundry"),
    ("lodging", "tourism", "hotel"),
    ("movie_theater", "amenity", "cinema"),
    ("museum", "tourism", "museum"),
    ("night_club", "amenity", "nightclub"),
    ("park", "leisure", "park"),
    ("playground", "leisure", "playground"),
    ("shopping_mall", "shop", "mall"),
    ("supermarket", "shop", "supermarket"),
    ("swimming_pool", "leisure", "swimming_pool"),
    ("tourist_attraction", "tourism", "attraction"),
    ("train_station", "railway", "station"),
    ("zoo", "tourism", "zoo"),
];

pub(super) struct NearbySearch;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NearbyInput {
    latitude: f64,
    longitude: f64,
    /// Kinds of places, such as ["cafe", "pharmacy", "gas_station"].
    included_types: Vec<String>,
    /// Radius in metres.
    #[serde(default = "five_kilometres")]
    radius: f64,
    /// Results at most, 1 to 20.
    #[serde(default = "crate::schema::count::<5>")]
    max_results: usize,
    /// Order of the results.
    #[serde(default)]
    rank_by: Rank,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Rank {
    #[default]
    Popularity,
    Distance,
}

/// Body of a search in Google Places.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GoogleNearbyBody<'a> {
    included_types: &'a [String],
    max_result_count: usize,
    rank_preference: Rank,
    location_restriction: Area,
}

/// Answer of Overpass.
#[derive(Debug, Deserialize)]
struct OverpassAnswer {
    elements: Vec<Element>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Element {
    lat: Option<f64>,
    lon: Option<f64>,
    center: Option<Center>,
    tags: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
struct Center {
    lat: f64,
    lon: f64,
}

impl NearbyInput {
    fn center(&self) -> Result<Point, ToolError> {
        Point::new(self.latitude, self.longitude)
    }

    fn max_results(&self) -> usize {
        self.max_results.clamp(1, 20)
    }

    fn kinds(&self) -> Result<&[String], ToolError> {
        let is_kind =
            |kind: &String| !kind.is_empty() && kind.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        if self.included_types.is_empty() || self.included_types.len() > 20 {
            return Err(needs(NearbySearch::NAME, "included_types", "1 to 20 kinds, such as [\"cafe\"]"));
        }
        if !self.included_types.iter().all(is_kind) {
            return Err(ToolError::Usage(
                "`included_types` are kinds in lower case, such as \"cafe\" or \"gas_station\".".into(),
            ));
        }
        Ok(&self.included_types)
    }

    /// The question in Overpass's language.
    fn overpass(&self) -> Result<String, ToolError> {
        let center = self.center()?;
        let radius = self.radius.clamp(1.0, 50_000.0);
        let part = |kind: &String| {
            let row = KINDS.iter().find(|(google, ..)| google == kind);
            let (key, value) = row.map_or(("amenity", kind.as_str()), |(_, key, value)| (*key, *value));
            format!(
                "nwr[\"{key}\"=\"{value}\"](around:{radius:.0},{},{});",
                center.latitude, center.longitude
            )
        };
        let parts: String = self.kinds()?.iter().map(part).collect();
        // More than wanted, so that the nearest are among them.
        Ok(format!("[out:json][timeout:15];({parts});out center {};", self.max_results() * 10))
    }
}

fn overpass(input: &NearbyInput, context: &ToolContext) -> Result<Request, ToolError> {
    let data = input.overpass()?;
    Ok(Request::new(Service::Overpass, &["api", "interpreter"], &[("data", &data)], context)?)
}

async fn ask_overpass(input: &NearbyInput, context: &ToolContext) -> Result<Findings<Place>, ToolError> {
    let request = overpass(input, context)?;
    let reply = request.ask::<OverpassAnswer>(context).await?;
    let center = input.center()?;
    let mut places: Vec<Place> =
        reply.data.elements.iter().filter_map(|element| place(element, center)).collect();
    places.sort_by(|one, other| one.distance_m.unwrap_or(0.0).total_cmp(&other.distance_m.unwrap_or(0.0)));
    places.truncate(input.max_results());
    let mut findings = Findings::new(&request, reply.age, places);
    findings.note = (input.rank_by == Rank::Popularity)
        .then(|| "OpenStreetMap does not know popularity; the nearest come first".into());
    Ok(findings)
}

/// A place with a name; others are of no use to a person.
fn place(element: &Element, center: Point) -> Option<Place> {
    let tag = |name: &str| element.tags.get(name).cloned().unwrap_or_default();
    let name = Some(tag("name")).filter(|name| !name.is_empty())?;
    let (latitude, longitude) = match (element.lat, element.lon, &element.center) {
        (Some(lat), Some(lon), _) => (lat, lon),
        (_, _, Some(center)) => (center.lat, center.lon),
        _ => return None,
    };
    let street = format!("{} {}", tag("addr:street"), tag("addr:housenumber"));
    let address = [street.trim().to_string(), tag("addr:postcode"), tag("addr:city")];
    let address: Vec<String> = address.into_iter().filter(|part| !part.is_empty()).collect();
    let kind =
        ["amenity", "shop", "tourism", "leisure", "railway"].map(tag).into_iter().find(|it| !it.is_empty());
    let first =
        |one: &str, other: &str| Some(tag(one)).filter(|it| !it.is_empty()).unwrap_or_else(|| tag(other));
    Some(Place {
        name,
        address: address.join(", "),
        latitude,
        longitude,
        kind: kind.unwrap_or_default(),
        phone: first("phone", "contact:phone"),
        website: first("website", "contact:website"),
        opening: tag("opening_hours"),
        rating: None,
        ratings: None,
        distance_m: distance(Some(center), latitude, longitude),
    })
}

#[async_trait]
impl ServiceTool for NearbySearch {
    type Input = NearbyInput;
    type Item = Place;
    const NAME: &'static str = "places_nearby_search";
    const DESCRIPTION: &'static str =
        "Find places of some kinds (cafe, pharmacy, gas_station, park, …) around a point.";
    const EXAMPLE: &'static str = r#"{"latitude": 52.52, "longitude": 13.405, "included_types": ["cafe"], "radius": 1000, "rank_by": "DISTANCE"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("lat", "latitude"), ("lng", "longitude"), ("types", "included_types"), ("limit", "max_results")];
    const NOUN: &'static str = "place";

    fn requests(input: &NearbyInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let fallback = overpass(input, context)?;
        Ok(vec![google("places:searchNearby", context).unwrap_or(fallback)])
    }

    fn tells(_input: &NearbyInput) -> Option<&'static str> {
        Some(WHERE_YOU_ARE)
    }

    async fn find(input: NearbyInput, context: &ToolContext) -> Result<Findings<Place>, ToolError> {
        let Ok(request) = google("places:searchNearby", context) else {
            return ask_overpass(&input, context).await;
        };
        let center = input.center()?;
        let body = GoogleNearbyBody {
            included_types: input.kinds()?,
            max_result_count: input.max_results(),
            rank_preference: input.rank_by,
            location_restriction: Area::new(center, input.radius),
        };
        let request = request.post_json(&body)?;
        match request.ask::<GoogleAnswer>(context).await {
            Ok(reply) => Ok(Findings::new(&request, reply.age, reply.data.into_places(Some(center)))),
            Err(error) if error.is_passing() => {
                fall_back(error, Service::Overpass, true, context)?;
                ask_overpass(&input, context).await
            }
            Err(error) => Err(error.into()),
        }
    }

    fn show(item: &Place, listing: &mut Listing) {
        show_place(item, listing);
    }
}
