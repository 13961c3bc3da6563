//! Which model answers: the provider that was asked for, else the one that is set, else the first with a key, else
//! `mock`. One table says what each provider needs; `marvin doctor` prints it.

use crate::client::{Failure, ModelClient, ModelError};
use crate::fallback::FallbackClient;
use crate::mock::Mock;
use crate::program::{ClaudeProgram, CodexProgram};
use crate::retry::RetryClient;
use crate::script::Script;
use crate::wire::{CopilotModel, HttpModel, HttpOptions, WireKind, is_local};
use marvin_base::environment::Environment;
use marvin_base::layout::Layout;
use marvin_base::settings::table::{self, PROVIDERS};
use marvin_base::settings::{Origin, Setting, Settings, nearest_of};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Settings of a provider behind HTTP.
struct Endpoint {
    provider: &'static str,
    wire: WireKind,
    url: &'static Setting,
    key: Option<&'static Setting>,
    model: &'static Setting,
    /// A file in `~/.ssh` that may hold the key.
    key_file: Option<&'static str>,
    /// Whether it answers without a key.
    free: bool,
}

static ENDPOINTS: [Endpoint; 8] = [
    Endpoint {
        provider: "anthropic",
        wire: WireKind::Anthropic,
        url: &table::ANTHROPIC_URL,
        key: Some(&table::ANTHROPIC_KEY),
        model: &table::ANTHROPIC_MODEL,
        key_file: None,
        free: false,
    },
    Endpoint {
        provider: "openai",
        wire: WireKind::OpenAi,
        url: &table::OPENAI_URL,
        key: Some(&table::OPENAI_KEY),
        model: &table::OPENAI_MODEL,
        key_file: None,
        free: false,
    },
    Endpoint {
        provider: "gemini",
        wire: WireKind::Gemini,
        url: &table::GEMINI_URL,
        key: Some(&table::GEMINI_KEY),
        model: &table::GEMINI_MODEL,
        key_file: Some("GEMINI_API_KEY"),
        free: false,
    },
    Endpoint {
        provider: "groq",
        wire: WireKind::OpenAi,
        url: &table::GROQ_URL,
        key: Some(&table::GROQ_KEY),
        model: &table::GROQ_MODEL,
        key_file: Some("GROQ_API_KEY"),
        free: false,
    },
    Endpoint {
        provider: "kimi",
        wire: WireKind::OpenAi,
        url: &table::KIMI_URL,
        key: Some(&table::KIMI_KEY),
        model: &table::KIMI_MODEL,
        key_file: Some("OPENROUTER_API_KEY"),
        free: false,
    },
    Endpoint {
        provider: "copilot",
        wire: WireKind::OpenAi,
        url: &table::COPILOT_URL,
        key: Some(&table::COPILOT_KEY),
        model: &table::COPILOT_MODEL,
        key_file: None,
        free: false,
    },
    Endpoint {
        provider: "ollama",
        wire: WireKind::Ollama,
        url: &table::OLLAMA_URL,
        key: None,
        model: &table::OLLAMA_MODEL,
        key_file: None,
        free: true,
    },
    Endpoint {
        provider: "local",
        wire: WireKind::OpenAi,
        url: &table::LOCAL_URL,
        key: Some(&table::LOCAL_KEY),
        model: &table::LOCAL_MODEL,
        key_file: None,
        free: true,
    },
];

/// Inputs of the choice of a client.
#[derive(Debug)]
pub struct Choice<'a> {
    /// The settings, flags included.
    pub settings: &'a Settings,
    /// The environment, for programs.
    pub environment: &'a Environment,
    /// The directories.
    pub layout: &'a Layout,
    /// Working directory of agent programs.
    pub workspace: &'a Path,
    /// Through which file the processes of the run share a script.
    pub script_state: Option<PathBuf>,
}

/// A provider as `marvin doctor` shows it.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ProviderStatus {
    /// Its name.
    pub provider: &'static str,
    /// Whether it could be asked now.
    pub ready: bool,
    /// Origin of its key by name, or its address or program.
    pub through: String,
    /// The model it would use.
    pub model: String,
    /// Hint when it is not ready.
    #[serde(rename = "mend")]
    pub hint: String,
}

