//! Answers to requests: JSON, or an error with its reason and hint.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use marvin_agent::ProjectContext;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a str,
}

#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    message: String,
    /// A header that the status asks for.
    header: Option<(header::HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Refusal { status, message: message.into(), header: None }
    }

    pub(crate) fn unreadable_body(error: &serde_json::Error) -> Self {
        Refusal::bad(format!("the body is not what is wanted: {error}"))
    }

    /// The request is wrong.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, message)
    }

    /// The thing asked for does not exist.
    pub(crate) fn absent(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::NOT_FOUND, message)
    }

    /// It may not be done now, or not by this one.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::CONFLICT, message)
    }

    /// Stored data cannot be read or written.
    pub(crate) fn broken(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(crate) fn with(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(crate) fn response(self) -> Response {
        let mut response = json_response(self.status, &ErrorBody { error: &self.message });
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Result of a page.
pub(crate) type Answer = Result<Value, Refusal>;

/// The JSON of a response type.
pub(crate) fn json(body: &impl Serialize) -> Answer {
    serde_json::to_value(body).map_err(|error| Refusal::broken(format!("cannot write the answer: {error}")))
}

/// The JSON of a response type, without secrets.
pub(crate) fn redacted(context: &ProjectContext, body: &impl Serialize) -> Answer {
    let mut value = json(body)?;
    context.redactor.value(&mut value);
    Ok(value)
}

/// Refuses a text that is too long.
pub(crate) fn within(text: &str, most: usize) -> Result<(), Refusal> {
    match text.len() > most && text.chars().nth(most).is_some() {
        true => Err(Refusal::bad(format!("a text of more than {most} characters is not taken"))),
        false => Ok(()),
    }
}

pub(crate) fn json_response(status: StatusCode, body: &impl Serialize) -> Response {
    typed(status, "application/json", serde_json::to_string(body).unwrap_or_default())
}

/// Something with a type.
pub(crate) fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
