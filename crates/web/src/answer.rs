//! Answers to requests: JSON, or an error with its reason and hint.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

/// Refusal of a request.
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

    /// What was asked for is wrong.
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

    /// What is stored cannot be read or written.
    pub(crate) fn broken(message: impl Into<String>) -> Self {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(crate) fn with(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(crate) fn response(self) -> Response {
        let mut response = json_response(self.status, &json!({ "error": self.message }));
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Result of a page.
pub(crate) type Answer = Result<Value, Refusal>;

/// A value with its status.
pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response {
    typed(status, "application/json", value.to_string())
}

/// Something with a type.
pub(crate) fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