/// The key of an endpoint and where it came from, by name.
fn key_of(endpoint: &Endpoint, settings: &Settings, layout: &Layout) -> Option<(String, String)> {
    if let Some(value) =
        endpoint.key.and_then(|key| settings.value(key)).filter(|value| !value.text.is_empty())
    {
        return Some((value.text.clone(), value.origin.to_string()));
    }
    let name = endpoint.key_file?;
    let text = fs::read_to_string(layout.home().join(".ssh").join(name)).ok()?;
    let key = text.trim();
    (!key.is_empty()).then(|| (key.to_string(), format!("~/.ssh/{name}")))
}

/// The address and the key of a provider behind HTTP; none where it needs a key and has none.
pub(crate) fn access(provider: &str, settings: &Settings, layout: &Layout) -> Option<(String, String)> {
    let endpoint = ENDPOINTS.iter().find(|endpoint| endpoint.provider == provider)?;
    let key = key_of(endpoint, settings, layout).map(|(key, _)| key);
    let key = if endpoint.free { key.unwrap_or_default() } else { key? };
    Some((settings.text(endpoint.url).to_string(), key))
}

/// Keys that lie in files, as (name, key), for the redactor.
#[must_use]
pub fn key_files(layout: &Layout) -> Vec<(String, String)> {
    ["GEMINI_API_KEY", "GROQ_API_KEY", "OPENROUTER_API_KEY", "MOONSHOT_API_KEY"]
        .into_iter()
        .filter_map(|name| {
            let text = fs::read_to_string(layout.home().join(".ssh").join(name)).ok()?;
            Some((name.to_string(), text.trim().to_string()))
        })
        .collect()
}

/// The name of the provider that would answer.
#[must_use]
pub fn provider_name(settings: &Settings, layout: &Layout) -> String {
    if let Some(name) = settings.given(&table::PROVIDER) {
        return name.to_string();
    }
    if settings.given(&table::SCRIPT).is_some() {
        return "mock".to_string();
    }
    // A model may be asked for by the name of its provider.
    if let Some(name) = settings.given(&table::MODEL).filter(|name| PROVIDERS.contains(name)) {
        return name.to_string();
    }
    ENDPOINTS
        .iter()
        .find(|endpoint| !endpoint.free && key_of(endpoint, settings, layout).is_some())
        .map_or("mock", |endpoint| endpoint.provider)
        .to_string()
}

/// Whether the built-in model would answer without a script: it shows tools, and cannot do the work of an agent.
#[must_use]
pub fn is_builtin(settings: &Settings, layout: &Layout) -> bool {
    provider_name(settings, layout) == "mock" && settings.given(&table::SCRIPT).is_none()
}

/// The client that answers.
///
/// # Errors
/// When something that the provider needs is missing, with a hint.
pub fn client(choice: &Choice<'_>) -> Result<Arc<dyn ModelClient>, ModelError> {
    let settings = choice.settings;
    let name = provider_name(settings, choice.layout);
    let wanted = settings.given(&table::MODEL).filter(|model| *model != name);
    let inner: Arc<dyn ModelClient> = match name.as_str() {
        "mock" => Arc::new(mock(choice)?),
        "codex" => {
            Arc::new(CodexProgram::from_settings(settings, choice.workspace, choice.environment, wanted)?)
        }
        "claude" => {
            Arc::new(ClaudeProgram::from_settings(settings, choice.workspace, choice.environment, wanted)?)
        }
        "copilot" => {
            let options = http(&name, choice, wanted)?;
            Arc::new(CopilotModel::new(options, settings.text(&table::COPILOT_TOKEN_URL))?)
        }
        _ => Arc::new(HttpModel::new(http(&name, choice, wanted)?)?),
    };
    let retries = u32::try_from(settings.whole(&table::RETRIES)).unwrap_or(0);
    Ok(Arc::new(RetryClient { inner, retries }))
}

