//! Names of profiles, and which one is active.

use crate::layout::Layout;

/// The name of the active profile: the one asked for, else the last one (if its directory exists), else `default`.
#[must_use]
pub fn active(layout: &Layout, wanted: Option<&str>) -> String {
    if let Some(name) = wanted {
        return normal(name);
    }
    std::fs::read_to_string(layout.last_profile())
        .ok()
        .map(|name| normal(&name))
        .filter(|name| !name.is_empty() && layout.profile(name).is_dir())
        .unwrap_or_else(|| "default".to_string())
}

/// Normalises a name: lower case, spaces to `_`, nothing that could leave the directory of profiles.
#[must_use]
pub fn normal(name: &str) -> String {
    name.trim()
        .to_lowercase()
        .chars()
        .map(|c| if c.is_whitespace() { '_' } else { c })
        .filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        .take(64)
        .collect()
}
