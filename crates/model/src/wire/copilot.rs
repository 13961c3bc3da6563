//! GitHub Copilot: the OpenAI wire behind a key that lives for minutes.
//!
//! A GitHub token is exchanged for a Copilot token, which is kept until shortly before it expires. A key that is not
//! a GitHub token is taken for a Copilot token and used as it is.

use super::errors::{body_message, transient_status};
use super::http::{Access, HttpModel, HttpOptions, causes, without_key};
use crate::client::{Failure, ModelClient, ModelError, Reply, Request, Sink};
use async_trait::async_trait;
use marvin_base::clock;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use serde::{Deserialize, Serialize};
use std::fmt;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The address that Copilot's own answer may replace; any other is the person's choice and stays.
const DEFAULT_URL: &str = "https://api.githubcopilot.com";

/// A token is renewed this long before it expires, so that it does not expire on the way.
const MARGIN_SECONDS: i64 = 60;

/// How the tokens of GitHub begin.
const GITHUB_PREFIXES: [&str; 4] = ["gho_", "ghu_", "ghp_", "github_pat_"];

pub struct CopilotModel {
    model: HttpModel,
    token_url: String,
    token: Mutex<Option<CopilotToken>>,
}

/// The answer of the token exchange.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct CopilotToken {
    pub(crate) token: String,
    #[serde(default)]
    pub(crate) expires_at: i64,
    #[serde(default)]
    pub(crate) refresh_in: i64,
    #[serde(default)]
    pub(crate) endpoints: CopilotEndpoints,
}

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct CopilotEndpoints {
    pub(crate) api: Option<String>,
}

impl fmt::Debug for CopilotModel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CopilotModel").field("model", &self.model).finish_non_exhaustive()
    }
}

impl CopilotModel {
    /// A client for one model; `token_url` is where a GitHub token is exchanged.
    ///
    /// # Errors
    /// Like [`HttpModel::new`].
    pub fn new(mut options: HttpOptions, token_url: impl Into<String>) -> Result<Self, ModelError> {
        for (name, value) in [
            ("Copilot-Integration-Id", "vscode-chat"),
            ("Editor-Version", concat!("marvin/", env!("CARGO_PKG_VERSION"))),
        ] {
            if !options.headers.iter().any(|(existing, _)| existing.eq_ignore_ascii_case(name)) {
                options.headers.push((name.into(), value.into()));
            }
        }
        let token_url = token_url.into();
        let model = HttpModel::with_address(options, Some(&token_url))?;
        Ok(CopilotModel { model, token_url, token: Mutex::new(None) })
    }

    /// The token for the next request; `None` where the key is used as it is.
    async fn token(&self) -> Result<Option<CopilotToken>, ModelError> {
        let key = self.model.options().key.as_deref().unwrap_or_default().trim();
        if !GITHUB_PREFIXES.iter().any(|prefix| key.starts_with(prefix)) {
            return Ok(None);
        }
        // Held while the exchange runs, so that parallel requests share one exchange.
        let mut kept = self.token.lock().await;
        if let Some(token) = kept.as_ref()
            && token.expires_at > clock::now().as_second() + MARGIN_SECONDS
        {
            return Ok(Some(token.clone()));
        }
        let token = self.exchange(key).await.map_err(|error| without_key(error, Some(key)))?;
        *kept = Some(token.clone());
        Ok(Some(token))
    }

    async fn exchange(&self, key: &str) -> Result<CopilotToken, ModelError> {
        let options = self.model.options();
        let failed = |failure, message: String| ModelError::new(&options.provider, failure, message);
        let mut value: HeaderValue = format!("token {key}").parse().map_err(|_| {
            failed(Failure::Missing, "cannot send the key; correct `provider.copilot.key`".into())
        })?;
        value.set_sensitive(true);
        let response = self
            .model
            .http()
            .get(&self.token_url)
            .header(AUTHORIZATION, value)
            .header(ACCEPT, "application/json")
            .timeout(options.idle)
            .send()
            .await
            .map_err(|error| {
                let failure = if error.is_timeout() { Failure::Timeout } else { Failure::Disconnected };
                failed(
                    failure,
                    format!("no Copilot token: {}; check `provider.copilot.token_url`", causes(&error)),
                )
            })?;
        let status = response.status();
        let body = response.bytes().await.map_err(|error| failed(Failure::Disconnected, causes(&error)))?;
        if !status.is_success() {
            let failure =
                if transient_status(status.as_u16()) { Failure::Unavailable } else { Failure::Rejected };
            let message = body_message(&body);
            return Err(failed(
                failure,
                format!("no Copilot token ({status}): {message}; check `provider.copilot.key`"),
            ));
        }
        serde_json::from_slice(&body)
            .map_err(|_| failed(Failure::Garbage, "the answer of the token server holds no token".into()))
    }
}

#[async_trait]
impl ModelClient for CopilotModel {
    fn provider(&self) -> &str {
        self.model.provider()
    }

    fn model(&self) -> &str {
        self.model.model()
    }

    async fn send(
        &self,
        request: &Request,
        sink: &mut Sink<'_>,
        cancel: &CancellationToken,
    ) -> Result<Reply, ModelError> {
        let token = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                Err(ModelError::new(self.provider(), Failure::Cancelled, "stopped while waiting for a token"))
            }
            token = self.token() => token,
        }?;
        let options = self.model.options();
        let access = match &token {
            None => Access { key: options.key.as_deref(), url: None },
            Some(token) => Access {
                key: Some(&token.token),
                url: token
                    .endpoints
                    .api
                    .as_deref()
                    .filter(|_| options.url.trim_end_matches('/') == DEFAULT_URL),
            },
        };
        let result = self.model.send_with(access, request, sink, cancel).await;
        if result.as_ref().is_err_and(|error| error.failure == Failure::Rejected) {
            // The token may have been withdrawn early; the next request asks for another.
            *self.token.lock().await = None;
        }
        result
    }
}
