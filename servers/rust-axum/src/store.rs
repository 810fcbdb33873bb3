//! The database behind SQLx and its pool.

use std::{fmt, time::Duration};

use sqlx::{
    ConnectOptions, Connection, Executor, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

pub const PING: &str = "SELECT json_build_object('ok', true, 'message', 'OK')::text";
pub const TIME: &str = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text";
pub const USERS: &str = "SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id";
pub const ACCOUNTS: &str =
    "SELECT account_id, name, email, plan, currency, balance_cents, active, created_at, region, note FROM accounts";
const TX: &str = "SELECT pgbench_tx($1, $2, $3, $4)";
const DEBIT: &str = "UPDATE web_users SET credits = credits - $1 WHERE id = $2";
const CREDIT: &str = "UPDATE web_users SET credits = credits + $1 WHERE id = $2";

/// How long a connection may be idle before it is asked whether it still lives.
const TRUSTED_IDLE: Duration = Duration::from_secs(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub enum StoreError {
    /// No connection became free in time.
    Busy,
    /// There is no connection to the database, or it broke.
    Away(sqlx::Error),
    /// The database refused a statement; its transaction was rolled back.
    Failed(sqlx::Error),
    /// A statement touched no row; its transaction was rolled back.
    NoRow,
}

pub type Result<T> = std::result::Result<T, StoreError>;

pub struct Store {
    pool: PgPool,
    /// Who may ask the pool: its own timeout also covers the making of a connection, and knows no "at once".
    slots: Semaphore,
    wait: Option<Duration>,
    prepared: bool,
}

impl Store {
    /// Connections are made when first needed. `wait` None waits for a free one without a limit.
    pub fn new(url: &str, size: usize, wait: Option<Duration>, prepared: bool) -> Self {
        let options: PgConnectOptions = url.parse().expect("`DATABASE_URL` must be a postgresql:// address");
        // PgBouncer refuses `extra_float_digits` among the parameters of a new connection unless told otherwise.
        let options = options.extra_float_digits(None).disable_statement_logging();
        let pool = PgPoolOptions::new()
            .max_connections(size as u32)
            .acquire_timeout(CONNECT_TIMEOUT)
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    if meta.idle_for > TRUSTED_IDLE {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options);
        Self { pool, slots: Semaphore::new(size), wait, prepared }
    }

    /// The rows of one statement without parameters.
    pub async fn rows(&self, sql: &'static str) -> Result<Vec<PgRow>> {
        let (mut connection, _slot) = self.connection().await?;
        Ok(match self.prepared {
            true => connection.fetch_all(sqlx::query(sql)).await?,
            false => connection.fetch_all(sqlx::raw_sql(sql)).await?,
        })
    }

    pub async fn tx(&self, [aid, tid, bid]: [i64; 3], delta: i32) -> Result<()> {
        let (mut connection, _slot) = self.connection().await?;
        let call = sqlx::query(TX).persistent(self.prepared).bind(aid).bind(tid).bind(bid).bind(delta);
        if self.prepared {
            connection.execute(call).await?;
            return Ok(());
        }
        // Unnamed, SQLx parses and executes in two round trips: a pooler must not part them.
        let mut transaction = connection.begin().await?;
        transaction.execute(call).await?;
        Ok(transaction.commit().await?)
    }

    pub async fn transfer(&self, from: i32, to: i32, amount: i32) -> Result<()> {
        let (mut connection, _slot) = self.connection().await?;
        let mut transaction = connection.begin().await?;
        for (sql, id) in [(DEBIT, from), (CREDIT, to)] {
            let update = sqlx::query(sql).persistent(self.prepared).bind(amount).bind(id);
            if transaction.execute(update).await?.rows_affected() == 0 {
                transaction.rollback().await?;
                return Err(StoreError::NoRow);
            }
        }
        Ok(transaction.commit().await?)
    }

    /// A connection and the slot that it fills; in this order, because a slot must not be free before its connection.
    async fn connection(&self) -> Result<(PoolConnection<Postgres>, SemaphorePermit<'_>)> {
        let slot = match self.wait {
            None => self.slots.acquire().await,
            Some(wait) => timeout(wait, self.slots.acquire()).await.map_err(|_| StoreError::Busy)?,
        };
        Ok((self.pool.acquire().await?, slot.expect("nobody closes the semaphore")))
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::PoolTimedOut => Self::Away(error),
            refused => Self::Failed(refused),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("no database connection is free"),
            Self::Away(error) => write!(f, "the database is away: {error}"),
            Self::Failed(error) => write!(f, "the database failed: {error}"),
            Self::NoRow => f.write_str("no such account"),
        }
    }
}