/// The client that answers, with the one that takes its place where `model.fallback` names one.
///
/// # Errors
/// As [`client`], for both.
pub fn client_with_fallback(choice: &Choice<'_>) -> Result<Arc<dyn ModelClient>, ModelError> {
    let first = client(choice)?;
    let Some(named) = choice.settings.given(&table::FALLBACK) else { return Ok(first) };
    let (provider, model) = match provider_prefix(named) {
        Some((provider, model)) => (provider, Some(model)),
        None => (named, None),
    };
    if !PROVIDERS.contains(&provider) {
        let near = nearest_of(provider, PROVIDERS.iter().copied())
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        let message = format!("{}: unknown provider `{provider}`{near}", table::FALLBACK.key);
        return Err(ModelError::new(provider, Failure::Missing, message));
    }
    let wrong = |error: marvin_base::settings::SettingsError| {
        ModelError::new(provider, Failure::Missing, error.to_string())
    };
    let settings = choice.settings.with(&table::PROVIDER, provider).map_err(wrong)?;
    let settings = settings.with(&table::MODEL, model.unwrap_or_default()).map_err(wrong)?;
    let second =
        client(&Choice { settings: &settings, script_state: choice.script_state.clone(), ..*choice })?;
    Ok(Arc::new(FallbackClient::new(first, second)?))
}

/// The provider and the model of `PROVIDER:MODEL` or `PROVIDER/MODEL`.
#[must_use]
pub fn provider_prefix(name: &str) -> Option<(&str, &str)> {
    let (provider, model) = name.split_once([':', '/'])?;
    (PROVIDERS.contains(&provider) && !model.is_empty()).then_some((provider, model))
}

fn mock(choice: &Choice<'_>) -> Result<Mock, ModelError> {
    let Some(path) = choice.settings.given(&table::SCRIPT) else { return Ok(Mock::new(None)) };
    let script = Script::load(Path::new(path), choice.script_state.clone())
        .map_err(|error| ModelError::new("mock", Failure::Missing, error.to_string()))?;
    Ok(Mock::new(Some(script)))
}

fn http(name: &str, choice: &Choice<'_>, wanted: Option<&str>) -> Result<HttpOptions, ModelError> {
    let Some(endpoint) = ENDPOINTS.iter().find(|endpoint| endpoint.provider == name) else {
        let near = nearest_of(name, PROVIDERS.iter().copied())
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        let message = format!("unknown provider `{name}`{near} (known: {})", PROVIDERS.join(", "));
        return Err(ModelError::new(name, Failure::Missing, message));
    };
    let settings = choice.settings;
    let key = key_of(endpoint, settings, choice.layout).map(|(key, _)| key);
    if key.is_none() && !endpoint.free {
        return Err(ModelError::new(name, Failure::Missing, key_hint(endpoint)));
    }
    let url = settings.text(endpoint.url).to_string();
    let total = settings.seconds(&table::REQUEST_TIMEOUT);
    // A model on this machine may read a long prompt for many minutes, and no connection to it is lost silently.
    let is_default =
        settings.value(&table::FIRST_TOKEN_TIMEOUT).is_none_or(|value| value.origin == Origin::Default);
    let is_patient = is_local(&url) && is_default;
    let first = if is_patient { total } else { settings.seconds(&table::FIRST_TOKEN_TIMEOUT) };
    Ok(HttpOptions {
        provider: name.to_string(),
        wire: endpoint.wire,
        url,
        key,
        model: wanted.unwrap_or_else(|| settings.text(endpoint.model)).to_string(),
        headers: Vec::new(),
        connect: settings.seconds(&table::CONNECT_TIMEOUT),
        first,
        idle: settings.seconds(&table::IDLE_TIMEOUT),
        total,
        context: (name == "ollama")
            .then(|| u64::try_from(settings.whole(&table::OLLAMA_CONTEXT)).unwrap_or(0))
            .filter(|context| *context > 0),
    })
}

fn key_hint(endpoint: &Endpoint) -> String {
    let variables = endpoint.key.map(|key| key.variables).unwrap_or_default();
    let usual = format!("{}_API_KEY", endpoint.provider.to_uppercase());
    let own = variables
        .iter()
        .find(|name| **name == usual)
        .or_else(|| variables.iter().find(|name| !name.starts_with("MARVIN_")))
        .or(variables.first());
    format!(
        "no key: set {} (or {} in the user's config.toml)",
        own.copied().unwrap_or("a key"),
        endpoint.key.map_or("", |key| key.key)
    )
}

