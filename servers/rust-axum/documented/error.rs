//! Every error as the contract's object.

use axum::{
    Json,
    extract::rejection::{JsonRejection, QueryRejection},
    http::{StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use serde_json::json;

#[derive(Debug)]
pub enum AppError {
    Refused(StatusCode, String),
    /// No connection became free in time.
    Busy,
    Database(String),
}

impl AppError {
    pub fn new(status: StatusCode, message: &str) -> Self {
        Self::Refused(status, message.to_owned())
    }

    pub fn unknown_account() -> Self {
        Self::new(StatusCode::NOT_FOUND, "no such account")
    }
}

impl From<QueryRejection> for AppError {
    fn from(rejection: QueryRejection) -> Self {
        Self::Refused(rejection.status(), rejection.body_text())
    }
}

impl From<JsonRejection> for AppError {
    fn from(rejection: JsonRejection) -> Self {
        Self::Refused(rejection.status(), rejection.body_text())
    }
}

impl IntoResponse for AppError {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::Refused(status, message) => (status, message),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "no connection in time".to_owned()),
            Self::Database(error) => {
                eprintln!("the database failed: {error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "the database failed".to_owned())
            }
        };
        let answer = (status, Json(json!({ "ok": false, "message": message })));
        match status {
            StatusCode::SERVICE_UNAVAILABLE => ([(RETRY_AFTER, "1")], answer).into_response(),
            _ => answer.into_response(),
        }
    }
}

impl std::error::Error for AppError {}

impl std::fmt::Display for AppError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(_, message) | Self::Database(message) => f.write_str(message),
            Self::Busy => f.write_str("no connection in time"),
        }
    }
}
