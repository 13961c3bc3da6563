//! Unit conversion, and of currencies by the rates of the day.

use crate::context::ToolContext;
use crate::result::{Output, ToolError};
use crate::tool::{DynTool, Tool};
use crate::utilities::currency;
use async_trait::async_trait;
use marvin_gate::{Intent, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) fn tools() -> Vec<Arc<dyn DynTool>> {
    vec![Arc::new(ConvertUnits)]
}

#[derive(Debug, Clone, Copy)]
pub struct ConvertUnits;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConvertInput {
    /// The number.
    value: f64,
    /// Its unit, for example "miles", "kg", "°C", or a currency such as "USD".
    from_unit: String,
    /// The wanted unit.
    to_unit: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ConvertData {
    value: f64,
    from_unit: String,
    to_unit: String,
    /// With its unit.
    result: String,
    /// The day of the rate, for currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_date: Option<String>,
}

#[async_trait]
impl Tool for ConvertUnits {
    type Input = ConvertInput;
    type Data = ConvertData;
    const NAME: &'static str = "convert_units";
    const DESCRIPTION: &'static str = "Convert a value between units of measure (length, mass, temperature, data, …) or currencies (USD, EUR, …).";
    const EXAMPLE: &'static str = r#"{"value": 26.2, "from_unit": "miles", "to_unit": "km"}"#;
    const TOUCHES: Touches = Touches::NETWORK;

    fn intents(input: &ConvertInput, context: &ToolContext) -> Vec<Intent> {
        // Without a request the call returns the error, or needs none.
        let pair = currencies(&input.from_unit, &input.to_unit).ok().flatten();
        let request = pair.and_then(|(from, to)| currency::request(from, to, context).ok());
        request.map(|request| request.intent()).into_iter().collect()
    }

