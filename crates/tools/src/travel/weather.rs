//! Weather, from Open-Meteo.

use super::point::Point;
use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Findings, Listing, Request, ServiceTool, WHERE_YOU_ARE};
use async_trait::async_trait;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// WMO codes of weather, from the code on.
const CODES: [(u8, &str); 22] = [
    (0, "clear"),
    (1, "mainly clear"),
    (2, "partly cloudy"),
    (3, "overcast"),
    (45, "fog"),
    (51, "light drizzle"),
    (53, "drizzle"),
    (55, "dense drizzle"),
    (56, "freezing drizzle"),
    (61, "light rain"),
    (63, "rain"),
    (65, "heavy rain"),
    (66, "freezing rain"),
    (71, "light snow"),
    (73, "snow"),
    (75, "heavy snow"),
    (77, "snow grains"),
    (80, "rain showers"),
    (82, "violent rain showers"),
    (85, "snow showers"),
    (95, "thunderstorm"),
    (96, "thunderstorm with hail"),
];

/// The weather that a WMO code stands for.
pub(super) fn describe_code(code: u8) -> &'static str {
    CODES.iter().rev().find(|(from, _)| *from <= code).map_or("unknown", |(_, text)| text)
}

pub(super) struct WeatherForecast;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WeatherInput {
    latitude: f64,
    longitude: f64,
    /// Days, 1 to 7.
    #[serde(default = "crate::schema::count::<3>")]
    days: usize,
}

/// Answer of Open-Meteo. What every answer has is required: an empty one is not a forecast without weather.
#[derive(Debug, Deserialize)]
pub(super) struct MeteoAnswer {
    #[serde(default)]
    pub(super) utc_offset_seconds: i32,
    pub(super) current: Current,
    daily: Daily,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Current {
    pub(super) time: String,
    pub(super) temperature_2m: Option<f64>,
    pub(super) apparent_temperature: Option<f64>,
    pub(super) precipitation: Option<f64>,
    pub(super) weather_code: Option<u8>,
    pub(super) wind_speed_10m: Option<f64>,
    pub(super) visibility: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Daily {
    time: Vec<String>,
    #[serde(default)]
    weather_code: Vec<Option<u8>>,
    #[serde(default)]
    temperature_2m_max: Vec<Option<f64>>,
    #[serde(default)]
    temperature_2m_min: Vec<Option<f64>>,
    #[serde(default)]
    precipitation_sum: Vec<Option<f64>>,
    #[serde(default)]
    precipitation_probability_max: Vec<Option<f64>>,
    #[serde(default)]
    wind_speed_10m_max: Vec<Option<f64>>,
    #[serde(default)]
    sunrise: Vec<String>,
    #[serde(default)]
    sunset: Vec<String>,
}

/// The weather of a moment or a day.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Weather {
    /// `now`, or the date.
    time: String,
    weather: String,
    temperature_c: Option<f64>,
    feels_like_c: Option<f64>,
    low_c: Option<f64>,
    high_c: Option<f64>,
    precipitation_mm: Option<f64>,
    precipitation_percent: Option<f64>,
    wind_kmh: Option<f64>,
    sunrise: String,
    sunset: String,
}

const CURRENT: &str =
    "temperature_2m,apparent_temperature,precipitation,weather_code,wind_speed_10m,visibility";
const DAILY: &str = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,\
    precipitation_probability_max,wind_speed_10m_max,sunrise,sunset";

/// The request for the weather of a point.
pub(super) fn forecast(point: Point, days: usize, context: &ToolContext) -> Result<Request, ToolError> {
    let (latitude, longitude) = (point.latitude.to_string(), point.longitude.to_string());
    let days = days.clamp(1, 7).to_string();
    let query = [
        ("latitude", latitude.as_str()),
        ("longitude", &longitude),
        ("current", CURRENT),
        ("daily", DAILY),
        ("timezone", "auto"),
        ("forecast_days", &days),
    ];
    Ok(Request::new(Service::OpenMeteo, &["v1", "forecast"], &query, context)?)
}

impl MeteoAnswer {
    fn into_items(self) -> Vec<Weather> {
        let Current { time, temperature_2m, apparent_temperature, precipitation, weather_code, .. } =
            self.current;
        let mut all = Vec::new();
        if !time.is_empty() {
            all.push(Weather {
                time: format!("now ({})", time.replace('T', " ")),
                weather: weather_code.map(describe_code).unwrap_or_default().to_string(),
                temperature_c: temperature_2m,
                feels_like_c: apparent_temperature,
                low_c: None,
                high_c: None,
                precipitation_mm: precipitation,
                precipitation_percent: None,
                wind_kmh: self.current.wind_speed_10m,
                sunrise: String::new(),
                sunset: String::new(),
            });
        }
        let daily = self.daily;
        let number = |list: &[Option<f64>], at: usize| list.get(at).copied().flatten();
        let hour = |list: &[String], at: usize| {
            list.get(at).and_then(|text| text.split('T').nth(1)).unwrap_or_default().to_string()
        };
        for (at, day) in daily.time.iter().enumerate() {
            let code = daily.weather_code.get(at).copied().flatten();
            all.push(Weather {
                time: day.clone(),
                weather: code.map(describe_code).unwrap_or_default().to_string(),
                temperature_c: None,
                feels_like_c: None,
                low_c: number(&daily.temperature_2m_min, at),
                high_c: number(&daily.temperature_2m_max, at),
                precipitation_mm: number(&daily.precipitation_sum, at),
                precipitation_percent: number(&daily.precipitation_probability_max, at),
                wind_kmh: number(&daily.wind_speed_10m_max, at),
                sunrise: hour(&daily.sunrise, at),
                sunset: hour(&daily.sunset, at),
            });
        }
        all
    }
}

#[async_trait]
impl ServiceTool for WeatherForecast {
    type Input = WeatherInput;
    type Item = Weather;
    const NAME: &'static str = "weather_forecast";
    const DESCRIPTION: &'static str = "Weather at a point: now and for the next 1 to 7 days.";
    const EXAMPLE: &'static str = r#"{"latitude": 52.52, "longitude": 13.405, "days": 3}"#;
    const FIELDS: &'static [(&'static str, &'static str)] = &[("lat", "latitude"), ("lng", "longitude")];
    const NOUN: &'static str = "forecast";