/// Every provider and whether it is ready, without asking any of them.
#[must_use]
pub fn survey(settings: &Settings, layout: &Layout, environment: &Environment) -> Vec<ProviderStatus> {
    let mut rows: Vec<ProviderStatus> = ENDPOINTS
        .iter()
        .map(|endpoint| {
            let key = key_of(endpoint, settings, layout);
            let url = settings.text(endpoint.url).to_string();
            let (ready, through, hint) = match (&key, endpoint.free) {
                (Some((_, origin)), _) => (true, format!("key from {origin}"), String::new()),
                (None, true) if answers(&url) => (true, url, String::new()),
                (None, true) => (false, url.clone(), format!("nothing listens at {url}: start the server")),
                (None, false) => (false, String::new(), key_hint(endpoint)),
            };
            let model = settings.text(endpoint.model).to_string();
            ProviderStatus { provider: endpoint.provider, ready, through, model, hint }
        })
        .collect();
    for (provider, program, model) in [
        ("codex", &table::CODEX_CLI, &table::CODEX_MODEL),
        ("claude", &table::CLAUDE_CLI, &table::CLAUDE_MODEL),
    ] {
        let name = settings.text(program);
        let found = find_program(name, environment);
        rows.push(ProviderStatus {
            provider,
            ready: found.is_some(),
            through: found.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
            model: settings.text(model).to_string(),
            hint: if found.is_some() {
                String::new()
            } else {
                format!("`{name}` is not on PATH: install it or set {}", program.key)
            },
        });
    }
    rows.push(ProviderStatus {
        provider: "mock",
        ready: true,
        through: settings
            .given(&table::SCRIPT)
            .map_or("built in".to_string(), |path| format!("script {path}")),
        model: "mock".to_string(),
        hint: String::new(),
    });
    rows
}

/// Does something listen on this machine at the address? Only loopback addresses are tried.
fn answers(url: &str) -> bool {
    use std::net::{TcpStream, ToSocketAddrs};
    let Some(host) = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()) else {
        return false;
    };
    let host = if host.contains(':') { host.to_string() } else { format!("{host}:80") };
    let Ok(addresses) = host.to_socket_addrs() else { return false };
    addresses
        .filter(|address| address.ip().is_loopback())
        .any(|address| TcpStream::connect_timeout(&address, std::time::Duration::from_millis(300)).is_ok())
}

/// A program on `PATH`, or at the path given.
#[must_use]
pub fn find_program(name: &str, environment: &Environment) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &Path| {
        fs::metadata(path).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| runs(path));
    }
    environment
        .get("PATH")?
        .split(':')
        .filter(|directory| directory.starts_with('/'))
        .map(|directory| Path::new(directory).join(name))
        .find(|path| runs(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::settings::Sources;

    fn chosen(variables: &[(&str, &str)]) -> String {
        let environment: Environment = variables.iter().copied().collect();
        let settings =
            Settings::load(&Sources { environment: environment.clone(), ..Sources::default() }).unwrap();
        provider_name(&settings, &Layout::new(&environment, None))
    }

    #[test]
    fn the_choice_follows_the_order() {
        assert_eq!(chosen(&[]), "mock");
        assert_eq!(chosen(&[("GROQ_API_KEY", "k")]), "groq");
        assert_eq!(chosen(&[("GROQ_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]), "anthropic");
        assert_eq!(chosen(&[("LLM_PROVIDER", "ollama"), ("ANTHROPIC_API_KEY", "k")]), "ollama");
        assert_eq!(chosen(&[("MARVIN_MODEL", "gemini"), ("ANTHROPIC_API_KEY", "k")]), "gemini");
        assert_eq!(chosen(&[("MARVIN_SCRIPT", "s.jsonl"), ("ANTHROPIC_API_KEY", "k")]), "mock");
    }

    #[test]
    fn a_key_file_counts() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".ssh")).unwrap();
        fs::write(home.path().join(".ssh/GEMINI_API_KEY"), "k\n").unwrap();
        assert_eq!(chosen(&[("HOME", home.path().to_str().unwrap())]), "gemini");
    }

    #[test]
    fn missing_keys_and_programs_are_named() {
        let environment = Environment::from_iter([("LLM_PROVIDER", "groq")]);
        let settings =
            Settings::load(&Sources { environment: environment.clone(), ..Sources::default() }).unwrap();
        let layout = Layout::new(&environment, None);
        let choice = Choice {
            settings: &settings,
            environment: &environment,
            layout: &layout,
            workspace: Path::new("."),
            script_state: None,
        };
        let error = client(&choice).err().unwrap().to_string();
        assert!(error.contains("GROQ_API_KEY") && error.contains("provider.groq.key"), "{error}");
    }
}
