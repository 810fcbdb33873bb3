//! TechEmpower's six tests.

use askama::Template;
use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use serde::{Deserialize, Serialize};
use tower_http::set_header::SetResponseHeaderLayer;

use crate::store::{Fortune, Store, StoreError, World, random_ids, random_number};

const MOST_QUERIES: usize = 500;

pub fn router<S: Store>(store: S) -> Router {
    Router::new()
        .route("/plaintext", get(async || "Hello, World!"))
        .route("/json", get(async || Json(Message { message: "Hello, World!" })))
        .route("/db", get(single::<S>))
        .route("/queries", get(several::<S>))
        .route("/updates", get(updates::<S>))
        .route("/fortunes", get(fortunes::<S>))
        .layer(SetResponseHeaderLayer::overriding(header::SERVER, HeaderValue::from_static("axum")))
        .with_state(store)
}

#[derive(Serialize)]
struct Message {
    message: &'static str,
}

async fn single<S: Store>(State(store): State<S>) -> Result<Json<World>, StoreError> {
    Ok(Json(store.world(random_number()).await?))
}

#[derive(Deserialize)]
struct Asked {
    queries: Option<String>,
}

impl Asked {
    /// Within 1 and 500; what is no number is 1.
    fn count(&self) -> usize {
        let number: i64 = self.queries.as_deref().and_then(|text| text.parse().ok()).unwrap_or(1);
        usize::try_from(number).unwrap_or(1).clamp(1, MOST_QUERIES)
    }
}

async fn several<S: Store>(State(store): State<S>, Query(asked): Query<Asked>) -> Result<Json<Vec<World>>, StoreError> {
    let ids = (0..asked.count()).map(|_| random_number()).collect();
    Ok(Json(store.worlds(ids).await?))
}

async fn updates<S: Store>(State(store): State<S>, Query(asked): Query<Asked>) -> Result<Json<Vec<World>>, StoreError> {
    // A client that hangs up ends its handler. A pool may then lend a connection out whose transaction has just begun, so this
    // goes on in a task of its own.
    let task = tokio::spawn(async move { store.update(random_ids(asked.count())).await });
    Ok(Json(task.await??))
}

#[derive(Template)]
#[template(path = "fortunes.html")]
struct Page {
    fortunes: Vec<Fortune>,
}

async fn fortunes<S: Store>(State(store): State<S>) -> Result<Html<String>, StoreError> {
    let mut fortunes = store.fortunes().await?;
    fortunes.push(Fortune { id: 0, message: "Additional fortune added at request time.".to_owned() });
    fortunes.sort_by(|one, other| one.message.cmp(&other.message));
    Ok(Html(Page { fortunes }.render()?))
}

impl IntoResponse for StoreError {
    fn into_response(self) -> Response {
        match self {
            Self::Busy => {
                (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], "no connection in time").into_response()
            }
            Self::Failed(error) => {
                eprintln!("a request failed: {error}");
                (StatusCode::INTERNAL_SERVER_ERROR, "the request failed").into_response()
            }
        }
    }
}
