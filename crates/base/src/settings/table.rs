//! Every setting there is.
//!
//! The seeds' own environment variables are aliases; the first variable of a row is Marvin's name for it.

use super::Kind::{Amount, Choice, Json, List, Secret, Switch, Text, Whole};
use super::Scope::{Anyone, Person, Process};
use super::Setting;

/// Names of the providers, in the order in which a key decides when nothing else does.
pub const PROVIDERS: [&str; 11] = [
    "anthropic",
    "openai",
    "gemini",
    "groq",
    "kimi",
    "copilot",
    "ollama",
    "local",
    "codex",
    "claude",
    "mock",
];

/// Names of the roles that an agent can have.
pub const ROLES: [&str; 14] = [
    "Chat",
    "Coder",
    "Coordinator",
    "Servitor",
    "Research",
    "Planner",
    "Implementer",
    "Debugger",
    "Reviewer",
    "TestTriager",
    "TestWriter",
    "DocumentWriter",
    "SkillBuilder",
    "Evaluator",
];

/// Keys without effect that files of earlier versions may hold: they are accepted and ignored.
pub const RETIRED_KEYS: [&str; 3] = ["memory.stm.dimensions", "tools.roots", "tools.session_grant"];

const MANY: i64 = i64::MAX;

macro_rules! settings {
    ($($name:ident = $key:literal, $kind:expr, $default:literal, $scope:ident, [$($variable:literal),*], $meaning:literal;)*) => {
        $(#[doc = $meaning] pub static $name: Setting = Setting {
            key: $key, kind: $kind, default: $default, scope: $scope, variables: &[$($variable),*], meaning: $meaning,
        };)*
        /// Every row, in the order of `marvin config`.
        pub static TABLE: &[&Setting] = &[$(&$name),*];
    };
}

