//! Routes from OSRM: travel times, with traffic and weather where wanted, and directions.

use super::point::{Point, describe_metres, describe_seconds};
use super::weather::{Current, MeteoAnswer, describe_code, forecast};
use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Reply, Request, ServiceTool, WHERE_YOU_ARE};
use async_trait::async_trait;
use marvin_base::clock;
use marvin_base::settings::{Origin, table};
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Points on the way at most.
const MAX_WAYPOINTS: usize = 10;
/// Steps of a route that are shown.
const MAX_STEPS: usize = 60;

/// Means of travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum TravelMode {
    #[default]
    Driving,
    Cycling,
    Foot,
}

impl TravelMode {
    fn word(self) -> &'static str {
        match self {
            TravelMode::Driving => "driving",
            TravelMode::Cycling => "cycling",
            TravelMode::Foot => "foot",
        }
    }
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RouteInput {
    origin_lat: f64,
    origin_lng: f64,
    dest_lat: f64,
    dest_lng: f64,
    /// driving, cycling or foot.
    #[serde(default)]
    mode: TravelMode,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DirectionsInput {
    origin_lat: f64,
    origin_lng: f64,
    dest_lat: f64,
    dest_lng: f64,
    /// driving, cycling or foot.
    #[serde(default)]
    mode: TravelMode,
    /// Points on the way, as "lat,lng;lat,lng".
    #[serde(default)]
    waypoints: String,
}

/// Answer of OSRM.
#[derive(Debug, Deserialize)]
struct OsrmAnswer {
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    routes: Vec<OsrmRoute>,
}

#[derive(Debug, Deserialize)]
struct OsrmRoute {
    distance: f64,
    duration: f64,
    #[serde(default)]
    legs: Vec<OsrmLeg>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OsrmLeg {
    steps: Vec<OsrmStep>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OsrmStep {
    distance: f64,
    name: String,
    maneuver: Maneuver,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Maneuver {
    #[serde(rename = "type")]
    kind: String,
    modifier: String,
}

/// A route.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Route {
    mode: TravelMode,
    distance_m: f64,
    /// Seconds without traffic.
    duration_s: f64,
    /// Seconds with the factors of traffic and weather.
    adjusted_s: Option<f64>,
    /// The factors, for people.
    factors: Vec<String>,
    /// Directions, one after the other.
    steps: Vec<String>,
}

fn points(input: &RouteInput) -> Result<Vec<Point>, ToolError> {
    Ok(vec![Point::new(input.origin_lat, input.origin_lng)?, Point::new(input.dest_lat, input.dest_lng)?])
}

fn route_request(
    points: &[Point],
    mode: TravelMode,
    with_steps: bool,
    context: &ToolContext,
) -> Result<Request, ToolError> {
    // OSRM has the longitude first.
    let pairs: Vec<String> =
        points.iter().map(|point| format!("{},{}", point.longitude, point.latitude)).collect();
    let steps = if with_steps { "true" } else { "false" };
    let segments = ["route", "v1", mode.word(), &pairs.join(";")];
    Ok(Request::new(Service::Osrm, &segments, &[("overview", "false"), ("steps", steps)], context)?)
}

async fn ask_route(request: &Request, context: &ToolContext) -> Result<Reply<OsrmRoute>, ToolError> {
    let reply = request.ask::<OsrmAnswer>(context).await?;
    let OsrmAnswer { code, message, routes } = reply.data;
    match routes.into_iter().next() {
        Some(route) if code == "Ok" => Ok(Reply { data: route, age: reply.age }),
        _ => Err(ToolError::Failed(format!("OSRM knows no route between these points ({code} {message})"))),
    }
}

/// A remark where the public server is asked for a way that is not for cars.
fn mode_note(mode: TravelMode, context: &ToolContext) -> Option<String> {
    let value = context.settings.value(&table::OSRM_URL);
    let is_public = value.is_none_or(|value| value.origin == Origin::Default);
    (is_public && mode != TravelMode::Driving).then(|| {
        "the public OSRM server knows ways for cars only, so this is the time of a car; an instance of your own \
         (services.osrm.url) can have others"
            .to_string()
    })
}

fn show_route(item: &Route, listing: &mut Listing) {
    let time = describe_seconds(item.adjusted_s.unwrap_or(item.duration_s));
    listing.entry(&format!("{time} ({}), {}", item.mode.word(), describe_metres(item.distance_m)));
    if item.adjusted_s.is_some() {
        listing.fact("without traffic and weather", &describe_seconds(item.duration_s));
    }
    for factor in &item.factors {
        listing.fact("factor", factor);
    }
    for (at, step) in item.steps.iter().enumerate() {
        listing.lines(&format!("{}. {step}", at + 1));
    }
}

pub(super) struct TravelTime;

#[async_trait]
impl ServiceTool for TravelTime {
    type Input = RouteInput;
    type Item = Route;
    const NAME: &'static str = "estimate_travel_time";
    const DESCRIPTION: &'static str = "Travel time and distance between two points, without traffic.";
    const EXAMPLE: &'static str = r#"{"origin_lat": 52.52, "origin_lng": 13.405, "dest_lat": 52.4, "dest_lng": 13.06, "mode": "driving"}"#;
    const NOUN: &'static str = "route";

    fn requests(input: &RouteInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        Ok(vec![route_request(&points(input)?, input.mode, false, context)?])
    }

    fn tells(_input: &RouteInput) -> Option<&'static str> {
        Some(WHERE_YOU_ARE)
    }

    async fn find(input: RouteInput, context: &ToolContext) -> Result<Findings<Route>, ToolError> {
        let request = route_request(&points(&input)?, input.mode, false, context)?;
        let Reply { data, age } = ask_route(&request, context).await?;
        let route = Route {
            mode: input.mode,
            distance_m: data.distance,
            duration_s: data.duration,
            adjusted_s: None,
            factors: Vec::new(),
            steps: Vec::new(),
        };
        Ok(Findings { note: mode_note(input.mode, context), ..Findings::one(&request, age, route) })
    }

    fn show(item: &Route, listing: &mut Listing) {
        show_route(item, listing);
    }
}

pub(super) struct TrafficTime;

#[async_trait]
impl ServiceTool for TrafficTime {
    type Input = RouteInput;
    type Item = Route;
    const NAME: &'static str = "estimate_traffic_adjusted_time";
    const DESCRIPTION: &'static str = "Travel time between two points now: typical traffic of the hour and the weather are taken into account.";
    const EXAMPLE: &'static str = r#"{"origin_lat": 52.52, "origin_lng": 13.405, "dest_lat": 52.4, "dest_lng": 13.06, "mode": "driving"}"#;
    const NOUN: &'static str = "route";

    fn requests(input: &RouteInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let points = points(input)?;
        let origin = Point::new(input.origin_lat, input.origin_lng)?;
        Ok(vec![route_request(&points, input.mode, false, context)?, forecast(origin, 1, context)?])
    }

    fn tells(_input: &RouteInput) -> Option<&'static str> {
        Some(WHERE_YOU_ARE)
    }

    async fn find(input: RouteInput, context: &ToolContext) -> Result<Findings<Route>, ToolError> {
        let request = route_request(&points(&input)?, input.mode, false, context)?;
        let Reply { data, age } = ask_route(&request, context).await?;
        let origin = Point::new(input.origin_lat, input.origin_lng)?;
        let weather = forecast(origin, 1, context)?.ask::<MeteoAnswer>(context).await;
        let mut factors = Vec::new();
        let mut factor = 1.0;
        let (hour, by_weather) = match weather {
            Ok(reply) => {
                let local = clock::now().as_second() + i64::from(reply.data.utc_offset_seconds);
                (hour_of(local), Some(weather_factor(&reply.data.current)))
            }
            Err(error) => {
                factors.push(format!("weather unknown: {error}"));
                let local = clock::now().to_zoned(jiff::tz::TimeZone::system());
                (local.hour(), None)
            }
        };
        if input.mode == TravelMode::Driving {
            let by_hour = hour_factor(hour);
            factor *= by_hour;
            factors.push(format!("traffic at {hour:02}:00 x {by_hour}"));
        }
        if let Some((by_weather, reason)) = by_weather {
            factor *= by_weather;
            factors.push(format!("{reason} x {by_weather}"));
        }
        let route = Route {
            mode: input.mode,
            distance_m: data.distance,
            duration_s: data.duration,
            adjusted_s: Some((data.duration * factor).round()),
            factors,
            steps: Vec::new(),
        };
        Ok(Findings { note: mode_note(input.mode, context), ..Findings::one(&request, age, route) })
    }

    fn show(item: &Route, listing: &mut Listing) {
        show_route(item, listing);
    }
}

/// The hour of a moment in local seconds.
fn hour_of(local_seconds: i64) -> i8 {
    i8::try_from(local_seconds.rem_euclid(86_400) / 3_600).unwrap_or(0)
}

/// Typical traffic of an hour.
fn hour_factor(hour: i8) -> f64 {
    match hour {
        7..=9 => 1.5,
        16..=18 => 1.6,
        11..=13 => 1.2,
        19..=21 => 1.15,
        22.. | ..=5 => 0.9,
        _ => 1.0,
    }
}

/// What the weather costs, with its reason.
fn weather_factor(current: &Current) -> (f64, String) {
    const LOW_VISIBILITY_M: f64 = 1_000.0;
    const STRONG_WIND_KMH: f64 = 60.0;
    let code = current.weather_code.unwrap_or(0);
    let mut factor: f64 = match code {
        71..=77 | 85 | 86 => 1.5,
        65 | 67 | 82 | 95.. => 1.35,
        61..=66 | 80 | 81 => 1.2,
        51..=57 => 1.1,
        _ => 1.0,
    };
    let mut reason = describe_code(code).to_string();
    if current.visibility.is_some_and(|metres| metres < LOW_VISIBILITY_M) {
        factor = factor.max(1.3);
        reason.push_str(", low visibility");
    }
    if current.wind_speed_10m.is_some_and(|wind| wind > STRONG_WIND_KMH) {
        factor += 0.1;
        reason.push_str(", strong wind");
    }
    ((factor * 100.0).round() / 100.0, reason)
}

pub(super) struct Directions;

impl DirectionsInput {
    fn points(&self) -> Result<Vec<Point>, ToolError> {
        let mut all = vec![Point::new(self.origin_lat, self.origin_lng)?];
        for text in self.waypoints.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            let pair = text.split_once(',').and_then(|(latitude, longitude)| {
                Some((latitude.trim().parse().ok()?, longitude.trim().parse().ok()?))
            });
            let (latitude, longitude) = pair.ok_or_else(|| {
                ToolError::Usage(format!("`waypoints` is \"lat,lng;lat,lng\"; `{text}` is not a point."))
            })?;
            all.push(Point::new(latitude, longitude)?);
        }
        if all.len() > MAX_WAYPOINTS + 1 {
            return Err(ToolError::Usage(format!("`waypoints` has at most {MAX_WAYPOINTS} points.")));
        }
        all.push(Point::new(self.dest_lat, self.dest_lng)?);
        Ok(all)
    }
}

