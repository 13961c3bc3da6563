//! A row of the table of programs, as the file writes it. The build reads it too.

/// What one kind of programs does.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row<Class> {
    pub(super) names: String,
    pub(super) class: Class,
    #[serde(default)]
    pub(super) why: String,
    #[serde(default)]
    pub(super) flags: String,
    #[serde(default)]
    pub(super) values: String,
    #[serde(default)]
    pub(super) reads: String,
    #[serde(default)]
    pub(super) writes: String,
    #[serde(default)]
    pub(super) runs: String,
    #[serde(default)]
    pub(super) asks: String,
    #[serde(default)]
    pub(super) denies: String,
    #[serde(default)]
    pub(super) skip: usize,
    #[serde(default)]
    pub(super) patterns: String,
    #[serde(default)]
    pub(super) device: bool,
    #[serde(default)]
    pub(super) allow: String,
    #[serde(default)]
    pub(super) ask: String,
    #[serde(default)]
    pub(super) deny: String,
}
