//! `marvin config`: every setting with its value and where it came from.

use crate::failure::Failure;
use crate::{output, project};
use clap::Args;
use marvin_base::Exit;
use marvin_base::settings::{self, Settings, TABLE, reference, row, shown};
use serde_json::Value;

/// Show every setting with its value and where it came from
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  marvin config\n  marvin config limits.rounds\n  marvin config --json | jq '.[] | select(.origin != \"default\")'\n  marvin config --schema > config.schema.json"
)]
pub(crate) struct ConfigArguments {
    /// Only this setting
    key: Option<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// The JSON schema of config.toml
    #[arg(long, conflicts_with_all = ["key", "json"])]
    schema: bool,
    /// The reference of all settings, as Markdown
    #[arg(long, conflicts_with_all = ["key", "json", "schema"])]
    markdown: bool,
}

/// Shows all settings, one of them, the schema, or the reference.
pub(crate) fn run(arguments: &ConfigArguments) -> Result<Exit, Failure> {
    if arguments.schema {
        return output::line(&format!("{:#}", reference::schema()));
    }
    if arguments.markdown {
        return output::line(&reference::markdown());
    }
    let settings = project::context(None, true, Vec::new())?.settings;
    match &arguments.key {
        None if arguments.json => {
            let rows: Vec<Value> = settings.iter().map(|(setting, value)| row(setting, value)).collect();
            output::json(&rows)
        }
        None => output::line(&table(&settings)),
        Some(key) => {
            let setting = settings::find(key).ok_or_else(|| {
                let near = settings::nearest(key).map(|near| format!("; did you mean `{near}`?"));
                Failure::usage(format!("unknown setting `{key}`{}", near.unwrap_or_default()))
                    .hint("`marvin config` lists every key")
            })?;
            let value = settings.value(setting).ok_or_else(|| Failure::failed("the setting has no value"))?;
            if arguments.json {
                output::json(&row(setting, value))
            } else {
                output::line(&shown(setting, value))
            }
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