    async fn call(
        &self,
        input: ConvertInput,
        context: &ToolContext,
    ) -> Result<Output<ConvertData>, ToolError> {
        let (answer, rate_date) = match currencies(&input.from_unit, &input.to_unit)? {
            None => (convert(input.value, &input.from_unit, &input.to_unit)?, None),
            Some((from, to)) if from == to => (format!("{:.2} {to}", input.value), None),
            Some((from, to)) => {
                let rate = currency::rate(from, to, context).await?;
                let amount = input.value * rate.rate;
                let age =
                    rate.age.map(|age| format!(", read {} min ago", age.as_secs() / 60)).unwrap_or_default();
                let answer =
                    format!("{amount:.2} {to} (rate {} of {}{age}, Frankfurter)", rate.rate, rate.date);
                (answer, Some(rate.date.to_string()))
            }
        };
        let summary = format!("{} {} = {answer}", input.value, input.from_unit.trim());
        let data = ConvertData {
            value: input.value,
            from_unit: input.from_unit,
            to_unit: input.to_unit,
            result: answer,
            rate_date,
        };
        Ok(Output::line(summary, data))
    }
}

/// The currencies of a conversion; none where it is about units.
fn currencies(from: &str, to: &str) -> Result<Option<(&'static str, &'static str)>, ToolError> {
    match (currency::code(from), currency::code(to)) {
        (Some(from), Some(to)) => Ok(Some((from, to))),
        (None, None) => Ok(None),
        (Some(_), None) | (None, Some(_)) => Err(ToolError::Usage(format!(
            "`{from}` and `{to}` are not both currencies with a known rate; currencies are written as USD, EUR, GBP, …"
        ))),
    }
}

fn convert(value: f64, from: &str, to: &str) -> Result<String, ToolError> {
    if let (Some(from), Some(to)) = (temperature(from), temperature(to)) {
        return convert_temperature(value, from, to);
    }
    for unit in [from, to] {
        check_unit(unit)?;
    }
    let answer = evaluate(&format!("({value} {}) to ({})", from.trim(), to.trim()))
        .map_err(|error| ToolError::Failed(format!("cannot convert `{from}` to `{to}`: {error}")))?;
    Ok(answer.strip_prefix("approx. ").unwrap_or(&answer).to_string())
}

/// Checks that a text is a unit and nothing else of the calculator's language.
fn check_unit(unit: &str) -> Result<(), ToolError> {
    let plain = |letter: char| letter.is_alphabetic() || " /^*-²³µ°Ω%\"'0123456789".contains(letter);
    if unit.trim().is_empty() || unit.chars().count() > 40 || !unit.chars().all(plain) {
        return Err(ToolError::Usage(format!("`{unit}` is not a unit.")));
    }
    evaluate(&format!("1 ({})", unit.trim())).map(|_| ()).map_err(|_| {
        ToolError::Usage(format!(
            "the unit `{unit}` is not known; use its usual name or symbol, such as km, lb, litre, GiB."
        ))
    })
}

fn evaluate(expression: &str) -> Result<String, ToolError> {
    let mut context = fend_core::Context::new();
    let result = fend_core::evaluate_with_interrupt(expression, &mut context, &Deadline::soon());
    Ok(result.map_err(ToolError::Failed)?.get_main_result().to_string())
}

/// Ends a calculation that takes too long.
struct Deadline(Instant);

impl Deadline {
    fn soon() -> Self {
        Deadline(Instant::now() + Duration::from_secs(2))
    }
}

impl fend_core::Interrupt for Deadline {
    fn should_interrupt(&self) -> bool {
        Instant::now() > self.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Temperature {
    Celsius,
    Fahrenheit,
    Kelvin,
}

fn temperature(unit: &str) -> Option<Temperature> {
    let unit = unit.trim().to_lowercase();
    let unit = unit.trim_start_matches("degrees ").trim_start_matches("degree ").trim_start_matches("deg ");
    match unit.trim_start_matches('°').trim() {
        "c" | "celsius" | "centigrade" => Some(Temperature::Celsius),
        "f" | "fahrenheit" => Some(Temperature::Fahrenheit),
        "k" | "kelvin" | "kelvins" => Some(Temperature::Kelvin),
        _ => None,
    }
}

/// Points on a scale, not differences: 0 °C is 32 °F.
fn convert_temperature(value: f64, from: Temperature, to: Temperature) -> Result<String, ToolError> {
    let kelvin = match from {
        Temperature::Celsius => value + 273.15,
        Temperature::Fahrenheit => (value + 459.67) * 5.0 / 9.0,
        Temperature::Kelvin => value,
    };
    if kelvin < 0.0 {
        return Err(ToolError::Usage(
            "this temperature is below absolute zero, which is -273.15 °C, -459.67 °F or 0 K.".into(),
        ));
    }
    let (answer, symbol) = match to {
        Temperature::Celsius => (kelvin - 273.15, "°C"),
        Temperature::Fahrenheit => (kelvin * 9.0 / 5.0 - 459.67, "°F"),
        Temperature::Kelvin => (kelvin, "K"),
    };
    // Rounded where binary fractions would show; adding zero turns -0 into 0.
    Ok(format!("{} {symbol}", (answer * 1e6).round() / 1e6 + 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_temperatures() {
        for (value, from, to, expected) in [
            (1.0, "mile", "km", "1.609344 km"),
            (26.2, "miles", "km", "42.1648128 km"),
            (1.0, "GiB", "MiB", "1024 MiB"),
            (100.0, "°C", "°F", "212 °F"),
            (-40.0, "C", "F", "-40 °F"),
            (0.0, "K", "celsius", "-273.15 °C"),
            (-3.0, "m", "cm", "-300 cm"),
            (90.0, "km/h", "m/s", "25 m / s"),
        ] {
            assert_eq!(convert(value, from, to).unwrap(), expected, "{value} {from} {to}");
        }
    }

    #[test]
    fn temperatures_below_absolute_zero_are_refused() {
        for (value, unit, other) in [(-500.0, "°C", "°F"), (-460.0, "F", "C"), (-1.0, "kelvin", "C")] {
            let error = convert(value, unit, other).unwrap_err().to_string();
            assert!(error.contains("below absolute zero"), "{value} {unit}: {error}");
        }
        assert_eq!(convert(-459.67, "F", "K").unwrap(), "0 K");
    }

    #[test]
    fn impossible_conversions_are_named() {
        let message = |from, to| convert(1.0, from, to).unwrap_err().to_string();
        assert!(message("florbs", "km").contains("`florbs` is not known"));
        assert!(currencies("USD", "km").unwrap_err().to_string().contains("not both currencies"));
        assert_eq!(currencies("usd", "€").unwrap(), Some(("USD", "EUR")));
        assert_eq!(currencies("bar", "psi").unwrap(), None);
        assert!(message("kg", "km").contains("cannot convert"));
        assert!(message("1) + (2", "km").contains("not a unit"));
    }
}
