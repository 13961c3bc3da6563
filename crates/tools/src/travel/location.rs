//! Where the person is, by the place of their IP address.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::service::{Failure, Findings, Listing, Request, ServiceTool};
use crate::tool::{NoInput, Tool};
use async_trait::async_trait;
use marvin_base::settings::table;
use marvin_gate::Touches;
use marvin_gate::network::Service;
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
    const DESCRIPTION: &'static str = "Find where the person is: city and coordinates, by their IP address.";
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

    async fn find(input: NoInput, context: &ToolContext) -> Result<Findings<Location>, ToolError> {
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
        listing.entry(&format!("{}, {}, {}", item.city, item.region, item.country));
        listing.fact("coordinates", &format!("{}, {}", item.latitude, item.longitude));
        listing.fact("time zone", &item.timezone);
    }
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
