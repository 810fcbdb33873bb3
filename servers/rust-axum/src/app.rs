//! The routes: parameters in, JSON out.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::Body,
    extract::{
        DefaultBodyLimit, FromRequestParts, Query, State,
        rejection::{QueryRejection, StringRejection},
    },
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::{Deserialize, Serialize};

use crate::{
    rows::{Account, User},
    store::{PING, Store, StoreError, TIME, USERS},
};

const BODY_LIMIT_BYTES: usize = 64 << 10;
const OK: Json<&str> = Json(r#"{"ok":true}"#);

pub struct App {
    pub store: Store,
    pub accounts: HashMap<String, Account>,
}

type Shared = State<Arc<App>>;
type Answer<Body> = Result<Json<Body>, Failure>;

pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/ready", get(ready))
        .route("/ping", get(async || Json(r#"{"ok":true,"message":"OK"}"#)))
        .route("/time", get(time))
        .route("/db/ping", get(async |State(app): Shared| database_text(&app, PING).await))
        .route("/db/time", get(async |State(app): Shared| database_text(&app, TIME).await))
        .route("/users", get(users))
        .route("/tx", post(tx))
        .route("/transfer", post(transfer))
        .route("/lookup", post(lookup).layer(DefaultBodyLimit::max(BODY_LIMIT_BYTES)))
        .method_not_allowed_fallback(async || Failure::new(StatusCode::METHOD_NOT_ALLOWED, "no such method here"))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "no such route"))
        .with_state(app)
}

async fn ready(State(app): Shared) -> Result<StatusCode, Failure> {
    let unready = |_| Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer");
    app.store.rows(PING).await.map_err(unready)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn time() -> Json<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    Json(format!(r#"{{"serverTime":{}}}"#, now.as_secs()))
}

/// The text that a statement returns, unchanged.
async fn database_text(app: &App, sql: &'static str) -> Answer<String> {
    let rows = app.store.rows(sql).await?;
    let text = rows.first().ok_or(StoreError::NoRow)?;
    Ok(Json(sqlx::Row::try_get(text, 0).map_err(StoreError::from)?))
}

async fn users(State(app): Shared) -> Answer<Vec<u8>> {
    let rows = app.store.rows(USERS).await?;
    Ok(serialised(&rows.iter().map(User::read).collect::<Result<Vec<_>, _>>()?))
}

#[derive(Deserialize)]
struct Tx {
    aid: Decimal<1>,
    tid: Decimal<1>,
    bid: Decimal<1>,
    delta: Decimal<{ i32::MIN }>,
}

async fn tx(State(app): Shared, Parameters(query): Parameters<Tx>) -> Answer<&'static str> {
    app.store.tx([query.aid, query.tid, query.bid].map(|id| id.0.into()), query.delta.0).await?;
    Ok(OK)
}

#[derive(Deserialize)]
struct Transfer {
    from: Decimal<1>,
    to: Decimal<1>,
    amount: Decimal<1>,
}

async fn transfer(State(app): Shared, Parameters(query): Parameters<Transfer>) -> Answer<&'static str> {
    let (from, to, amount) = (query.from.0, query.to.0, query.amount.0);
    if from == to {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "`from` and `to` must differ"));
    }
    // A task of its own, because a client that hangs up ends the handler: SQLx would forget a transaction that it is
    // just beginning, and lend the connection out with it.
    let work = tokio::spawn(async move { app.store.transfer(from, to, amount).await });
    work.await.expect("a transfer does not panic")?;
    Ok(OK)
}

#[derive(Deserialize)]
struct Lookup<'body> {
    #[serde(borrow)]
    account_id: Cow<'body, str>,
}

async fn lookup(State(app): Shared, body: Result<String, StringRejection>) -> Answer<Vec<u8>> {
    let body = body.map_err(|rejection| Failure::new(rejection.status(), rejection.body_text()))?;
    // Alone, serde would read a struct from an array too.
    let object = body.trim_ascii_start().starts_with('{').then(|| serde_json::from_str::<Lookup>(&body));
    let Some(Ok(lookup)) = object else {
        return Err(Failure::new(StatusCode::BAD_REQUEST, "the body must be a JSON object with a text `account_id`"));
    };
    let unknown = || Failure::new(StatusCode::NOT_FOUND, "no such account");
    Ok(serialised(app.accounts.get(&*lookup.account_id).ok_or_else(unknown)?))
}

/// A decimal integer from `LEAST` to the largest of 32 bits.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Decimal<const LEAST: i32>(i32);

impl<const LEAST: i32> TryFrom<String> for Decimal<LEAST> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // `parse` takes a plus sign too.
        let value = text.parse().ok().filter(|value| *value >= LEAST && !text.starts_with('+'));
        value.map(Self).ok_or_else(|| format!("`{text}` is no decimal integer from {LEAST} to {}", i32::MAX))
    }
}

/// axum's `Query` with our error object as its rejection.
#[derive(FromRequestParts)]
#[from_request(via(Query), rejection(Failure))]
struct Parameters<T>(T);

impl From<QueryRejection> for Failure {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), rejection.body_text())
    }
}

/// A body that is JSON already; axum's own `Json` says no charset.
struct Json<Body>(Body);

impl<B: Into<Body>> IntoResponse for Json<B> {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.0.into());
        let json = header::HeaderValue::from_static("application/json; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}

fn serialised(value: &impl Serialize) -> Json<Vec<u8>> {
    Json(serde_json::to_vec(value).expect("plain structs have a JSON form"))
}

struct Failure {
    status: StatusCode,
    message: Cow<'static, str>,
}

impl Failure {
    fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { status, message: message.into() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::new(StatusCode::SERVICE_UNAVAILABLE, "no database connection is free"),
            StoreError::NoRow => Self::new(StatusCode::NOT_FOUND, "no such account"),
            StoreError::Away(_) => {
                eprintln!("{error}");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "the database is away")
            }
            StoreError::Failed(_) => {
                eprintln!("{error}");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the database failed")
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "ok": false, "message": self.message }).to_string();
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}
