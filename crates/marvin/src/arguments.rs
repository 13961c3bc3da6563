//! Arguments that several commands share, and the parsers of their values.

use crate::project::Flags;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use marvin_base::settings::{Kind, Setting, nearest_of, table};
use marvin_hook_client::Client;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Tier names as a person writes them, and the settings behind them.
static TIERS: [(&str, &Setting); 9] = [
    ("low", &table::TIER_CODEX),
    ("high", &table::TIER_OPUS),
    ("codex", &table::TIER_CODEX),
    ("opus", &table::TIER_OPUS),
    ("plan", &table::TIER_PLAN),
    ("plan_gen", &table::TIER_PLAN_GEN),
    ("test_writer", &table::TIER_TEST_WRITER),
    ("aux_reviewer", &table::TIER_AUX_REVIEWER),
    ("fallback", &table::TIER_FALLBACK),
];

/// A value that an option does not take.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct InvalidValue(pub(crate) String);

/// The project of a command, and the form of its answer.
#[derive(Debug, Args)]
pub(crate) struct ProjectArguments {
    /// The project's directory (default: the project around this directory)
    #[arg(long, value_name = "PATH")]
    pub(crate) working_dir: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The model of a command, and what it may cost.
#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    /// The provider (default: the first with a key, else the built-in mock)
    #[arg(long, visible_alias = "llm", value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// The model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// A script for the mock provider (JSONL)
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Stop everything when this many US dollars are spent (exit code 6)
    #[arg(long, value_name = "USD", value_parser = parse_cost)]
    pub(crate) max_cost: Option<CostLimit>,
}

impl ModelArguments {
    pub(crate) fn flags(&self) -> Flags {
        setting_flags([
            (&table::PROVIDER, self.provider.clone()),
            (&table::MODEL, self.model.clone()),
            (&table::SCRIPT, path_text(self.script.as_ref())),
            (&table::MAX_COST, text(self.max_cost)),
        ])
    }
}

/// The settings that were given a value.
pub(crate) fn setting_flags<const N: usize>(values: [(&Setting, Option<String>); N]) -> Flags {
    values.into_iter().filter_map(|(setting, value)| Some((setting.key, value?))).collect()
}

/// The text of a value, as a setting takes it.
pub(crate) fn text(value: Option<impl fmt::Display>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// The text of a path, as a setting takes it.
pub(crate) fn path_text(path: Option<&PathBuf>) -> Option<String> {
    path.map(|path| path.display().to_string())
}

/// US dollars that may be spent; none: no limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CostLimit(Option<f64>);

impl fmt::Display for CostLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |usd| usd.fmt(formatter))
    }
}

/// Parses US dollars; an empty text means no limit.
pub(crate) fn parse_cost(text: &str) -> Result<CostLimit, InvalidValue> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(CostLimit(None));
    }
    let usd = text.parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0);
    usd.map(|usd| CostLimit(Some(usd))).ok_or_else(|| InvalidValue("not a number, 0 or more".into()))
}

/// Seconds until a deadline; zero: no limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Duration);

impl fmt::Display for Deadline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_secs().fmt(formatter)
    }
}

/// Parses the seconds of a deadline; an empty text means no limit.
pub(crate) fn parse_deadline(text: &str) -> Result<Deadline, InvalidValue> {
    let seconds = if text.trim().is_empty() { 0 } else { parse_whole(&table::DEADLINE, text)? };
    Ok(Deadline(Duration::from_secs(seconds)))
}

/// Parses a number of tool rounds.
pub(crate) fn parse_rounds(text: &str) -> Result<u64, InvalidValue> {
    parse_whole(&table::MAX_ROUNDS, text)
}

/// Parses a whole number within the bounds of a setting.
fn parse_whole(setting: &Setting, text: &str) -> Result<u64, InvalidValue> {
    let Kind::Whole(least, most) = setting.kind else {
        return Err(InvalidValue(format!("{} does not hold a number", setting.key)));
    };
    let number = text.trim().replace('_', "").parse::<i64>().ok();
    let number = number.filter(|number| (least..=most).contains(number));
    number.and_then(|number| u64::try_from(number).ok()).ok_or_else(|| {
        let most = if most == i64::MAX { " or more".to_string() } else { format!(" to {most}") };
        InvalidValue(format!("not a whole number, {least}{most}"))
    })
}

/// A model, or the model of a tier.
#[derive(Debug, Clone)]
pub(crate) struct ModelChoice {
    key: &'static str,
    name: String,
}

impl ModelChoice {
    pub(crate) fn flag(&self) -> (&'static str, String) {
        (self.key, self.name.clone())
    }
}

/// Parses `MODEL` or `TIER=MODEL`.
pub(crate) fn parse_model(text: &str) -> Result<ModelChoice, InvalidValue> {
    let Some((tier, name)) = text.split_once('=') else {
        return Ok(ModelChoice { key: table::MODEL.key, name: text.to_string() });
    };
    let setting = TIERS.iter().find(|(known, _)| *known == tier).map(|(_, setting)| *setting);
    let setting = setting.ok_or_else(|| {
        let near = nearest_of(tier, TIERS.iter().map(|(known, _)| *known));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let all: Vec<&str> = TIERS.iter().map(|(known, _)| *known).collect();
        InvalidValue(format!("no tier is called `{tier}`{near} (there are: {})", all.join(", ")))
    })?;
    Ok(ModelChoice { key: setting.key, name: name.to_string() })
}

/// Parses the address of a server.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, InvalidValue> {
    let address = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    address.ok_or_else(|| InvalidValue("not an address; write 127.0.0.1:0 or [::1]:8080".into()))
}

/// A parser of the clients whose hooks are answered.
pub(crate) fn client_parser() -> impl TypedValueParser<Value = Client> {
    PossibleValuesParser::new(["claude", "codex"]).try_map(|name| {
        Client::read(&name).ok_or_else(|| InvalidValue(format!("no client is called {name}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_what_the_settings_take() {
        assert_eq!(parse_cost(" 2.50 ").unwrap().to_string(), "2.5");
        assert_eq!(parse_cost("").unwrap().to_string(), "");
        assert!(parse_cost("-1").is_err() && parse_cost("much").is_err() && parse_cost("inf").is_err());
        assert_eq!(parse_deadline("1_000").unwrap().to_string(), "1000");
        assert_eq!(parse_deadline("").unwrap().to_string(), "0");
        assert!(parse_deadline("-").is_err() && parse_rounds("0").is_err() && parse_rounds("10001").is_err());
    }

    #[test]
    fn a_model_can_belong_to_a_tier() {
        assert_eq!(parse_model("gpt").unwrap().flag(), ("model.name", "gpt".to_string()));
        assert_eq!(parse_model("low=gpt").unwrap().flag(), ("tier.codex", "gpt".to_string()));
        assert!(parse_model("lo=gpt").unwrap_err().to_string().contains("did you mean `low`"));
    }
}
