//! Rates of currencies, from Frankfurter (the European Central Bank's).

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Failure, Request};
use marvin_gate::network::Service;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Currencies that the service knows.
const CURRENCIES: [&str; 31] = [
    "AUD", "BGN", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR",
    "ISK", "JPY", "KRW", "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "SEK", "SGD", "THB", "TRY", "USD",
    "ZAR",
];

/// The code of a currency, if the text is one.
pub(crate) fn code(text: &str) -> Option<&'static str> {
    let text = text.trim().to_uppercase();
    let text = match text.as_str() {
        "€" | "EURO" | "EUROS" => "EUR",
        "$" | "US$" | "DOLLAR" | "DOLLARS" => "USD",
        "£" => "GBP",
        "¥" | "YEN" => "JPY",
        other => other,
    };
    CURRENCIES.iter().copied().find(|code| *code == text)
}

/// Answer of Frankfurter.
#[derive(Debug, Deserialize)]
struct RateAnswer {
    date: jiff::civil::Date,
    rates: BTreeMap<String, f64>,
}

/// A rate of a day.
#[derive(Debug)]
pub(crate) struct Rate {
    pub(crate) rate: f64,
    pub(crate) date: jiff::civil::Date,
    /// Age of the answer, if it comes from the cache.
    pub(crate) age: Option<Duration>,
}

/// The request for a rate.
pub(crate) fn request(from: &str, to: &str, context: &ToolContext) -> Result<Request, ToolError> {
    Ok(Request::new(Service::Frankfurter, &["v1", "latest"], &[("base", from), ("symbols", to)], context)?)
}

/// The rate between two currencies that differ.
pub(crate) async fn rate(from: &str, to: &str, context: &ToolContext) -> Result<Rate, ToolError> {
    let request = request(from, to, context)?;
    let reply = request.ask::<RateAnswer>(context).await?;
    let rate = reply.data.rates.get(to).copied().filter(|rate| rate.is_finite() && *rate > 0.0);
    let rate = rate.ok_or_else(|| {
        request.failed(Failure::Malformed(format!("no rate of {to}")), "try later, or work without it")
    })?;
    Ok(Rate { rate, date: reply.data.date, age: reply.age })
}
