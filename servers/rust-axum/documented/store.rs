//! The statements of the contract, and the driver that carries them out.

use std::time::Duration;

use crate::{
    deadpool::Deadpool,
    error::AppError,
    records::{Account, User},
    sqlx::Sqlx,
};

pub const READY: &str = "SELECT 'ready'";
pub const PING: &str = "SELECT json_build_object('ok', true, 'message', 'OK')::text";
pub const TIME: &str = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text";
pub const USERS: &str = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id";
pub const TX: &str = "SELECT pgbench_tx($1, $2, $3, $4)";
pub const DEBIT: &str = "UPDATE web_users SET credits = credits - $1 WHERE id = $2";
pub const CREDIT: &str = "UPDATE web_users SET credits = credits + $1 WHERE id = $2";
pub const ACCOUNTS: &str =
    "SELECT account_id, name, email, plan, currency, balance_cents, active, created_at, region, note FROM accounts";

/// What the environment says of the database; without a `wait` a request waits for a connection as long as it takes.
pub struct Settings {
    pub driver: String,
    pub url: String,
    pub size: u32,
    pub wait: Option<Duration>,
    pub prepared: bool,
}

pub enum Store {
    Deadpool(Deadpool),
    Sqlx(Sqlx),
}

/// The same call of either driver.
macro_rules! with {
    ($store:expr, $driver:ident => $call:expr) => {
        match $store {
            Store::Deadpool($driver) => $call.await,
            Store::Sqlx($driver) => $call.await,
        }
    };
}

impl Store {
    pub async fn connect(settings: Settings) -> Result<Self, AppError> {
        Ok(match settings.driver.as_str() {
            "sqlx" => Self::Sqlx(Sqlx::connect(&settings).await?),
            _ => Self::Deadpool(Deadpool::new(&settings)),
        })
    }

    /// The first column of the only row.
    pub async fn text(&self, sql: &'static str) -> Result<String, AppError> {
        with!(self, driver => driver.text(sql))
    }

    pub async fn users(&self) -> Result<Vec<User>, AppError> {
        with!(self, driver => driver.users())
    }

    pub async fn accounts(&self) -> Result<Vec<Account>, AppError> {
        with!(self, driver => driver.accounts())
    }

    pub async fn tx(&self, aid: i64, tid: i64, bid: i64, delta: i32) -> Result<(), AppError> {
        with!(self, driver => driver.tx(aid, tid, bid, delta))
    }

    /// Error `Refused` with 404 where one of the two is unknown; nothing is changed then.
    pub async fn transfer(&self, from: i32, to: i32, amount: i32) -> Result<(), AppError> {
        with!(self, driver => driver.transfer(from, to, amount))
    }
}
