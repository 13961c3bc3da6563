//! Choice of a model for a sub-agent or servitor: that of its tier, where the provider has it.

use crate::roles::Role;
use marvin_base::settings::{Origin, Setting, Settings, table};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

/// Which model a sub-agent uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelChoice {
    /// What suits its role.
    #[default]
    Auto,
    /// For implementation.
    Codex,
    /// For reviews.
    Opus,
    /// For debugging.
    Plan,
    /// For specifications and designs.
    PlanGen,
    /// For tests.
    TestWriter,
    /// For further reviews.
    AuxReviewer,
    /// For when another fails.
    Fallback,
}

impl ModelChoice {
    /// The choice of this name.
    ///
    /// # Errors
    /// When the name is unknown; it lists all.
    pub(crate) fn find(name: &str) -> Result<Self, Error> {
        let text: StrDeserializer<'_, Error> = name.into_deserializer();
        ModelChoice::deserialize(text)
    }

    fn tier(self, role: Role) -> Option<&'static Setting> {
        match self {
            ModelChoice::Auto => role.tier(),
            ModelChoice::Codex => Some(&table::TIER_CODEX),
            ModelChoice::Opus => Some(&table::TIER_OPUS),
            ModelChoice::Plan => Some(&table::TIER_PLAN),
            ModelChoice::PlanGen => Some(&table::TIER_PLAN_GEN),
            ModelChoice::TestWriter => Some(&table::TIER_TEST_WRITER),
            ModelChoice::AuxReviewer => Some(&table::TIER_AUX_REVIEWER),
            ModelChoice::Fallback => Some(&table::TIER_FALLBACK),
        }
    }

    /// The model of its tier, where a person set one or this provider has the usual one; else the model of this process.
    pub(crate) fn model(
        self,
        role: Role,
        provider: &str,
        settings: &Settings,
        own: Option<&str>,
    ) -> Option<String> {
        let of_tier = self.tier(role).and_then(|tier| settings.value(tier)).filter(|value| {
            !value.text.is_empty() && (value.origin != Origin::Default || serves(provider, &value.text))
        });
        of_tier.map(|value| value.text.clone()).or_else(|| own.map(str::to_string))
    }
}

/// Does a provider have models of this name?
fn serves(provider: &str, model: &str) -> bool {
    match provider {
        "copilot" => true,
        "openai" => model.starts_with("gpt-"),
        "anthropic" => model.starts_with("claude-"),
        "gemini" => model.starts_with("gemini-"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tier_counts_where_it_is_set_or_served() {
        let settings = Settings::defaults().unwrap();
        let model =
            |choice: ModelChoice, role, provider| choice.model(role, provider, &settings, Some("own"));
        assert_eq!(model(ModelChoice::Auto, Role::Implementer, "copilot").unwrap(), "gpt-5.3-codex");
        assert_eq!(model(ModelChoice::Auto, Role::Implementer, "anthropic").unwrap(), "own");
        assert_eq!(model(ModelChoice::Opus, Role::Implementer, "anthropic").unwrap(), "claude-opus-4.6");
        assert_eq!(model(ModelChoice::Auto, Role::Chat, "copilot").unwrap(), "own");
        let settings = settings.with(&table::TIER_CODEX, "mine").unwrap();
        assert_eq!(ModelChoice::Codex.model(Role::Chat, "mock", &settings, None).unwrap(), "mine");
        assert_eq!(ModelChoice::Auto.model(Role::Reviewer, "mock", &settings, None), None);
        assert_eq!(ModelChoice::find("plan_gen"), Ok(ModelChoice::PlanGen));
        assert!(ModelChoice::find("best").unwrap_err().to_string().contains("plan_gen"));
    }
}
