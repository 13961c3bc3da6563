//! Where the person is: by GeoClue where its program is installed, else by the place of their IP address.

use super::geoclue::{self, Position};
use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::service::{Failure, Findings, Listing, Request, ServiceTool, consent};
use crate::tool::{NoInput, Tool};
use async_trait::async_trait;
use marvin_base::settings::table;
use marvin_gate::network::Service;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) struct GetMyLocation;

/// The answer of ip-api.com.
#[derive(Debug, Deserialize)]
struct IpAnswer {
    status: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    city: String,
    #[serde(default, rename = "regionName")]
    region: String,
    #[serde(default)]
    country: String,
    #[serde(default)]
    timezone: String,
    #[serde(default)]
    lat: f64,
    #[serde(default)]
    lon: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Location {
    latitude: f64,
    longitude: f64,
    /// Radius in metres, where the source says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy_m: Option<f64>,
    /// Name of the city; empty where only the position is known.
    city: String,
    region: String,
    country: String,
    timezone: String,
    /// How it was found, which says how exact it is.
    source: String,
}

#[async_trait]
impl ServiceTool for GetMyLocation {
    type Input = NoInput;
    type Item = Location;
    const NAME: &'static str = "get_my_location";
    const DESCRIPTION: &'static str =
        "Find where the person is: coordinates by the machine's sensors, or the city by the IP address.";
    const EXAMPLE: &'static str = "{}";
    const NOUN: &'static str = "location";

    fn requests(_input: &NoInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let fields = "status,message,country,regionName,city,lat,lon,timezone";
        // The directory is `json/`: without the last slash the service redirects.
        Ok(vec![Request::new(Service::IpLocation, &["json", ""], &[("fields", fields)], context)?])
    }

    fn tells(_input: &NoInput) -> Option<&'static str> {
        Some("your IP address, to learn where you are")
    }

    fn share(input: &NoInput, services: &[&'static str], context: &ToolContext) -> Option<Intent> {
        if geoclue::find(context).is_none() {
            return GetMyLocation::tells(input).map(|what| consent::share(services, what, context));
        }
        // GeoClue often finds nothing, so the person is asked about the second service at once.
        let both: Vec<&'static str> = [geoclue::NAME].iter().chain(services).copied().collect();
        let what = "your IP address and the networks near you, to learn where you are";
        Some(consent::share(&both, what, context))
    }

    async fn find(input: NoInput, context: &ToolContext) -> Result<Findings<Location>, ToolError> {
        if let Some(program) = geoclue::find(context) {
            match geoclue::locate(&program, context).await {
                Ok(position) => return Ok(describe_position(position)),
                Err(error) if context.cancel.is_cancelled() => {
                    return Err(ToolError::Failed(format!("cannot ask {}: {error}", geoclue::NAME)));
                }
                Err(error) => tracing::info!(%error, "no position from GeoClue"),
            }
        }
        let mut requests = GetMyLocation::requests(&input, context)?;
        let request = requests.remove(0);
        let reply = request.ask::<IpAnswer>(context).await?;
        let answer = reply.data;
        if answer.status != "success" {
            let failure = Failure::Refused { status: 200, message: answer.message };
            return Err(request.failed(failure, "ask the person where they are").into());
        }
        let location = Location {
            latitude: answer.lat,
            longitude: answer.lon,
            accuracy_m: None,
            city: answer.city,
            region: answer.region,
            country: answer.country,
            timezone: answer.timezone,
            source: "IP address".into(),
        };
        let mut findings = Findings::one(&request, reply.age, location);
        findings.note = Some(
            "by IP address, which is right about the city at best; with a VPN it is the place of the VPN"
                .into(),
        );
        Ok(findings)
    }

    fn show(item: &Location, listing: &mut Listing) {
        let names = [&item.city, &item.region, &item.country].map(String::as_str);
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        listing.entry(&if names.is_empty() { "position".to_string() } else { names.join(", ") });
        listing.fact("coordinates", &format!("{}, {}", item.latitude, item.longitude));
        if let Some(metres) = item.accuracy_m {
            listing.fact("accuracy", &format!("{metres:.0} m"));
        }
        listing.fact("time zone", &item.timezone);
    }
}

fn describe_position(position: Position) -> Findings<Location> {
    let location = Location {
        latitude: position.latitude,
        longitude: position.longitude,
        accuracy_m: position.accuracy_m,
        city: String::new(),
        region: String::new(),
        country: String::new(),
        timezone: jiff::tz::TimeZone::system().iana_name().unwrap_or_default().to_string(),
        source: geoclue::NAME.into(),
    };
    let note = Some("by GeoClue of this machine, which knows no names of places".into());
    Findings { items: vec![location], service: geoclue::NAME, age: None, note }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SetupGoogleAuth;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GoogleAuth {
    /// Whether a key of Google Places is set.
    is_set: bool,
}

#[async_trait]
impl Tool for SetupGoogleAuth {
    type Input = NoInput;
    type Data = GoogleAuth;
    const NAME: &'static str = "setup_google_auth";
    const DESCRIPTION: &'static str =
        "Say whether Google Places has its key, and how the person sets it. Never ask for the key itself.";
    const EXAMPLE: &'static str = "{}";
    const TOUCHES: Touches = Touches::NOTHING;

    async fn call(&self, _input: NoInput, context: &ToolContext) -> Result<Output<GoogleAuth>, ToolError> {
        let request = Request::new(Service::Places, &[], &[], context);
        let is_set = !matches!(request, Err(ref error) if matches!(error.kind, Failure::NoKey));
        let text = if is_set {
            "Google Places has its key; searches for places use it.".to_string()
        } else {
            format!(
                "Google Places has no key, so places come from OpenStreetMap. The person gets one at \
                 https://console.cloud.google.com (enable \"Places API (New)\", create an API key) and sets {} in \
                 config.toml, or {}. The key does not belong into the conversation.",
                table::PLACES_KEY.key,
                table::PLACES_KEY.variables.first().copied().unwrap_or_default()
            )
        };
        Ok(Output::line(text, GoogleAuth { is_set }))
    }
}