settings! {
    PROVIDER = "model.provider", Choice(&PROVIDERS), "", Person, ["MARVIN_PROVIDER", "LLM_PROVIDER", "TOKIMON_LLM"],
        "Provider; unset: the first with a key, else mock";
    MODEL = "model.name", Text, "", Anyone, ["MARVIN_MODEL"],
        "Model of the provider; unset: the provider's own default";
    FALLBACK = "model.fallback", Text, "", Person, ["MARVIN_FALLBACK"],
        "Provider, or PROVIDER:MODEL, that answers for the rest of a turn when the provider fails; unset: the turn fails";
    PROTOCOL = "model.protocol", Choice(&["auto", "native", "json", "action"]), "auto", Anyone, ["MARVIN_PROTOCOL"],
        "How tools are called: native calls, JSON in text, or {message, spawn} in text; auto: what the provider can do";
    SCRIPT = "model.script", Text, "", Person, ["MARVIN_SCRIPT"],
        "Script that the mock provider plays (JSONL)";

    OPENAI_URL = "provider.openai.url", Text, "https://api.openai.com/v1", Person,
        ["MARVIN_OPENAI_URL", "OPENAI_COMPAT_URL", "BOB_CHAT_BASE_URL", "OPENAI_BASE_URL"],
        "Base URL of the OpenAI-compatible endpoint; /chat/completions is appended where missing";
    OPENAI_KEY = "provider.openai.key", Secret, "", Person,
        ["MARVIN_OPENAI_KEY", "OPENAI_COMPAT_API_KEY", "BOB_CHAT_API_KEY", "OPENAI_API_KEY"],
        "Key of the OpenAI-compatible endpoint";
    OPENAI_MODEL = "provider.openai.model", Text, "gpt-5.2", Person,
        ["MARVIN_OPENAI_MODEL", "OPENAI_COMPAT_MODEL", "BOB_CHAT_MODEL"],
        "Model of the openai provider";
    ANTHROPIC_URL = "provider.anthropic.url", Text, "https://api.anthropic.com", Person,
        ["MARVIN_ANTHROPIC_URL", "ANTHROPIC_BASE_URL"], "Base URL of the Anthropic endpoint";
    ANTHROPIC_KEY = "provider.anthropic.key", Secret, "", Person,
        ["MARVIN_ANTHROPIC_KEY", "ANTHROPIC_API_KEY"], "Key of the Anthropic endpoint";
    ANTHROPIC_MODEL = "provider.anthropic.model", Text, "claude-opus-4.6", Person,
        ["MARVIN_ANTHROPIC_MODEL"], "Model of the anthropic provider";
    GEMINI_URL = "provider.gemini.url", Text, "https://generativelanguage.googleapis.com", Person,
        ["MARVIN_GEMINI_URL"], "Base URL of the Gemini endpoint";
    GEMINI_KEY = "provider.gemini.key", Secret, "", Person,
        ["MARVIN_GEMINI_KEY", "GEMINI_API_KEY"], "Key of the Gemini endpoint (else ~/.ssh/GEMINI_API_KEY)";
    GEMINI_MODEL = "provider.gemini.model", Text, "gemini-3-pro-preview", Person,
        ["MARVIN_GEMINI_MODEL", "GEMINI_MODEL"], "Model of the gemini provider";
    GROQ_URL = "provider.groq.url", Text, "https://api.groq.com/openai/v1", Person,
        ["MARVIN_GROQ_URL"], "Base URL of the Groq endpoint";
    GROQ_KEY = "provider.groq.key", Secret, "", Person,
        ["MARVIN_GROQ_KEY", "GROQ_API_KEY"], "Key of the Groq endpoint (else ~/.ssh/GROQ_API_KEY)";
    GROQ_MODEL = "provider.groq.model", Text, "llama-3.3-70b-versatile", Person,
        ["MARVIN_GROQ_MODEL", "GROQ_MODEL"], "Model of the groq provider";
    WHISPER_MODEL = "provider.groq.whisper_model", Text, "whisper-large-v3", Person,
        ["MARVIN_WHISPER_MODEL", "WHISPER_MODEL"], "Model that turns speech into text";
    VOICE_RECORDER = "voice.recorder", Text, "", Person, ["MARVIN_VOICE_RECORDER"],
        "Command that records speech into the file FILE until it is ended, as WAV or as raw 16-bit samples (16 kHz, mono); unset: the first of arecord, parecord, pw-record, rec and ffmpeg";
    VOICE_PROGRAM = "voice.program", Text, "", Person, ["MARVIN_VOICE_PROGRAM"],
        "Command that prints the text of the recording FILE, such as `whisper-cli -m base.bin -nt -f FILE`; unset: a provider transcribes it";
    VOICE_URL = "voice.url", Text, "", Person, ["MARVIN_VOICE_URL"],
        "Base URL of another service with OpenAI's /audio/transcriptions; unset: Groq or OpenAI, by their keys";
    VOICE_KEY = "voice.key", Secret, "", Person, ["MARVIN_VOICE_KEY"], "Key of that service, where it wants one";
    VOICE_MODEL = "voice.model", Text, "whisper-1", Person, ["MARVIN_VOICE_MODEL"],
        "Model of that service, or of OpenAI, that turns speech into text";
    KIMI_URL = "provider.kimi.url", Text, "https://openrouter.ai/api/v1", Person,
        ["MARVIN_KIMI_URL", "KIMI_URL"], "Base URL of the Kimi endpoint";
    KIMI_KEY = "provider.kimi.key", Secret, "", Person,
        ["MARVIN_KIMI_KEY", "KIMI_API_KEY", "OPENROUTER_API_KEY", "MOONSHOT_API_KEY"],
        "Key of the Kimi endpoint (else ~/.ssh/OPENROUTER_API_KEY)";
    KIMI_MODEL = "provider.kimi.model", Text, "moonshotai/kimi-k2.5", Person,
        ["MARVIN_KIMI_MODEL", "KIMI_MODEL"], "Model of the kimi provider";
    COPILOT_URL = "provider.copilot.url", Text, "https://api.githubcopilot.com", Person,
        ["MARVIN_COPILOT_URL"], "Base URL of the Copilot endpoint";
    COPILOT_TOKEN_URL = "provider.copilot.token_url", Text, "https://api.github.com/copilot_internal/v2/token", Person,
        ["MARVIN_COPILOT_TOKEN_URL"], "URL at which a GitHub token is exchanged for a Copilot token";
    COPILOT_KEY = "provider.copilot.key", Secret, "", Person,
        ["MARVIN_COPILOT_KEY", "GITHUB_COPILOT_TOKEN", "COPILOT_GITHUB_TOKEN"], "GitHub token with access to Copilot";
    COPILOT_MODEL = "provider.copilot.model", Text, "gpt-5.2", Person,
        ["MARVIN_COPILOT_MODEL"], "Model of the copilot provider";
    OLLAMA_URL = "provider.ollama.url", Text, "http://localhost:11434", Person,
        ["MARVIN_OLLAMA_URL", "OLLAMA_URL"], "Base URL of the Ollama server";
    OLLAMA_MODEL = "provider.ollama.model", Text, "qwen3-coder:30b", Person,
        ["MARVIN_OLLAMA_MODEL", "OLLAMA_MODEL"], "Model of the ollama provider";
    OLLAMA_CONTEXT = "provider.ollama.context", Whole(0, MANY), "32768", Person,
        ["MARVIN_OLLAMA_CONTEXT"], "Context size in tokens that is requested from the Ollama server";
    LOCAL_URL = "provider.local.url", Text, "http://localhost:1234/v1", Person,
        ["MARVIN_LOCAL_URL", "BOB_LOCAL_BASE_URL"], "Base URL of an OpenAI-compatible server on this machine";
    LOCAL_KEY = "provider.local.key", Secret, "", Person,
        ["MARVIN_LOCAL_KEY", "BOB_LOCAL_API_KEY"], "Key of that server, if it needs one";
    LOCAL_MODEL = "provider.local.model", Text, "local-model", Person,
        ["MARVIN_LOCAL_MODEL", "BOB_LOCAL_MODEL"], "Model of the local provider";

    CODEX_CLI = "provider.codex.program", Text, "codex", Person, ["MARVIN_CODEX_PROGRAM", "CODEX_CLI"],
        "The Codex program";
    CODEX_MODEL = "provider.codex.model", Text, "", Person, ["MARVIN_CODEX_MODEL", "TOKIMON_CODEX_MODEL"],
        "Model for Codex";
    CODEX_PROFILE = "provider.codex.profile", Text, "", Person, ["MARVIN_CODEX_PROFILE", "TOKIMON_CODEX_PROFILE"],
        "Profile for Codex";
    CODEX_SANDBOX = "provider.codex.sandbox", Choice(&["read-only", "workspace-write", "danger-full-access"]), "read-only",
        Person, ["MARVIN_CODEX_SANDBOX", "TOKIMON_CODEX_SANDBOX"], "Sandbox mode for Codex";
    CODEX_APPROVAL = "provider.codex.approval", Choice(&["untrusted", "on-failure", "on-request", "never"]), "never", Person,
        ["MARVIN_CODEX_APPROVAL", "TOKIMON_CODEX_APPROVAL"], "Approval policy for Codex";
    CODEX_SEARCH = "provider.codex.search", Switch, "false", Person, ["MARVIN_CODEX_SEARCH", "TOKIMON_CODEX_SEARCH"],
        "Whether Codex may search the web";
    CODEX_TIMEOUT = "provider.codex.timeout_s", Whole(1, MANY), "900", Person,
        ["MARVIN_CODEX_TIMEOUT_S", "TOKIMON_CODEX_TIMEOUT_S"], "Seconds that one Codex call may take";
    CODEX_CONFIG = "provider.codex.config", Json, "", Person, ["MARVIN_CODEX_CONFIG", "TOKIMON_CODEX_CONFIG_JSON"],
        "Further Codex settings, as a JSON object of key and value";
    CODEX_RIPGREP_GUARD = "provider.codex.ripgrep_guard", Switch, "true", Person,
        ["MARVIN_CODEX_RIPGREP_GUARD", "TOKIMON_CODEX_RIPGREP_GUARD"],
        "Keep Codex's ripgrep out of generated directories";
    CODEX_RIPGREP_COLUMNS = "provider.codex.ripgrep_max_columns", Whole(0, MANY), "4096", Person,
        ["MARVIN_CODEX_RIPGREP_MAX_COLUMNS", "TOKIMON_CODEX_RIPGREP_MAX_COLUMNS"],
        "Longest line that Codex's ripgrep prints; 0: no limit";
    CLAUDE_CLI = "provider.claude.program", Text, "claude", Person, ["MARVIN_CLAUDE_PROGRAM", "CLAUDE_CODE_CLI"],
        "The Claude Code program";
    CLAUDE_MODEL = "provider.claude.model", Text, "", Person, ["MARVIN_CLAUDE_MODEL", "TOKIMON_CLAUDE_MODEL"],
        "Model for Claude Code";
    CLAUDE_TIMEOUT = "provider.claude.timeout_s", Whole(1, MANY), "900", Person,
        ["MARVIN_CLAUDE_TIMEOUT_S", "TOKIMON_CLAUDE_TIMEOUT_S"], "Seconds that one Claude Code call may take";
    CLAUDE_SETTINGS_PATH = "provider.claude.settings_path", Text, "", Person,
        ["MARVIN_CLAUDE_SETTINGS_PATH", "TOKIMON_CLAUDE_SETTINGS_PATH"], "Settings file handed to Claude Code";
    CLAUDE_SETTINGS_JSON = "provider.claude.settings", Json, "", Person,
        ["MARVIN_CLAUDE_SETTINGS_JSON", "TOKIMON_CLAUDE_SETTINGS_JSON"], "Settings handed to Claude Code, as JSON";
    CLAUDE_SKIP_PERMISSIONS = "provider.claude.dangerously_skip_permissions", Switch, "false", Person,
        ["MARVIN_CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS", "TOKIMON_CLAUDE_DANGEROUSLY_SKIP_PERMISSIONS"],
        "Let Claude Code run its own tools without asking";
    CLAUDE_ARGS = "provider.claude.args", Text, "", Person, ["MARVIN_CLAUDE_ARGS", "TOKIMON_CLAUDE_ARGS"],
        "Further arguments for Claude Code, split as a shell would";

    TIER_CODEX = "tier.codex", Text, "gpt-5.3-codex", Anyone, ["MARVIN_CODE_MODEL_LOW"],
        "Model for implementation and review fixes; every tier is a model of the provider, or PROVIDER:MODEL";
    TIER_OPUS = "tier.opus", Text, "claude-opus-4.6", Anyone, ["MARVIN_CODE_MODEL_HIGH"],
        "Model for code reviews, adversarial QA and plan review";
    TIER_PLAN = "tier.plan", Text, "gpt-5.2", Anyone, ["MARVIN_CODE_MODEL_PLAN"], "Model for debug loops and QA fixes";
    TIER_PLAN_GEN = "tier.plan_gen", Text, "gemini-3-pro-preview", Anyone, ["MARVIN_CODE_MODEL_PLAN_GEN"],
        "Model that writes specification, UX and architecture";
    TIER_TEST_WRITER = "tier.test_writer", Text, "gemini-3-pro-preview", Anyone, ["MARVIN_CODE_MODEL_TEST_WRITER"],
        "Model that writes tests";
    TIER_AUX_REVIEWER = "tier.aux_reviewer", Text, "gpt-5.2", Anyone, ["MARVIN_CODE_MODEL_AUX_REVIEWER"],
        "Model of the additional reviewers";
    TIER_FALLBACK = "tier.fallback", Text, "claude-sonnet-4.5", Anyone, ["MARVIN_CODE_MODEL_FALLBACK"],
        "Model that fixes when the first choice fails";

    MAX_ROUNDS = "limits.rounds", Whole(1, 10_000), "50", Anyone, ["MARVIN_MAX_ROUNDS"],
        "Tool rounds of one turn while coding";
    MAX_ROUNDS_CHAT = "limits.rounds_chat", Whole(1, 10_000), "10", Anyone, ["MARVIN_MAX_ROUNDS_CHAT"],
        "Tool rounds of one turn while chatting";
    WORKER_ROUNDS = "limits.rounds_worker", Whole(1, 10_000), "20", Anyone, ["MARVIN_WORKER_ROUNDS"],
        "Tool rounds of a worker for one attempt at a step of a workflow";
    COST_NOTICE = "limits.notice_usd", Amount, "50", Person, ["MARVIN_COST_NOTICE_USD"],
        "US dollars of a conversation after which it tells its cost, again and again; 0: never";
    COST_SUMMARY = "limits.summary_calls", Whole(0, 100_000), "10", Person, ["MARVIN_COST_SUMMARY_CALLS"],
        "Paid model calls of a conversation after which it tells its cost, again and again; 0: never";
    MAX_COST = "limits.cost_usd", Amount, "", Person, ["MARVIN_MAX_COST"],
        "US dollars that a run with all its sub-agents may cost; unset: no limit";
    DEADLINE = "limits.deadline_s", Whole(0, MANY), "0", Person, ["MARVIN_DEADLINE_S"],
        "Seconds that a run may take; 0: no limit";
    MAX_DEPTH = "limits.depth", Whole(0, 16), "3", Person, ["MARVIN_MAX_DEPTH"], "How deep sub-agents may nest";
    AGENT_TIMEOUT = "agents.timeout_s", Whole(1, 86_400), "3600", Person, ["MARVIN_AGENT_TIMEOUT_S"],
        "Seconds that a sub-agent may take when the call does not say";
    RESEARCH_TIMEOUT = "agents.research_timeout_s", Whole(1, 86_400), "600", Person, ["MARVIN_RESEARCH_TIMEOUT_S"],
        "The same for a read-only research agent";
    NO_PROGRESS = "limits.no_progress", Whole(1, 100), "3", Anyone, ["MARVIN_NO_PROGRESS"],
        "How often the same call may give the same result before the turn stops";
    VERIFY_ROUNDS = "agent.verify_rounds", Whole(0, 20), "3", Anyone, ["MARVIN_VERIFY_ROUNDS"],
        "How often a final answer is sent back because its commitments do not hold";
    PERSEVERANCE = "agent.perseverance", Whole(0, 20), "3", Anyone, ["MARVIN_PERSEVERANCE"],
        "How often a servitor that stops unfinished is told to continue";
    COORDINATOR = "agent.coordinator", Text, "Jake", Anyone, ["MARVIN_COORDINATOR"],
        "Name of the agent that summons servitors on a person's behalf";
    SERVITORS = "agent.servitors", Whole(1, 10_000), "1000", Anyone, ["MARVIN_SERVITORS"],
        "Maximum number of servitors in a project";
    CONCURRENCY = "agent.concurrency", Whole(1, 1_000), "8", Anyone, ["MARVIN_CONCURRENCY"],
        "How many servitors may call the model at the same time, and how many may run tools";
    RETRIES = "limits.retries", Whole(0, 20), "4", Person, ["MARVIN_RETRIES"],
        "How often a failed model request is repeated";
    CONNECT_TIMEOUT = "limits.connect_s", Whole(1, 600), "10", Person, ["MARVIN_CONNECT_S"],
        "Seconds to connect to a model";
    FIRST_TOKEN_TIMEOUT = "limits.first_token_s", Whole(1, 86_400), "600", Person, ["MARVIN_FIRST_TOKEN_S"],
        "Seconds until a model's reply begins; a server on this machine has the time of `limits.request_s` by default";
    IDLE_TIMEOUT = "limits.idle_s", Whole(1, 3600), "300", Person, ["MARVIN_IDLE_S"],
        "Seconds of silence after which a model's reply counts as lost";
    REQUEST_TIMEOUT = "limits.request_s", Whole(1, 86_400), "3600", Person, ["MARVIN_REQUEST_S"],
        "Seconds that one reply of a model may take in all";
    CONTEXT_WARN = "context.warn_tokens", Whole(1000, MANY), "180000", Anyone, ["MARVIN_CONTEXT_WARN"],
        "Estimated tokens from which tool results carry a warning";
    CONTEXT_COMPACT = "context.compact_tokens", Whole(1000, MANY), "200000", Anyone, ["MARVIN_CONTEXT_COMPACT"],
        "Estimated tokens at which the conversation is compacted";
    CONTEXT_HARD = "context.hard_tokens", Whole(1000, MANY), "226000", Anyone, ["MARVIN_CONTEXT_HARD"],
        "Estimated tokens that are never exceeded";
    HISTORY_COMPACT = "history.compact_tokens", Whole(1000, MANY), "80000", Anyone, ["MARVIN_HISTORY_COMPACT"],
        "Estimated tokens at which the chat log is compacted";
    HISTORY_TARGET = "history.target_tokens", Whole(500, MANY), "50000", Anyone, ["MARVIN_HISTORY_TARGET"],
        "Estimated tokens that the chat log is compacted to";

    DURABILITY = "record.durability", Choice(&["line", "turn", "system"]), "turn", Anyone, ["MARVIN_DURABILITY"],
        "When the record is forced to the disk: after every line, every turn, or when the operating system does it";
    GREP_MAX_BYTES = "tools.grep_max_bytes", Whole(0, MANY), "200000", Anyone,
        ["MARVIN_GREP_MAX_BYTES", "TOKIMON_GREP_MAX_BYTES"], "Bytes of search results; 0: no limit";
    TOOLS_OFFER = "tools.offer", Text, "auto", Anyone, ["MARVIN_TOOLS_OFFER"],
        "Tools that a request of a conversation offers: auto (the core, those that the words name, those that find_tools finds), all, or the names of the core";
    TOOLS_ALWAYS = "tools.always", List, "", Anyone, ["MARVIN_TOOLS_ALWAYS"],
        "Names of tools, or beginnings of them such as blender_, that every request of a conversation offers as well";
    COMMAND_TIMEOUT = "tools.command_timeout_s", Whole(1, 86_400), "60", Anyone, ["MARVIN_COMMAND_TIMEOUT_S"],
        "Seconds that a command may take when the call does not say";
    CONTAINMENT = "sandbox.commands", Choice(&["auto", "namespaces", "landlock", "bubblewrap", "off"]), "auto", Person, ["MARVIN_SANDBOX"],
        "Sandbox for commands; auto: the strongest level that works on this machine; namespaces: that or nothing";
    SANDBOX_READABLE = "sandbox.readable", List, "", Person, ["MARVIN_SANDBOX_READABLE"],
        "Further directories that sandboxed commands may read, for example a toolchain in an unusual place";
    SANDBOX_PROCESSES = "sandbox.processes", Whole(8, 100_000), "512", Person, ["MARVIN_SANDBOX_PROCESSES"],
        "Processes that a command may have at the same time; with more it is ended";
    SANDBOX_FILE = "sandbox.file_mb", Whole(1, 1_000_000_000), "10240", Person, ["MARVIN_SANDBOX_FILE_MB"],
        "Megabytes of the largest file that a command may write";
    SANDBOX_ENVIRONMENT = "sandbox.environment", List, "", Person, ["MARVIN_SANDBOX_ENVIRONMENT"],
        "Names of further environment variables that sandboxed commands get; the usual ones are built in";
    SECRETS_GRANTED = "secrets.granted", List, "", Person, ["MARVIN_SECRETS_GRANTED"],
        "Files with secrets that agents may read, as paths in the workspace or as file names";
    SANDBOX_INSTALL = "sandbox.install", Choice(&["ask", "allow", "deny"]), "ask", Person, ["MARVIN_SANDBOX_INSTALL"],
        "Whether packages may be installed; ask: without a person to ask, they are not";
    GATE_EVALUATOR = "gate.evaluator", Switch, "false", Person, ["MARVIN_GATE_EVALUATOR"],
        "Ask a model about commands that are neither allowed nor denied";
    GATE_EVALUATOR_PROVIDER = "gate.evaluator_provider", Choice(&PROVIDERS), "", Person, ["MARVIN_GATE_EVALUATOR_PROVIDER"],
        "Provider of that model; unset: the one that answers";
    GATE_EVALUATOR_MODEL = "gate.evaluator_model", Text, "", Person, ["MARVIN_GATE_EVALUATOR_MODEL"],
        "That model; unset: the one that answers, or the provider's own default";
    GATE_EVALUATOR_TIMEOUT = "gate.evaluator_timeout_ms", Whole(10, 600_000), "30000", Person,
        ["MARVIN_GATE_EVALUATOR_TIMEOUT_MS"], "Timeout of its answer in milliseconds";
    GATE_EVALUATOR_COST = "gate.evaluator_cost_usd", Amount, "0.5", Person, ["MARVIN_GATE_EVALUATOR_COST_USD"],
        "US dollars that its answers may cost in one run";
    GATE_EVALUATOR_CONFIDENCE = "gate.evaluator_confidence", Amount, "0.85", Person, ["MARVIN_GATE_EVALUATOR_CONFIDENCE"],
        "Minimum confidence, from 0 to 1, to allow or deny";
    GATE_EVALUATOR_CACHE = "gate.evaluator_cache_minutes", Whole(0, 10_080), "60", Person,
        ["MARVIN_GATE_EVALUATOR_CACHE_MINUTES"], "Minutes that an answer is cached";
    WEB_ORG_ALLOWLIST = "web.org_allowlist", List, "", Person, ["MARVIN_WEB_ORG_ALLOWLIST", "TOKIMON_WEB_ORG_ALLOWLIST"],
        "Hosts that may be reached";
    WEB_REQUEST_ALLOWLIST = "web.request_allowlist", List, "", Anyone,
        ["MARVIN_WEB_REQUEST_ALLOWLIST", "TOKIMON_WEB_REQUEST_ALLOWLIST"], "Hosts this run may reach, a subset of the former";
    WEB_DOMAIN_SECRETS = "web.domain_secrets", Json, "", Person,
        ["MARVIN_WEB_DOMAIN_SECRETS", "TOKIMON_WEB_DOMAIN_SECRETS_JSON"],
        "Headers added per domain, with $VARIABLE for the secret";
    WEB_SEARCH_URL = "web.search_url", Text, "https://html.duckduckgo.com/html/", Person, ["MARVIN_WEB_SEARCH_URL"],
        "URL of the search engine (DuckDuckGo's HTML page, or a compatible one)";
    WEB_DOWNLOAD_BYTES = "web.download_max_bytes", Whole(1, MANY), "104857600", Person, ["MARVIN_WEB_DOWNLOAD_MAX_BYTES"],
        "Bytes of the largest file that is downloaded";
    WEB_DOWNLOAD_TIMEOUT = "web.download_timeout_s", Whole(1, 86_400), "600", Person, ["MARVIN_WEB_DOWNLOAD_TIMEOUT_S"],
        "Seconds that a download may take";
    SCRYFALL_URL = "turbotime.scryfall_url", Text, "https://api.scryfall.com", Person, ["MARVIN_SCRYFALL_URL"],
        "Base URL of scryfall.lookup (Magic cards)";
    STEAM_URL = "turbotime.steam_url", Text, "https://store.steampowered.com", Person, ["MARVIN_STEAM_URL"],
        "Base URL of steam.game_lookup (games)";
    KNOWLEDGE_URL = "turbotime.knowledge_url", Text, "https://html.duckduckgo.com/html/", Person, ["MARVIN_KNOWLEDGE_URL"],
        "Base URL of game.knowledge_search";
    NEWS_URL = "turbotime.news_url", Text, "https://news.google.com", Person, ["MARVIN_NEWS_URL"],
        "Base URL of news.headline_search (headlines)";
    TURBOTIME_TIMEOUT = "turbotime.timeout_s", Whole(1, 600), "20", Person, ["MARVIN_TURBOTIME_TIMEOUT_S"],
        "Seconds that one request of a TURBOTIME tool may take";
    GITHUB_API_URL = "github.api_url", Text, "https://api.github.com", Person, ["MARVIN_GITHUB_API_URL"],
        "Base URL of GitHub's HTTP API";
    GITHUB_CLONE_URL = "github.clone_url", Text, "https://github.com", Person, ["MARVIN_GITHUB_CLONE_URL"],
        "Base URL that repositories are cloned from";
    GITHUB_TOKEN = "github.token", Secret, "", Person, ["MARVIN_GITHUB_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"],
        "Token for GitHub's HTTP API; sent nowhere else";
    GITHUB_CLONE_TIMEOUT = "github.clone_timeout_s", Whole(1, 86_400), "300", Person, ["MARVIN_GITHUB_CLONE_TIMEOUT_S"],
        "Seconds that a clone may take";
    GITHUB_CLONE_BYTES = "github.clone_max_bytes", Whole(1, MANY), "1073741824", Person, ["MARVIN_GITHUB_CLONE_MAX_BYTES"],
        "Bytes of the largest clone";

    TOOLS_PRIVATE = "tools.private", Choice(&["ask", "allow", "deny"]), "ask", Person, ["MARVIN_TOOLS_PRIVATE"],
        "Whether tools may tell a service where you are or what you own; ask: once per service, and without a person to ask they may not";
    GEOCLUE = "services.geoclue", Text, "/usr/libexec/geoclue-2.0/demos/where-am-i", Person, ["MARVIN_GEOCLUE"],
        "Program that asks GeoClue for the position of this machine (Debian's geoclue-2-demo), or off";
    SERVICES_TIMEOUT = "services.timeout_s", Whole(1, 600), "20", Person, ["MARVIN_SERVICES_TIMEOUT_S"],
        "Seconds that one request to a service may take";
    SERVICES_RETRIES = "services.retries", Whole(0, 10), "2", Person, ["MARVIN_SERVICES_RETRIES"],
        "How often a failed request to a service is repeated";
    SERVICES_WAIT = "services.max_wait_s", Whole(0, 600), "10", Person, ["MARVIN_SERVICES_MAX_WAIT_S"],
        "Seconds that a call waits for a service that wants a pause; for a longer one it fails and says until when";
    SERVICES_CACHE = "services.cache", Switch, "true", Person, ["MARVIN_SERVICES_CACHE"],
        "Answer repeated requests from the replies in the cache directory";
    IP_LOCATION_URL = "services.ip_location.url", Text, "http://ip-api.com", Person, ["MARVIN_IP_LOCATION_URL"],
        "Base URL of the service that knows where an IP address is (ip-api.com)";
    PLACES_URL = "services.places.url", Text, "https://places.googleapis.com", Person, ["MARVIN_PLACES_URL"],
        "Base URL of Google Places";
    PLACES_KEY = "services.places.key", Secret, "", Person, ["MARVIN_PLACES_KEY", "GOOGLE_PLACES_API_KEY", "GOOGLE_MAPS_API_KEY"],
        "Key of Google Places (else ~/.ssh/GOOGLE_PLACES_API_KEY)";
    NOMINATIM_URL = "services.nominatim.url", Text, "https://nominatim.openstreetmap.org", Person, ["MARVIN_NOMINATIM_URL"],
        "Base URL of Nominatim (search in OpenStreetMap)";
    OVERPASS_URL = "services.overpass.url", Text, "https://overpass-api.de", Person, ["MARVIN_OVERPASS_URL"],
        "Base URL of Overpass (objects of OpenStreetMap around a point)";
    OSRM_URL = "services.osrm.url", Text, "https://router.project-osrm.org", Person, ["MARVIN_OSRM_URL"],
        "Base URL of OSRM (routes)";
    OPEN_METEO_URL = "services.open_meteo.url", Text, "https://api.open-meteo.com", Person, ["MARVIN_OPEN_METEO_URL"],
        "Base URL of Open-Meteo (weather)";
    SEMANTIC_SCHOLAR_URL = "services.semantic_scholar.url", Text, "https://api.semanticscholar.org", Person, ["MARVIN_SEMANTIC_SCHOLAR_URL"],
        "Base URL of Semantic Scholar (papers)";
    SEMANTIC_SCHOLAR_KEY = "services.semantic_scholar.key", Secret, "", Person, ["MARVIN_SEMANTIC_SCHOLAR_KEY", "SEMANTIC_SCHOLAR_API_KEY"],
        "Key of Semantic Scholar, which works without one at a lower rate (else ~/.ssh/SEMANTIC_SCHOLAR_API_KEY)";
    ARXIV_URL = "services.arxiv.url", Text, "https://export.arxiv.org", Person, ["MARVIN_ARXIV_URL"],
        "Base URL of arXiv";
    WIKIPEDIA_URL = "services.wikipedia.url", Text, "https://en.wikipedia.org", Person, ["MARVIN_WIKIPEDIA_URL"],
        "Base URL of the Wikipedia that is asked";
    STACK_EXCHANGE_URL = "services.stack_exchange.url", Text, "https://api.stackexchange.com", Person, ["MARVIN_STACK_EXCHANGE_URL"],
        "Base URL of Stack Exchange";
    STACK_EXCHANGE_KEY = "services.stack_exchange.key", Secret, "", Person, ["MARVIN_STACK_EXCHANGE_KEY", "STACK_EXCHANGE_KEY"],
        "Key of Stack Exchange, which works without one at a lower rate (else ~/.ssh/STACK_EXCHANGE_KEY)";
    NEWSAPI_URL = "services.newsapi.url", Text, "https://newsapi.org", Person, ["MARVIN_NEWSAPI_URL"],
        "Base URL of NewsAPI";
    NEWSAPI_KEY = "services.newsapi.key", Secret, "", Person, ["MARVIN_NEWSAPI_KEY", "NEWSAPI_KEY", "NEWS_API_KEY"],
        "Key of NewsAPI; without one search_news uses the feed of headlines alone (else ~/.ssh/NEWSAPI_KEY)";
    OMDB_URL = "services.omdb.url", Text, "https://www.omdbapi.com", Person, ["MARVIN_OMDB_URL"],
        "Base URL of OMDb (films and series)";
    OMDB_KEY = "services.omdb.key", Secret, "", Person, ["MARVIN_OMDB_KEY", "OMDB_API_KEY"],
        "Key of OMDb (else ~/.ssh/OMDB_API_KEY)";
    RAWG_URL = "services.rawg.url", Text, "https://api.rawg.io", Person, ["MARVIN_RAWG_URL"],
        "Base URL of RAWG (games)";
    RAWG_KEY = "services.rawg.key", Secret, "", Person, ["MARVIN_RAWG_KEY", "RAWG_API_KEY"],
        "Key of RAWG (else ~/.ssh/RAWG_API_KEY)";
    STEAM_API_URL = "services.steam_api.url", Text, "https://api.steampowered.com", Person, ["MARVIN_STEAM_API_URL"],
        "Base URL of the Steam Web API (players and what they own)";
    STEAM_API_KEY = "services.steam_api.key", Secret, "", Person, ["MARVIN_STEAM_API_KEY", "STEAM_API_KEY"],
        "Key of the Steam Web API (else ~/.ssh/STEAM_API_KEY)";
    MEALDB_URL = "services.mealdb.url", Text, "https://www.themealdb.com/api/json/v1/1", Person, ["MARVIN_MEALDB_URL"],
        "Base URL of TheMealDB (recipes), with the key in its path; 1 is the public one";
    MUSICBRAINZ_URL = "services.musicbrainz.url", Text, "https://musicbrainz.org", Person, ["MARVIN_MUSICBRAINZ_URL"],
        "Base URL of MusicBrainz";
    SPOTIFY_URL = "services.spotify.url", Text, "https://api.spotify.com", Person, ["MARVIN_SPOTIFY_URL"],
        "Base URL of Spotify";
    SPOTIFY_ACCOUNTS_URL = "services.spotify_accounts.url", Text, "https://accounts.spotify.com", Person, ["MARVIN_SPOTIFY_ACCOUNTS_URL"],
        "Base URL of the sign-in of Spotify";
    FRANKFURTER_URL = "services.frankfurter.url", Text, "https://api.frankfurter.dev", Person, ["MARVIN_FRANKFURTER_URL"],
        "Base URL of Frankfurter (rates of currencies)";
    DICTIONARY_URL = "services.dictionary.url", Text, "https://api.dictionaryapi.dev", Person, ["MARVIN_DICTIONARY_URL"],
        "Base URL of the dictionary (Free Dictionary API)";
    TRANSLATION_URL = "services.translation.url", Text, "https://api.mymemory.translated.net", Person, ["MARVIN_TRANSLATION_URL"],
        "Base URL of the translation service (MyMemory)";
    SPOTIFY_CLIENT = "services.spotify.client_id", Text, "", Person, ["MARVIN_SPOTIFY_CLIENT_ID", "SPOTIFY_CLIENT_ID"],
        "Client id of your application at Spotify, for spotify_auth";
    SPOTIFY_REDIRECT = "services.spotify.redirect_uri", Text, "http://127.0.0.1:8888/callback", Person,
        ["MARVIN_SPOTIFY_REDIRECT_URI", "SPOTIFY_REDIRECT_URI"],
        "Redirect URI of that application; the address that the browser ends at holds the code for spotify_auth";

    PACKS_TOKENS = "packs.tokens", Whole(50, 2250), "1500", Anyone, ["MARVIN_PACKS_TOKENS"],
        "Estimated tokens of guidance that packs may give at once";

    FLOW_SYNC = "flow.sync", Choice(&["auto", "full", "normal"]), "auto", Person, ["MARVIN_FLOW_SYNC"],
        "When a workflow's commits are forced to the disk: auto (steps with effects at once), full (all), normal (when SQLite does it)";

    FLOW_ENGINE = "flow.engine", Choice(&["local", "temporal"]), "local", Person, ["MARVIN_FLOW_ENGINE"],
        "What carries workflows out: this machine, or the workers of a Temporal server (feature fleet)";
    FLEET_ADDRESS = "fleet.address", Text, "127.0.0.1:7233", Person, ["MARVIN_FLEET_ADDRESS", "TEMPORAL_ADDRESS"],
        "HOST:PORT of the Temporal server; its API key is read from TEMPORAL_API_KEY only";
    FLEET_NAMESPACE = "fleet.namespace", Text, "default", Person, ["MARVIN_FLEET_NAMESPACE", "TEMPORAL_NAMESPACE"],
        "Namespace of the Temporal server";
    FLEET_QUEUE = "fleet.queue", Text, "marvin", Person, ["MARVIN_FLEET_QUEUE"],
        "Task queue of the workers; the version of the workflow engine is appended to it";
    FLEET_STORE = "fleet.store", Text, "", Person, ["MARVIN_FLEET_STORE"],
        "What all machines share: a directory, or s3://BUCKET/PREFIX with keys in AWS_*";
    FLEET_WORKSPACE = "fleet.workspace", Choice(&["shared", "git"]), "shared", Person, ["MARVIN_FLEET_WORKSPACE"],
        "Workspace of a run: shared (a directory that all workers see), or git (clones; changes travel through the store)";
    FLEET_SLOTS = "fleet.slots", Whole(0, 10_000), "0", Person, ["MARVIN_FLEET_SLOTS"],
        "Attempts that a worker makes at a time; 0: as many as there are cores";
    FLEET_POLLERS = "fleet.pollers", Whole(2, 100), "2", Person, ["MARVIN_FLEET_POLLERS"],
        "Requests for work that a worker keeps open; those of a lost worker delay its steps by one heartbeat each";
    FLEET_HEARTBEAT = "fleet.heartbeat_s", Whole(1, 3_600), "30", Person, ["MARVIN_FLEET_HEARTBEAT_S"],
        "Seconds without a sign of life after which the attempts of a worker count as lost";
    FLEET_DRAIN = "fleet.drain_s", Whole(0, 86_400), "600", Person, ["MARVIN_FLEET_DRAIN_S"],
        "Seconds that a worker may take to end its attempts after SIGTERM";
    FLEET_ROLES = "fleet.roles", List, "", Person, ["MARVIN_FLEET_ROLES"],
        "Workers of steps, such as Reviewer, with a queue of their own, which only `marvin worker --roles` serves";
    FLEET_SEARCH_ATTRIBUTES = "fleet.search_attributes", Switch, "false", Person, ["MARVIN_FLEET_SEARCH_ATTRIBUTES"],
        "Runs carry search attributes (project, workflow, status), which the Temporal server must know";
    FLEET_METRICS = "fleet.metrics", Text, "", Person, ["MARVIN_FLEET_METRICS"],
        "ADDRESS:PORT at which a worker serves metrics for Prometheus, without access control; unset: none";
    FLEET_TLS = "fleet.tls", Choice(&["auto", "on", "off"]), "auto", Person, ["MARVIN_FLEET_TLS"],
        "TLS to the Temporal server; auto: unless it is on this machine";
    FLEET_TLS_CA = "fleet.tls_ca", Text, "", Person, ["MARVIN_FLEET_TLS_CA"],
        "PEM file with the certificate authority of the server; unset: those of the system";
    FLEET_TLS_CERT = "fleet.tls_cert", Text, "", Person, ["MARVIN_FLEET_TLS_CERT"],
        "PEM file with the client certificate";
    FLEET_TLS_KEY = "fleet.tls_key", Text, "", Person, ["MARVIN_FLEET_TLS_KEY"],
        "PEM file with the key of the client certificate";

    PERSON_UNATTENDED = "person.unattended", Text, "", Person, [],
        "Name under which your own scripts may decide without a terminal; read only from ~/.config/marvin/config.toml; unset: they may not";
    PERSON_TERMINALS = "person.terminals", List, "", Person, [],
        "Further programs that count as your terminals, by file name or path; read only from ~/.config/marvin/config.toml";

    NTFY_URL = "notify.url", Text, "https://ntfy.sh", Person, ["MARVIN_NTFY_URL"],
        "Server of push notifications (ntfy): those that Marvin sends, and topics that you follow";
    NTFY_TOKEN = "notify.token", Secret, "", Person, ["MARVIN_NTFY_TOKEN", "NTFY_TOKEN"],
        "Access token of that server, where it wants one";
    ALARMS_TOPIC = "alarms.topic", Text, "", Person, ["MARVIN_ALARMS_TOPIC"],
        "Topic that alarms, timers and reminders are pushed to; unset: none";
    ALARMS_SCHEDULER = "alarms.scheduler", Choice(&["auto", "systemd", "process", "off"]), "auto", Person, ["MARVIN_ALARMS_SCHEDULER"],
        "Who rings when no Marvin is open: a systemd user timer, a process of Marvin's own, or none of both; auto: systemd where it runs";
    CALENDAR_REMINDERS = "calendar.reminders", List, "60,30", Person, ["MARVIN_CALENDAR_REMINDERS"],
        "Minutes before an event at which you are reminded of it; empty: never";
    WEB_BROWSER = "web.browser", Text, "auto", Person, ["MARVIN_WEB_BROWSER"],
        "Browser that runs the scripts of pages for browse_web and scrape_page: auto (Chromium where it is installed), off, or a program";
    YT_DLP = "media.yt_dlp", Text, "yt-dlp", Person, ["MARVIN_YT_DLP"],
        "The program yt-dlp: a name that is found on the PATH, or its path";
    BLENDER_ADDRESS = "blender.address", Text, "127.0.0.1:9876", Person, ["MARVIN_BLENDER_ADDRESS"],
        "Address of Blender's add-on, on this machine";
    BLENDER_CODE = "blender.code", Choice(&["ask", "allow", "deny"]), "ask", Person, ["MARVIN_BLENDER_CODE"],
        "Whether agents may run Python in Blender, which has your rights; ask: without a person to ask they may not";
    BLENDER_TIMEOUT = "blender.timeout_s", Whole(1, 3_600), "120", Person, ["MARVIN_BLENDER_TIMEOUT_S"],
        "Seconds that Blender may take for an answer";

    DEBUG_ROUNDS = "pipeline.debug_rounds", Whole(1, 1000), "50", Anyone, ["MARVIN_DEBUG_ROUNDS"], "Rounds of phase 4a";
    E2E_ROUNDS = "pipeline.e2e_rounds", Whole(1, 1000), "10", Anyone, ["MARVIN_E2E_ROUNDS"], "Rounds of phase 4b";
    FE_ROUNDS = "pipeline.frontend_rounds", Whole(1, 1000), "10", Anyone, ["MARVIN_FE_ROUNDS"], "Rounds of phase 4c";
    QA_ROUNDS = "pipeline.qa_rounds", Whole(1, 1000), "3", Anyone, ["MARVIN_QA_ROUNDS"], "Rounds of phase 5";
    TEST_COMMAND = "pipeline.test_command", Text, "", Anyone, ["MARVIN_TEST_COMMAND"],
        "Line that runs the project's tests; unset: found from the project's files";
    TICKETS_DIR = "tickets.folder", Text, "", Person, ["MARVIN_TICKETS_DIR", "TICKETS_DIR"],
        "Directory of the tickets; unset: .tickets here or above";

    MEMORY_DIR = "memory.folder", Text, "", Person, ["MARVIN_MEMORY_DIR", "BOB_RUNTIME_DIR"],
        "Directory of state, turns and memory; unset: memory in the project's state directory";
    MEMORY_TURNS = "memory.turns", Text, "", Person, ["MARVIN_MEMORY_TURNS", "BOB_TURN_LOG"], "File of the turns";
    MEMORY_STATE = "memory.state", Text, "", Person, ["MARVIN_MEMORY_STATE", "BOB_STATE_FILE"], "File of the state";
    MEMORY_APPROVALS = "memory.approvals", Text, "", Person, ["MARVIN_MEMORY_APPROVALS", "BOB_APPROVAL_LEDGER"],
        "Ledger of approvals";
    MEMORY_LTM = "memory.ltm", Text, "", Person, ["MARVIN_MEMORY_LTM", "BOB_LTM_FILE"], "File of the long-term memory";
    MEMORY_PRACTICE = "memory.practice", Text, "", Person, ["MARVIN_MEMORY_PRACTICE", "BOB_PRACTICE_CANDIDATES"],
        "File of candidates that practice proposes";
    EMBEDDER = "memory.embedder", Text, "", Person, ["MARVIN_EMBEDDER"],
        "Directory of a small embedding model (config.json, vocab.txt, model.safetensors); unset: words only";
    STM_ENABLED = "memory.stm.enabled", Switch, "true", Anyone, ["MARVIN_STM_ENABLED", "BOB_STM_ENABLED"],
        "Keep a short-term memory";
    STM_DIR = "memory.stm.folder", Text, "", Person, ["MARVIN_STM_DIR", "BOB_STM_DIR"], "Directory of the short-term memory";
    STM_COLLECTION = "memory.stm.collection", Text, "stm", Anyone, ["MARVIN_STM_COLLECTION", "BOB_STM_COLLECTION"],
        "Name of the short-term memory";
    STM_TTL = "memory.stm.ttl_hours", Whole(1, 72), "72", Anyone, ["MARVIN_STM_TTL_HOURS", "BOB_STM_TTL_HOURS"],
        "Hours that a short-term entry lives";
    STM_REFRESH = "memory.stm.refresh_hours", Whole(0, 72), "24", Anyone,
        ["MARVIN_STM_REFRESH_HOURS", "BOB_STM_INJECT_REFRESH_HOURS"], "Hours before an entry is shown to the model again";
    STM_TOP = "memory.stm.top", Whole(0, 50), "6", Anyone, ["MARVIN_STM_TOP", "BOB_STM_TOP_K"], "Entries shown to the model";
    STM_ENTRIES = "memory.stm.entries", Whole(1, 100_000), "200", Anyone, ["MARVIN_STM_ENTRIES", "BOB_STM_MAX_ENTRIES"],
        "Entries kept, oldest out first";
    STM_CHARACTERS = "memory.stm.characters", Whole(100, 100_000), "3072", Anyone,
        ["MARVIN_STM_CHARACTERS", "BOB_STM_MAX_ENTRY_CHARS"], "Characters of one entry";
    STM_ACCESS_MIN = "memory.stm.promotion_accesses", Whole(1, 1000), "3", Anyone,
        ["MARVIN_STM_PROMOTION_ACCESSES", "BOB_STM_PROMOTION_ACCESS_MIN"], "Accesses before an entry may be proposed for long-term memory";
    STM_SESSIONS_MIN = "memory.stm.promotion_sessions", Whole(1, 1000), "2", Anyone,
        ["MARVIN_STM_PROMOTION_SESSIONS", "BOB_STM_PROMOTION_SESSIONS_MIN"], "Sessions before an entry may be proposed";
    STM_PROMOTIONS = "memory.stm.promotions_per_turn", Whole(0, 100), "2", Anyone,
        ["MARVIN_STM_PROMOTIONS", "BOB_STM_PROMOTION_MAX_PER_TURN"], "Proposals a turn may make from short-term memory";

    MTG_REMOTE = "mtg.remote", Switch, "true", Person, ["MARVIN_MTG_REMOTE", "BOB_ROUTE_MTG_REMOTE"],
        "Whether a remote model plays Magic; off: the local provider";
    MTG_URL = "mtg.url", Text, "", Person, ["MARVIN_MTG_URL", "BOB_MTG_BASE_URL"],
        "Base URL of the OpenAI-compatible endpoint whose model plays Magic; unset: the usual provider";
    MTG_KEY = "mtg.key", Secret, "", Person, ["MARVIN_MTG_KEY", "BOB_MTG_API_KEY"],
        "Key of that endpoint; unset: the key of the openai provider";
    MTG_MODEL = "mtg.model", Text, "", Person, ["MARVIN_MTG_MODEL", "BOB_MTG_MODEL"],
        "Model that plays Magic; unset: the usual one";
    MTG_MAX_TOKENS = "mtg.max_tokens", Whole(0, MANY), "400000", Person, ["MARVIN_MTG_MAX_TOKENS"],
        "Tokens that a model may use in one game; then the heuristic player decides for it";
    MTG_MAX_COST = "mtg.max_cost_usd", Amount, "1", Person, ["MARVIN_MTG_MAX_COST"],
        "Dollars that a model may cost in one game; then the heuristic player decides for it";

    ENTRY = "interface.entry", Choice(&["cli", "ui"]), "cli", Person, ["MARVIN_ENTRY", "BOB_ENTRY"],
        "Which front end opens first";
    WEB_UI = "interface.web", Switch, "false", Person, ["MARVIN_UI", "BOB_UI"], "Open the web front end next to the terminal";
    APPROVAL = "interface.approval_s", Whole(1, 86_400), "600", Person, ["MARVIN_APPROVAL_S"],
        "Seconds that a question of the gate waits for a person; no answer denies it";
    PROFILE = "profile", Text, "", Person, ["MARVIN_PROFILE"], "Profile to use; unset: the last one";

    HOOKS_STOP_ROUNDS = "hooks.stop_rounds", Whole(0, 20), "3", Person, ["MARVIN_HOOKS_STOP_ROUNDS"],
        "How often in a row an agent that stops is sent back because its commitments do not hold";

    HOOKS_ALLOW = "hooks.allow", Choice(&["never", "rules", "harmless"]), "rules", Person, ["MARVIN_HOOKS_ALLOW"],
        "Commands that hooks let a client run without its own question: none, those that your own rules allow, or also harmless reads";

    MCP_SERVERS = "mcp.servers", Json, "", Anyone, ["MARVIN_MCP_SERVERS"],
        "MCP servers whose tools agents get, by name: command, args, env, cwd, url, headers, allow, timeout_s, startup_s";
    MCP_TOKEN = "mcp.token", Secret, "", Person, ["MARVIN_MCP_TOKEN"],
        "Token that clients of `marvin mcp --http` must send; unset: a new one each time";

    LAB_PYTHON = "lab.python", Text, "python3", Person, ["MARVIN_LAB_PYTHON"],
        "Python that benchmark tasks are graded with; it has pytest: a program, or the directory of a virtual environment";

    SELF_IMPROVE_INCLUDE = "self_improve.include", List, ".", Person,
        ["MARVIN_SELF_IMPROVE_INCLUDE"], "Files and directories that sessions of `marvin self-improve` may change; `.`: the whole project apart from hidden files and instructions for agents";

    STATE_DIR = "process.state_dir", Text, "", Process, ["MARVIN_STATE_DIR"],
        "Absolute path of the state directory (records, approvals, cost, memory); unset: $XDG_STATE_HOME/marvin, else ~/.local/state/marvin";
    DEPTH = "process.depth", Whole(0, 64), "0", Process, ["MARVIN_DEPTH"], "How deep this process is nested";
    ROLE = "process.role", Choice(&ROLES), "", Process, ["MARVIN_ROLE"],
        "Role of this agent; unset: Coder with file tools, else Chat";
    STEP = "process.step", Text, "", Process, ["MARVIN_STEP"], "Step of a workflow that this agent works on";
    TICKET = "process.ticket", Text, "", Process, ["MARVIN_TICKET"], "Ticket that this sub-agent works on";
    READONLY = "process.readonly", Switch, "false", Process, ["MARVIN_READONLY"], "This agent may not write";
    WRITABLE_FILES = "process.writable_files", List, "", Process, ["MARVIN_WRITABLE_FILES"],
        "The only files that this agent may write";
    GRANTED_INSTRUCTIONS = "process.granted_instructions", List, "", Process, ["MARVIN_GRANTED_INSTRUCTIONS"],
        "Files with instructions for agents that this agent may write, since the person named them";
    SUBAGENT_LOG = "process.log", Text, "", Process, ["MARVIN_SUBAGENT_LOG"], "File that records this agent's tool calls";
    LOG_FILTER = "process.log_filter", Text, "", Process, ["MARVIN_LOG"],
        "Lines of the diagnostic log: a level (error, warn, info, debug), or a list such as info,marvin_gate=debug; unset: no log";
    COST_LEDGER = "process.cost_ledger", Text, "", Process, ["MARVIN_COST_LEDGER"],
        "Cost ledger of the run that this process belongs to";
    LINEAGE = "process.lineage", List, "", Process, ["MARVIN_LINEAGE"],
        "Process ids of the agents above this one, outermost first";
    SCRIPT_STATE = "process.script_state", Text, "", Process, ["MARVIN_SCRIPT_STATE"],
        "Which script entries the run has used";
    DELEGATED = "process.delegated", Switch, "false", Process, ["MARVIN_DELEGATED", "TOKIMON_DELEGATED"],
        "This process was started by an agent program that Marvin started";
    DELEGATION_DEPTH = "process.delegation_depth", Whole(0, 64), "0", Process,
        ["MARVIN_DELEGATION_DEPTH", "TOKIMON_DELEGATION_DEPTH"], "Number of agent programs above this process";
    SECURITY_EVAL = "process.security_evaluation", Switch, "false", Process,
        ["MARVIN_SECURITY_EVAL", "MARVEL_SECURITY_EVAL"], "This process judges a command; its own hooks are quiet";
    LAB = "process.lab", Switch, "false", Process, ["MARVIN_LAB"],
        "This process belongs to the solver of a benchmark task; it does not run the benchmark";
    HOOK_PROJECT = "process.hook_project", Text, "", Process, ["MARVIN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        "Project of a hook";
}

#[cfg(test)]
mod tests {
    use super::TABLE;
    use std::collections::BTreeSet;

    #[test]
    fn keys_and_first_variables_are_unique() {
        let keys: BTreeSet<_> = TABLE.iter().map(|setting| setting.key).collect();
        assert_eq!(keys.len(), TABLE.len());
        let first: Vec<_> = TABLE.iter().filter_map(|setting| setting.variables.first()).collect();
        assert_eq!(first.iter().collect::<BTreeSet<_>>().len(), first.len());
    }

    #[test]
    fn every_default_fits_its_kind() {
        crate::settings::Settings::defaults().unwrap();
    }
}
