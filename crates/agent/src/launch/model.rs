//! Choice of a model for a sub-agent or servitor: that of its tier, where the provider has it.

use crate::roles::Role;
use marvin_base::layout::Layout;
use marvin_base::settings::{Origin, Setting, Settings, table};
use marvin_model::choose;
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

    /// The model: that which is set for its tier; else that which the person named for the whole run; else the usual one of
    /// its tier, where this provider has it; else the model of this process; none: the provider's own.
    pub(crate) fn model(self, role: Role, provider: &str, settings: &Settings, layout: &Layout) -> ModelPick {
        let tier = self.tier(role);
        let value = tier.and_then(|tier| settings.value(tier)).filter(|value| !value.text.is_empty());
        let own = settings.given(&table::MODEL).filter(|name| !table::PROVIDERS.contains(name));
        // In a sub-agent the model is what its parent chose for its role, not what the person named.
        let named = own.filter(|_| settings.whole(&table::DEPTH) == 0);
        let plain = |model: &str| WantedModel { provider: None, model: model.to_string() };
        let (wanted, reason) = match value {
            Some(value) if value.origin != Origin::Default => match other_provider(provider, &value.text) {
                // A repository does not choose who reads the project.
                Some(_) if is_of_project(&value.origin, layout) => {
                    (own.map(plain), "is set by the project, which cannot choose another provider")
                }
                Some((provider, model)) => {
                    (Some(WantedModel { provider: Some(provider.to_string()), model: model.to_string() }), "")
                }
                None => (Some(plain(&value.text)), ""),
            },
            Some(value) if named.is_none() && serves(provider, &value.text) => (Some(plain(&value.text)), ""),
            // A person who named a model, and a script, expect no other.
            Some(_) if own.is_none() && provider != "mock" => (None, "is not a model of this provider"),
            _ => (own.map(plain), ""),
        };
        let passed_over = value.zip(tier).filter(|_| !reason.is_empty()).map(|(value, tier)| {
            let answers = own.unwrap_or("its own model");
            format!(
                "`{}` ({}) {reason}, so {provider} answers with {answers} (set `{}`, or name a model with --model)",
                tier.key, value.text, tier.key
            )
        });
        ModelPick { wanted, passed_over }
    }
}

/// A model that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WantedModel {
    /// Its provider, where it may be another than the run's.
    pub(crate) provider: Option<String>,
    pub(crate) model: String,
}

/// The model of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelPick {
    /// None: the model of the run.
    pub(crate) wanted: Option<WantedModel>,
    /// Why its tier does not count, for the person.
    pub(crate) passed_over: Option<String>,
}

/// The provider and the model in the name of a tier's model. At providers that sell models of others a slash is part of the
/// model's name; a colon always follows a provider.
fn other_provider<'a>(provider: &str, name: &'a str) -> Option<(&'a str, &'a str)> {
    let is_reseller = matches!(provider, "openai" | "groq" | "kimi");
    let has_colon = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(':'));
    choose::provider_prefix(name).filter(|(prefix, _)| !is_reseller || has_colon(prefix))
}

fn is_of_project(origin: &Origin, layout: &Layout) -> bool {
    matches!(origin, Origin::File(path) if *path != layout.user_config())
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
    use marvin_base::environment::Environment;

    fn pick(choice: ModelChoice, role: Role, provider: &str, settings: &Settings) -> ModelPick {
        choice.model(role, provider, settings, &Layout::new(&Environment::default(), None))
    }

    fn model(choice: ModelChoice, role: Role, provider: &str, settings: &Settings) -> Option<String> {
        pick(choice, role, provider, settings).wanted.map(|wanted| wanted.model)
    }

    #[test]
    fn a_tier_counts_where_it_is_set_or_served() {
        let settings = Settings::defaults().unwrap();
        let deep = settings.with(&table::DEPTH, "1").unwrap().with(&table::MODEL, "own").unwrap();
        let of = |choice, role, provider| model(choice, role, provider, &deep).unwrap();
        assert_eq!(of(ModelChoice::Auto, Role::Implementer, "copilot"), "gpt-5.3-codex");
        assert_eq!(of(ModelChoice::Auto, Role::Implementer, "anthropic"), "own");
        assert_eq!(of(ModelChoice::Opus, Role::Implementer, "anthropic"), "claude-opus-4.6");
        assert_eq!(of(ModelChoice::Auto, Role::Chat, "copilot"), "own");
        let set = settings.with(&table::TIER_CODEX, "mine").unwrap();
        assert_eq!(model(ModelChoice::Codex, Role::Chat, "mock", &set).unwrap(), "mine");
        assert_eq!(model(ModelChoice::Auto, Role::Reviewer, "mock", &set), None);
        assert_eq!(ModelChoice::find("plan_gen"), Ok(ModelChoice::PlanGen));
        assert!(ModelChoice::find("best").unwrap_err().to_string().contains("plan_gen"));
    }

    #[test]
    fn c8_the_model_that_a_person_names_is_that_of_every_agent() {
        let named = Settings::defaults().unwrap().with(&table::MODEL, "gpt-x").unwrap();
        let of = |settings: &Settings| model(ModelChoice::Auto, Role::Servitor, "openai", settings).unwrap();
        assert_eq!(of(&named), "gpt-x");
        let set = named.with(&table::TIER_CODEX, "gpt-y").unwrap();
        assert_eq!(of(&set), "gpt-y", "a tier that is set says more");
    }

    #[test]
    fn c4_a_tier_may_name_another_provider_and_is_not_passed_over_silently() {
        let settings = Settings::defaults().unwrap();
        let passed = pick(ModelChoice::Auto, Role::Reviewer, "openai", &settings);
        assert_eq!(passed.wanted, None);
        let text = passed.passed_over.unwrap();
        assert!(text.contains("`tier.opus` (claude-opus-4.6) is not a model of this provider"), "{text}");
        let wanted = |name: &str, provider: &str| {
            let set = settings.with(&table::TIER_OPUS, name).unwrap();
            let pick = pick(ModelChoice::Auto, Role::Reviewer, provider, &set);
            assert_eq!(pick.passed_over, None);
            pick.wanted.map(|wanted| (wanted.provider.unwrap_or_default(), wanted.model)).unwrap()
        };
        let both = |provider: &str, model: &str| (provider.to_string(), model.to_string());
        assert_eq!(wanted("anthropic:claude-x", "openai"), both("anthropic", "claude-x"));
        assert_eq!(wanted("anthropic/claude-x", "gemini"), both("anthropic", "claude-x"));
        assert_eq!(wanted("anthropic/claude-x", "kimi"), both("", "anthropic/claude-x"));
        assert_eq!(wanted("qwen3-coder:30b", "ollama"), both("", "qwen3-coder:30b"));
        let origin = Origin::File("/project/.marvin/config.toml".into());
        assert!(is_of_project(&origin, &Layout::new(&Environment::default(), None)));
    }
}
