//! The person's profile: preferences, saved places, and which profile is active.

use marvin_base::files::{self, Links};
use marvin_base::layout::Layout;
pub use marvin_base::profile::{active, normal};
use marvin_base::truncate;
use serde::Deserialize;

/// A profile's file larger than this is not read.
const MAX_PROFILE_FILE_BYTES: u64 = 1024 * 1024;

/// Profile of a person, as far as the system message uses it.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    pub name: String,
    /// `preferences.yaml`, as it is.
    pub preferences: String,
    /// One line for each saved place.
    pub places: Vec<String>,
    /// Files that could not be read.
    pub problems: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Place {
    #[serde(default)]
    label: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    address: String,
    #[serde(default)]
    lat: Option<f64>,
    #[serde(default)]
    lng: Option<f64>,
}

impl Place {
    fn line(&self) -> String {
        let mut parts = vec![self.label.clone(), self.name.clone(), self.address.clone()];
        if let (Some(lat), Some(lng)) = (self.lat, self.lng) {
            parts.push(format!("({lat}, {lng})"));
        }
        parts.retain(|part| !part.is_empty());
        parts.join(": ")
    }
}

impl Profile {
    /// Reads a profile; a missing file is an empty one, an unreadable one is a problem that is reported.
    #[must_use]
    pub fn read(layout: &Layout, name: &str) -> Self {
        let mut profile = Profile { name: name.to_string(), ..Profile::default() };
        match files::read_text(&layout.preferences(name), MAX_PROFILE_FILE_BYTES, Links::Follow) {
            Ok(text) => profile.preferences = text.trim().to_string(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => profile.problems.push(format!("preferences.yaml: {error}")),
        }
        match files::read_text(&layout.saved_places(name), MAX_PROFILE_FILE_BYTES, Links::Follow) {
            Ok(text) => match serde_json::from_str::<Vec<Place>>(&text) {
                Ok(places) => profile.places = places.iter().map(Place::line).collect(),
                Err(error) => profile.problems.push(format!("saved_places.json: {error}")),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => profile.problems.push(format!("saved_places.json: {error}")),
        }
        for problem in &mut profile.problems {
            *problem = truncate::line(problem, 200);
        }
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;
    use std::fs;

    #[test]
    fn a_profile_is_read_and_damage_is_reported() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::from_iter([("MARVIN_HOME", home.path().display().to_string())]);
        let layout = Layout::new(&environment, None);
        assert_eq!(active(&layout, None), "default");
        let directory = layout.profile("main");
        fs::create_dir_all(&directory).unwrap();
        fs::write(layout.last_profile(), "main\n").unwrap();
        assert_eq!(active(&layout, None), "main");
        assert_eq!(active(&layout, Some("My Friend/../x")), "my_friendx");
        fs::write(directory.join("preferences.yaml"), "budget: any\n").unwrap();
        fs::write(
            directory.join("saved_places.json"),
            r#"[{"label":"home","name":"Home","address":"1 Road","lat":1.5,"lng":2.0}]"#,
        )
        .unwrap();
        let profile = Profile::read(&layout, "main");
        assert_eq!(profile.preferences, "budget: any");
        assert_eq!(profile.places, ["home: Home: 1 Road: (1.5, 2)"]);
        fs::write(directory.join("saved_places.json"), "{").unwrap();
        assert!(Profile::read(&layout, "main").problems[0].starts_with("saved_places.json"));
    }
}
