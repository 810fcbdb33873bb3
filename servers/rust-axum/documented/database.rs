//! The database: SQLx with its pool, a connection as an extractor, and rows as structs.

use std::{env, error::Error, time::Duration};

use axum::{extract::FromRequestParts, http::request::Parts};
use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};
use sqlx::{
    FromRow, PgPool, Postgres, Row,
    pool::PoolConnection,
    postgres::{PgPoolOptions, PgRow},
};
use tokio::time::timeout;

use crate::{app::Shared, error::AppError};

/// The pool knows no wait without a limit.
const A_DAY: Duration = Duration::from_secs(86_400);

pub async fn connect() -> Result<PgPool, Box<dyn Error>> {
    let size = env::var("POOL_SIZE")?.parse()?;
    let options = PgPoolOptions::new().max_connections(size).acquire_timeout(A_DAY);
    Ok(options.connect(&env::var("DATABASE_URL")?).await?)
}

/// A connection of the pool, which goes back when it is dropped.
pub struct DatabaseConnection(pub PoolConnection<Postgres>);

impl FromRequestParts<Shared> for DatabaseConnection {
    type Rejection = AppError;

    /// POOL_WAIT_MS is timed where no connection is idle and none may be made: the pool's own limit also covers the ping of an idle
    /// one, and the making of a new one.
    async fn from_request_parts(_parts: &mut Parts, app: &Shared) -> Result<Self, AppError> {
        let pool = &app.pool;
        let is_full = pool.num_idle() == 0 && pool.size() >= pool.options().get_max_connections();
        let connection = match app.wait {
            Some(wait) if is_full => timeout(wait, pool.acquire()).await.map_err(|_| AppError::Busy)?,
            _ => pool.acquire().await,
        };
        Ok(Self(connection?))
    }
}

/// One object of `/users`.
#[derive(Serialize)]
pub struct User {
    id: i32,
    username: String,
    name: String,
    sex: String,
    address: String,
    mail: String,
    #[serde(serialize_with = "with_milliseconds")]
    birthdate: DateTime<Utc>,
}

impl FromRow<'_, PgRow> for User {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            username: row.try_get("username")?,
            name: row.try_get("name")?,
            sex: row.try_get("sex")?,
            address: caesar(row.try_get("address")?),
            mail: row.try_get("mail")?,
            birthdate: row.try_get("birthdate")?,
        })
    }
}

#[derive(Serialize)]
pub struct Account {
    pub account_id: String,
    name: String,
    email: String,
    plan: String,
    currency: String,
    balance_cents: i64,
    active: bool,
    created_at: String,
    region: String,
    note: String,
}

impl FromRow<'_, PgRow> for Account {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            account_id: row.try_get("account_id")?,
            name: row.try_get("name")?,
            email: row.try_get("email")?,
            plan: row.try_get("plan")?,
            currency: row.try_get("currency")?,
            balance_cents: row.try_get("balance_cents")?,
            active: row.try_get("active")?,
            created_at: row.try_get("created_at")?,
            region: row.try_get("region")?,
            note: row.try_get("note")?,
        })
    }
}

fn with_milliseconds<S: Serializer>(moment: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&moment.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Each ASCII letter rotated by 14 inside its case.
fn caesar(text: &str) -> String {
    let rotated = |letter: char, first: u8| char::from((letter as u8 - first + 14) % 26 + first);
    text.chars()
        .map(|letter| match letter {
            'a'..='z' => rotated(letter, b'a'),
            'A'..='Z' => rotated(letter, b'A'),
            other => other,
        })
        .collect()
}