#[async_trait]
impl ServiceTool for Directions {
    type Input = DirectionsInput;
    type Item = Route;
    const NAME: &'static str = "get_directions";
    const DESCRIPTION: &'static str =
        "Turn-by-turn directions between two points, over points on the way if wanted.";
    const EXAMPLE: &'static str = r#"{"origin_lat": 52.52, "origin_lng": 13.405, "dest_lat": 52.4, "dest_lng": 13.06, "mode": "cycling", "waypoints": "52.45,13.3"}"#;
    const NOUN: &'static str = "route";

    fn requests(input: &DirectionsInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        Ok(vec![route_request(&input.points()?, input.mode, true, context)?])
    }

    fn tells(_input: &DirectionsInput) -> Option<&'static str> {
        Some(WHERE_YOU_ARE)
    }

    async fn find(input: DirectionsInput, context: &ToolContext) -> Result<Findings<Route>, ToolError> {
        let request = route_request(&input.points()?, input.mode, true, context)?;
        let Reply { data, age } = ask_route(&request, context).await?;
        let all = data.legs.iter().flat_map(|leg| &leg.steps).map(describe_step);
        let route = Route {
            mode: input.mode,
            distance_m: data.distance,
            duration_s: data.duration,
            adjusted_s: None,
            factors: Vec::new(),
            steps: all.take(MAX_STEPS).collect(),
        };
        let count: usize = data.legs.iter().map(|leg| leg.steps.len()).sum();
        let cut = (count > MAX_STEPS).then(|| format!("{} further steps are left out", count - MAX_STEPS));
        let note = mode_note(input.mode, context).or(cut);
        Ok(Findings { note, ..Findings::one(&request, age, route) })
    }

    fn show(item: &Route, listing: &mut Listing) {
        show_route(item, listing);
    }
}

