//! Every error as the contract's object.

use axum::{
    Json,
    extract::rejection::{JsonRejection, QueryRejection},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

pub const JSON: &str = "application/json; charset=utf-8";

pub enum AppError {
    Refused(StatusCode, String),
    /// No connection became free in time.
    Busy,
    Database(sqlx::Error),
}

impl AppError {
    pub fn new(status: StatusCode, message: &str) -> Self {
        Self::Refused(status, message.to_owned())
    }
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
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
        let body = Json(json!({ "ok": false, "message": message }));
        let answer = (status, [(header::CONTENT_TYPE, JSON)], body);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            ([(header::RETRY_AFTER, "1")], answer).into_response()
        } else {
            answer.into_response()
        }
    }
}
