//! The routes of the contract.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Json, Router,
    extract::{FromRequest, FromRequestParts, Query, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    error::AppError,
    records::{Account, User},
    store::{PING, READY, Store, TIME},
};

pub struct App {
    pub accounts: HashMap<String, Account>,
    pub store: Store,
}

type Shared = State<Arc<App>>;
type Answer<T> = Result<Json<T>, AppError>;

pub fn router(app: App) -> Router {
    Router::new()
        .route("/ready", get(ready))
        .route("/ping", get(ping))
        .route("/time", get(time))
        .route("/db/ping", get(database_ping))
        .route("/db/time", get(database_time))
        .route("/users", get(users))
        .route("/tx", post(tx))
        .route("/transfer", post(transfer))
        .route("/lookup", post(lookup))
        .method_not_allowed_fallback(async || AppError::new(StatusCode::METHOD_NOT_ALLOWED, "no such method here"))
        .fallback(async || AppError::new(StatusCode::NOT_FOUND, "no such route"))
        .with_state(Arc::new(app))
}

async fn ready(State(app): Shared) -> Result<StatusCode, AppError> {
    app.store.text(READY).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct Message {
    ok: bool,
    message: &'static str,
}

async fn ping() -> Json<Message> {
    Json(Message { ok: true, message: "OK" })
}

async fn time() -> Json<serde_json::Value> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    Json(json!({ "serverTime": now.as_secs() }))
}

async fn database_ping(State(app): Shared) -> Result<Response, AppError> {
    Ok(ready_made(app.store.text(PING).await?))
}

async fn database_time(State(app): Shared) -> Result<Response, AppError> {
    Ok(ready_made(app.store.text(TIME).await?))
}

/// An answer whose text is JSON already.
fn ready_made(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn users(State(app): Shared) -> Answer<Vec<User>> {
    Ok(Json(app.store.users().await?))
}

/// A number that serde reads from a text, and takes only where it is 1 or more.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "i32")]
struct Positive(i32);

impl TryFrom<i32> for Positive {
    type Error = &'static str;

    fn try_from(number: i32) -> Result<Self, Self::Error> {
        (number > 0).then_some(Self(number)).ok_or("a number must be 1 or more")
    }
}

#[derive(Deserialize)]
struct Tx {
    aid: Positive,
    tid: Positive,
    bid: Positive,
    delta: i32,
}

#[derive(Serialize)]
struct Done {
    ok: bool,
}

async fn tx(State(app): Shared, Parameters(asked): Parameters<Tx>) -> Answer<Done> {
    let Tx { aid, tid, bid, delta } = asked;
    app.store.tx(aid.0.into(), tid.0.into(), bid.0.into(), delta).await?;
    Ok(Json(Done { ok: true }))
}

#[derive(Deserialize)]
struct Transfer {
    from: Positive,
    to: Positive,
    amount: Positive,
}

async fn transfer(State(app): Shared, Parameters(asked): Parameters<Transfer>) -> Answer<Done> {
    let Transfer { from, to, amount } = asked;
    if from == to {
        return Err(AppError::new(StatusCode::BAD_REQUEST, "`from` and `to` must differ"));
    }
    // A client that hangs up ends its handler. SQLx would forget a transaction that it is just beginning, and lend the connection
    // out with it, so this goes on in a task of its own.
    let moved = tokio::spawn(async move { app.store.transfer(from.0, to.0, amount.0).await });
    moved.await.expect("a transfer does not panic")?;
    Ok(Json(Done { ok: true }))
}

#[derive(Deserialize)]
struct Lookup {
    account_id: String,
}

async fn lookup(State(app): Shared, Body(asked): Body<Lookup>) -> Result<Response, AppError> {
    let account = app.accounts.get(&asked.account_id).ok_or_else(AppError::unknown_account)?;
    Ok(Json(account).into_response())
}

/// axum's `Query` with our error as its rejection.
#[derive(FromRequestParts)]
#[from_request(via(Query), rejection(AppError))]
struct Parameters<T>(T);

/// axum's `Json` as an extractor, with our error as its rejection.
#[derive(FromRequest)]
#[from_request(via(Json), rejection(AppError))]
struct Body<T>(T);
