//! What the two drivers have in common.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;

pub const PING: &str = "SELECT json_build_object('ok', true, 'message', 'OK')::text";
pub const TIME: &str = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text";
pub const USERS: &str = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id";
pub const TX: &str = "SELECT pgbench_tx($1, $2, $3, $4)";
pub const DEBIT: &str = "UPDATE web_users SET credits = credits - $1 WHERE id = $2";
pub const CREDIT: &str = "UPDATE web_users SET credits = credits + $1 WHERE id = $2";
pub const ACCOUNTS: &str =
    "SELECT account_id, name, email, plan, currency, balance_cents, active, created_at, region, note FROM accounts";

#[derive(Debug)]
pub enum StoreError {
    /// No connection became free in time.
    Busy,
    /// A statement touched no row; its transaction was rolled back.
    NoRow,
    Failed(String),
}

pub type Result<T> = std::result::Result<T, StoreError>;

pub trait Store: Send + Sync + 'static {
    async fn text(&self, sql: &'static str) -> Result<String>;
    async fn users(&self) -> Result<Vec<User>>;
    async fn accounts(&self) -> Result<Vec<Account>>;
    async fn tx(&self, aid: i64, tid: i64, bid: i64, delta: i32) -> Result<()>;
    async fn transfer(&self, from: i32, to: i32, amount: i32) -> Result<()>;
}

#[derive(Serialize)]
pub struct User {
    pub id: i32,
    pub username: String,
    pub name: String,
    pub sex: String,
    pub address: String,
    pub mail: String,
    pub birthdate: String,
}

#[derive(Serialize)]
pub struct Account {
    pub account_id: String,
    pub name: String,
    pub email: String,
    pub plan: String,
    pub currency: String,
    pub balance_cents: i64,
    pub active: bool,
    pub created_at: String,
    pub region: String,
    pub note: String,
}

pub fn iso(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Builds a `User` from a row of either driver.
macro_rules! user {
    ($row:expr) => {
        User {
            id: $row.get(0),
            username: $row.get(1),
            name: $row.get(2),
            sex: $row.get(3),
            address: $row.get(4),
            mail: $row.get(5),
            birthdate: iso($row.get(6)),
        }
    };
}

/// Builds an `Account` from a row of either driver.
macro_rules! account {
    ($row:expr) => {
        Account {
            account_id: $row.get(0),
            name: $row.get(1),
            email: $row.get(2),
            plan: $row.get(3),
            currency: $row.get(4),
            balance_cents: $row.get(5),
            active: $row.get(6),
            created_at: $row.get(7),
            region: $row.get(8),
            note: $row.get(9),
        }
    };
}

pub(crate) use {account, user};
