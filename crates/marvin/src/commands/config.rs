//! `marvin config`: every setting with its value and where it came from.

use crate::commands::ground;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_base::settings::{self, Settings, TABLE, reference, row, shown};

/// Shows all settings, one of them, the schema, or the reference.
pub(super) fn run(key: Option<&str>, json: bool, schema: bool, markdown: bool) -> Result<Exit, Failure> {
    if schema {
        return output::line(&format!("{:#}", reference::schema()));
    }
    if markdown {
        return output::line(&reference::markdown());
    }
    let settings = ground(true)?.settings;
    match key {
        None if json => {
            let rows: Vec<serde_json::Value> =
                settings.iter().map(|(setting, value)| row(setting, value)).collect();
            output::json(&serde_json::Value::Array(rows))
        }
        None => output::line(&table(&settings)),
        Some(key) => {
            let setting = settings::find(key).ok_or_else(|| {
                let near = settings::nearest(key).map(|near| format!("; did you mean `{near}`?"));
                Failure::usage(format!(
                    "unknown setting `{key}`{}\n  hint: `marvin config` lists every key",
                    near.unwrap_or_default()
                ))
            })?;
            let value = settings.value(setting).ok_or_else(|| Failure::failed("the setting has no value"))?;
            if json { output::json(&row(setting, value)) } else { output::line(&shown(setting, value)) }
        }
    }
}

fn table(settings: &Settings) -> String {
    let width = TABLE.iter().map(|setting| setting.key.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (setting, value) in settings.iter() {
        let shown = shown(setting, value);
        let shown = if shown.is_empty() { "(unset)".to_string() } else { shown };
        text.push_str(&format!("{:width$}  {shown}  [{}]\n", setting.key, value.origin));
    }
    text
}
