//! Points on the earth, and distances and durations for people.

use crate::result::ToolError;

/// A point on the earth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
}

impl Point {
    /// A point whose coordinates exist.
    pub(super) fn new(latitude: f64, longitude: f64) -> Result<Self, ToolError> {
        let is_point = (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude);
        if is_point {
            return Ok(Point { latitude, longitude });
        }
        Err(ToolError::Usage(format!(
            "{latitude}, {longitude} is not a point: latitudes are from -90 to 90, longitudes from -180 to 180."
        )))
    }

    /// Distance in metres, along the surface.
    pub(super) fn distance_to(self, other: Point) -> f64 {
        const EARTH_RADIUS_M: f64 = 6_371_000.0;
        let (lat, other_lat) = (self.latitude.to_radians(), other.latitude.to_radians());
        let half_lat = (other_lat - lat) / 2.0;
        let half_lng = (other.longitude - self.longitude).to_radians() / 2.0;
        let square = half_lat.sin().powi(2) + lat.cos() * other_lat.cos() * half_lng.sin().powi(2);
        2.0 * EARTH_RADIUS_M * square.sqrt().min(1.0).asin()
    }
}

/// A distance for people.
pub(super) fn describe_metres(metres: f64) -> String {
    if metres < 1_000.0 { format!("{metres:.0} m") } else { format!("{:.1} km", metres / 1_000.0) }
}

/// A duration for people.
pub(super) fn describe_seconds(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round().max(0.0);
    if minutes < 60.0 {
        return format!("{minutes:.0} min");
    }
    format!("{:.0} h {:02.0} min", (minutes / 60.0).floor(), minutes % 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_durations() {
        let berlin = Point::new(52.52, 13.405).unwrap();
        let paris = Point::new(48.8566, 2.3522).unwrap();
        let kilometres = berlin.distance_to(paris) / 1_000.0;
        assert!((877.0..879.0).contains(&kilometres), "{kilometres}");
        assert_eq!(berlin.distance_to(berlin), 0.0);
        assert!(Point::new(91.0, 0.0).is_err() && Point::new(0.0, f64::NAN).is_err());
        assert_eq!((describe_metres(999.4), describe_metres(1_250.0)), ("999 m".into(), "1.2 km".into()));
        assert_eq!(
            (describe_seconds(3_000.0), describe_seconds(5_400.0)),
            ("50 min".into(), "1 h 30 min".into())
        );
    }
}
