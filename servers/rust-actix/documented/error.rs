//! Every error as the contract's object.

use std::{error::Error, fmt};

use actix_web::{
    HttpResponse, ResponseError,
    http::{StatusCode, header},
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

    /// What an extractor refused.
    pub fn rejection(error: impl ResponseError) -> actix_web::Error {
        Self::Refused(error.status_code(), error.to_string()).into()
    }
}

impl Error for AppError {}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused(_, message) => message,
            Self::Busy => "no connection in time",
            Self::Database(_) => "the database failed",
        })
    }
}

impl ResponseError for AppError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Refused(status, _) => *status,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse {
        if let Self::Database(error) = self {
            eprintln!("the database failed: {error}");
        }
        let mut answer = HttpResponse::build(self.status_code());
        if matches!(self, Self::Busy) {
            answer.insert_header((header::RETRY_AFTER, "1"));
        }
        answer.json(json!({ "ok": false, "message": self.to_string() }))
    }
}
