//! Prices of replies, from a table in a data file.
//!
//! Money is counted in nano-dollars, as whole numbers: a thousand replies add up to exactly what they cost. A dollar per
//! million tokens is a thousand nano-dollars per token.

use crate::client::{Reply, Usage};
use marvin_base::truncate;
use serde::Deserialize;
use std::path::Path;

/// Nano-dollars in a dollar.
pub const DOLLAR: u64 = 1_000_000_000;

/// Dollars as nano-dollars; never negative.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to zero and rounded")]
pub fn nanos(dollars: f64) -> u64 {
    (dollars.max(0.0) * 1e9).round() as u64
}

#[must_use]
#[expect(clippy::cast_precision_loss, reason = "for display: exact below nine million dollars")]
pub fn dollars(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    #[serde(default)]
    provider: String,
    #[serde(default)]
    model: String,
    input: Option<f64>,
    cached: Option<f64>,
    output: Option<f64>,
    request: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    price: Vec<Price>,
}

/// The price table.
#[derive(Debug, Clone)]
pub struct Prices {
    rows: Vec<Price>,
}

/// Failure to use a price file.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} is not a price table: {reason}\n  hint: a row is [[price]] with model, input and output in dollars per million tokens"
)]
pub struct PriceError {
    path: String,
    reason: String,
}

impl Prices {
    /// The embedded table with a person's own rows after it.
    ///
    /// # Errors
    /// When the person's file is not a price table.
    pub fn load(own: Option<&Path>) -> Result<Self, PriceError> {
        let mut rows = parse("prices.toml", include_str!("../data/prices.toml"))?;
        if let Some(path) = own
            && path.exists()
        {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path)
                .map_err(|error| PriceError { path: name.clone(), reason: error.to_string() })?;
            rows.extend(parse(&name, &text)?);
        }
        Ok(Prices { rows })
    }

    /// The longest match, the later row among equals.
    fn find(&self, provider: &str, model: &str) -> Option<&Price> {
        self.rows
            .iter()
            .filter(|row| row.provider.is_empty() || row.provider == provider)
            .filter(|row| model.starts_with(&row.model))
            .max_by_key(|row| (!row.provider.is_empty(), row.model.len()))
    }

    /// Is there a price for this model? The programs `codex` and `claude` report their own or none.
    #[must_use]
    pub fn knows(&self, provider: &str, model: &str) -> bool {
        self.find(provider, model).is_some()
    }

    /// Cost of a reply in nano-dollars: as the vendor reports it, else by the table, else unknown.
    #[must_use]
    pub fn reply_cost(&self, provider: &str, model: &str, reply: &Reply) -> Option<u64> {
        reply.cost.or_else(|| self.find(provider, model).map(|row| row.cost(reply.usage)))
    }
}

impl Price {
    fn cost(&self, usage: Usage) -> u64 {
        // Dollars a million tokens, as pico-dollars a token: whole numbers even for the cheapest models.
        let per_token = |price: f64| u128::from(nanos(price / 1000.0));
        let input = per_token(self.input.unwrap_or(0.0));
        let cached = self.cached.map_or(input, per_token);
        let output = per_token(self.output.unwrap_or(0.0));
        let fresh = u128::from(usage.input.saturating_sub(usage.cached));
        let picos = fresh * input + u128::from(usage.cached) * cached + u128::from(usage.output) * output;
        u64::try_from(picos / 1000).unwrap_or(u64::MAX).saturating_add(nanos(self.request.unwrap_or(0.0)))
    }
}

fn parse(path: &str, text: &str) -> Result<Vec<Price>, PriceError> {
    let wrong = |reason: String| PriceError { path: path.to_string(), reason: truncate::line(&reason, 200) };
    let file: File = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    for row in &file.price {
        let amounts = [row.input, row.cached, row.output, row.request];
        if amounts.iter().flatten().any(|amount| !amount.is_finite() || *amount < 0.0) {
            return Err(wrong(format!("the price of `{}{}` is not 0 or more", row.provider, row.model)));
        }
    }
    Ok(file.price)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(input: u64, cached: u64, output: u64) -> Reply {
        Reply { usage: Usage { input, output, cached }, ..Reply::default() }
    }

    #[test]
    fn tokens_and_requests_are_priced() {
        let prices = Prices::load(None).unwrap();
        let of = |provider, model, reply: &Reply| prices.reply_cost(provider, model, reply);
        // 1,000 in at 2 dollars a million and 500 out at 12: 0.002 + 0.006.
        assert_eq!(of("gemini", "gemini-3-pro-preview", &reply(1000, 0, 500)), Some(8_000_000));
        assert_eq!(of("copilot", "gpt-5.2", &reply(9, 0, 9)), Some(40_000_000));
        assert_eq!(of("copilot", "claude-opus-4.6", &reply(9, 0, 9)), Some(120_000_000));
        assert_eq!(of("mock", "anything", &reply(9, 0, 9)), Some(0));
        assert_eq!(of("openai", "unheard-of", &reply(9, 0, 9)), None);
        // The longest name wins; cached input is cheaper.
        assert_eq!(of("openai", "gpt-5.2", &reply(1_000_000, 500_000, 0)), Some(875_000_000 + 87_500_000));
        let reported = Reply { cost: Some(7), ..reply(1, 0, 1) };
        assert_eq!(of("claude", "x", &reported), Some(7));
    }

    #[test]
    fn a_persons_own_rows_win() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("prices.toml");
        std::fs::write(&path, "[[price]]\nmodel = \"gpt-5.2\"\ninput = 1000.0\noutput = 0.0").unwrap();
        let prices = Prices::load(Some(&path)).unwrap();
        assert_eq!(prices.reply_cost("openai", "gpt-5.2", &reply(1, 0, 0)), Some(1_000_000));
        std::fs::write(&path, "[[price]]\ninput = -1.0").unwrap();
        assert!(Prices::load(Some(&path)).unwrap_err().to_string().contains("0 or more"));
    }
}
