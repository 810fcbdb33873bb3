//! The routes of the contract.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
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
use sqlx::{Connection, PgPool, Postgres, pool::PoolConnection};

use crate::{
    database::{Account, DatabaseConnection, User},
    error::{AppError, JSON},
};

pub struct App {
    pub accounts: HashMap<String, Account>,
    pub pool: PgPool,
    /// POOL_WAIT_MS; None waits without a limit.
    pub wait: Option<Duration>,
    pub prepared: bool,
}

pub type Shared = Arc<App>;
type Answer<T> = Result<Utf8Json<T>, AppError>;

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

async fn ready(DatabaseConnection(mut connection): DatabaseConnection) -> Result<StatusCode, AppError> {
    sqlx::query("SELECT 1").execute(&mut *connection).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct Message {
    ok: bool,
    message: &'static str,
}

async fn ping() -> Utf8Json<Message> {
    Utf8Json(Message { ok: true, message: "OK" })
}

async fn time() -> Utf8Json<serde_json::Value> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    Utf8Json(json!({ "serverTime": now.as_secs() }))
}

async fn database_ping(State(app): State<Shared>, connection: DatabaseConnection) -> Result<Response, AppError> {
    text(&app, connection, "SELECT json_build_object('ok', true, 'message', 'OK')::text").await
}

async fn database_time(State(app): State<Shared>, connection: DatabaseConnection) -> Result<Response, AppError> {
    text(&app, connection, "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text").await
}

/// What a statement returns is JSON already.
async fn text(app: &App, mut connection: DatabaseConnection, sql: &str) -> Result<Response, AppError> {
    let query = sqlx::query_scalar(sql).persistent(app.prepared);
    let text: String = query.fetch_one(&mut *connection.0).await?;
    Ok(([(header::CONTENT_TYPE, JSON)], text).into_response())
}

async fn users(State(app): State<Shared>, DatabaseConnection(mut connection): DatabaseConnection) -> Answer<Vec<User>> {
    let query = sqlx::query_as("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id");
    Ok(Utf8Json(query.persistent(app.prepared).fetch_all(&mut *connection).await?))
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

async fn tx(
    State(app): State<Shared>,
    Parameters(asked): Parameters<Tx>,
    DatabaseConnection(mut connection): DatabaseConnection,
) -> Answer<Done> {
    sqlx::query("SELECT pgbench_tx($1, $2, $3, $4)")
        .bind(i64::from(asked.aid.0))
        .bind(i64::from(asked.tid.0))
        .bind(i64::from(asked.bid.0))
        .bind(asked.delta)
        .persistent(app.prepared)
        .execute(&mut *connection)
        .await?;
    Ok(Utf8Json(Done { ok: true }))
}

#[derive(Deserialize)]
struct Transfer {
    from: Positive,
    to: Positive,
    amount: Positive,
}

async fn transfer(
    State(app): State<Shared>,
    Parameters(asked): Parameters<Transfer>,
    DatabaseConnection(connection): DatabaseConnection,
) -> Answer<Done> {
    if asked.from == asked.to {
        return Err(AppError::new(StatusCode::BAD_REQUEST, "`from` and `to` must differ"));
    }
    // A client that hangs up ends its handler. SQLx would forget a transaction that it is just beginning, and lend the connection
    // out with it, so this goes on in a task of its own.
    tokio::spawn(move_credits(connection, asked, app.prepared)).await.expect("a transfer does not panic")?;
    Ok(Utf8Json(Done { ok: true }))
}

async fn move_credits(
    mut connection: PoolConnection<Postgres>,
    asked: Transfer,
    prepared: bool,
) -> Result<(), AppError> {
    let mut transaction = connection.begin().await?;
    for (sql, id) in [
        ("UPDATE web_users SET credits = credits - $1 WHERE id = $2", asked.from),
        ("UPDATE web_users SET credits = credits + $1 WHERE id = $2", asked.to),
    ] {
        let update = sqlx::query(sql).bind(asked.amount.0).bind(id.0).persistent(prepared);
        if update.execute(&mut *transaction).await?.rows_affected() == 0 {
            transaction.rollback().await?;
            return Err(AppError::new(StatusCode::NOT_FOUND, "no such account"));
        }
    }
    Ok(transaction.commit().await?)
}

#[derive(Deserialize)]
struct Lookup {
    account_id: String,
}

async fn lookup(State(app): State<Shared>, Body(asked): Body<Lookup>) -> Result<Response, AppError> {
    let account = app.accounts.get(&asked.account_id);
    let unknown = || AppError::new(StatusCode::NOT_FOUND, "no such account");
    Ok(Utf8Json(account.ok_or_else(unknown)?).into_response())
}

/// axum's `Query` with our error as its rejection.
#[derive(FromRequestParts)]
#[from_request(via(Query), rejection(AppError))]
struct Parameters<T>(T);

/// axum's `Json` as an extractor, with our error as its rejection.
#[derive(FromRequest)]
#[from_request(via(Json), rejection(AppError))]
struct Body<T>(T);

/// axum's `Json` as an answer, with the charset that the contract demands.
struct Utf8Json<T>(T);

impl<T: Serialize> IntoResponse for Utf8Json<T> {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, JSON)], Json(self.0)).into_response()
    }
}
