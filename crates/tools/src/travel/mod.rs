//! Location and travel: where the person is, places, routes, weather, and the places that they saved.
//!
//! Whatever tells a service where the person is or goes is asked about once per service (`tools.private`); a second service gets
//! it as a fall-back only where the person agreed to that one too.

mod geoclue;
mod location;
mod nearby;
mod places;
mod point;
mod route;
mod saved;
mod weather;

use crate::service::tool;
use crate::tool::DynTool;
use std::sync::Arc;

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![
        tool::<location::GetMyLocation>(),
        Arc::new(location::SetupGoogleAuth),
        tool::<places::TextSearch>(),
        tool::<nearby::NearbySearch>(),
        tool::<route::TravelTime>(),
        tool::<route::TrafficTime>(),
        tool::<route::Directions>(),
        tool::<weather::WeatherForecast>(),
        Arc::new(saved::SavePlace),
        Arc::new(saved::RemovePlace),
        Arc::new(saved::ListPlaces),
    ]
}