/// A step for people.
fn describe_step(step: &OsrmStep) -> String {
    let Maneuver { kind, modifier } = &step.maneuver;
    let what = match (kind.as_str(), modifier.as_str()) {
        ("depart", _) => "start".to_string(),
        ("arrive", _) => "arrive".to_string(),
        ("roundabout" | "rotary", _) => "take the roundabout".to_string(),
        (_, "") => kind.clone(),
        (_, "straight") => "continue straight".to_string(),
        (_, modifier) => format!("turn {modifier}"),
    };
    let road = if step.name.is_empty() { String::new() } else { format!(" on {}", step.name) };
    let distance =
        if kind == "arrive" { String::new() } else { format!(", {}", describe_metres(step.distance)) };
    format!("{what}{road}{distance}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_of_hour_and_weather() {
        let hours: Vec<f64> = [8, 12, 17, 20, 23, 3, 6, 10, 14].into_iter().map(hour_factor).collect();
        assert_eq!(hours, [1.5, 1.2, 1.6, 1.15, 0.9, 0.9, 1.0, 1.0, 1.0]);
        assert_eq!((hour_of(0), hour_of(-1), hour_of(86_400 + 3_600 * 5)), (0, 23, 5));
        let weather = |code, visibility, wind| {
            let current = Current {
                weather_code: Some(code),
                visibility: Some(visibility),
                wind_speed_10m: Some(wind),
                ..Current::default()
            };
            weather_factor(&current).0
        };
        assert_eq!(weather(73, 9_000.0, 5.0), 1.5);
        assert_eq!(weather(65, 9_000.0, 5.0), 1.35);
        assert_eq!(weather(61, 9_000.0, 70.0), 1.3);
        assert_eq!(weather(45, 200.0, 5.0), 1.3);
        assert_eq!(weather(75, 200.0, 5.0), 1.5);
        assert_eq!(weather(0, 24_000.0, 5.0), 1.0);
    }

    #[test]
    fn waypoints_are_points() {
        let input = |waypoints: &str| DirectionsInput {
            origin_lat: 1.0,
            origin_lng: 2.0,
            dest_lat: 3.0,
            dest_lng: 4.0,
            mode: TravelMode::Foot,
            waypoints: waypoints.into(),
        };
        assert_eq!(input(" 5, 6 ;7,8; ").points().unwrap().len(), 4);
        for wrong in ["5", "a,b", "95,0", &"1,1;".repeat(11)] {
            input(wrong).points().expect_err(wrong);
        }
    }
}