    fn requests(input: &WeatherInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        Ok(vec![forecast(Point::new(input.latitude, input.longitude)?, input.days, context)?])
    }

    fn tells(_input: &WeatherInput) -> Option<&'static str> {
        Some(WHERE_YOU_ARE)
    }

    async fn find(input: WeatherInput, context: &ToolContext) -> Result<Findings<Weather>, ToolError> {
        let request = forecast(Point::new(input.latitude, input.longitude)?, input.days, context)?;
        let reply = request.ask::<MeteoAnswer>(context).await?;
        Ok(Findings::new(&request, reply.age, reply.data.into_items()))
    }

    fn show(item: &Weather, listing: &mut Listing) {
        listing.entry(&format!("{}: {}", item.time, item.weather));
        listing.number("temperature", item.temperature_c, " °C");
        listing.number("feels like", item.feels_like_c, " °C");
        if let (Some(low), Some(high)) = (item.low_c, item.high_c) {
            listing.fact("temperature", &format!("{low} to {high} °C"));
        }
        listing.number("precipitation", item.precipitation_mm, " mm");
        listing.number("chance of precipitation", item.precipitation_percent, " %");
        listing.number("wind", item.wind_kmh, " km/h");
        if !item.sunrise.is_empty() {
            listing.fact("sun", &format!("{} to {}", item.sunrise, item.sunset));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_answer_is_not_a_forecast() {
        let is_answer = |text: &str| serde_json::from_str::<MeteoAnswer>(text).is_ok();
        assert!(is_answer(r#"{"current": {"time": "2026-11-17T15:00"}, "daily": {"time": ["2026-11-17"]}}"#));
        for text in [
            "{}",
            "[]",
            r#"{"current": {}, "daily": {}}"#,
            r#"{"current": {"time": "2026-11-17T15:00"}}"#,
            r#"{"daily": {"time": []}}"#,
        ] {
            assert!(!is_answer(text), "{text}");
        }
    }

    #[test]
    fn codes_between_two_rows_mean_the_lower_one() {
        assert_eq!(describe_code(0), "clear");
        assert_eq!(describe_code(48), "fog");
        assert_eq!(describe_code(86), "snow showers");
        assert_eq!(describe_code(99), "thunderstorm with hail");
    }
}
