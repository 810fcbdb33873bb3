//! SQLx with its pool.

use std::time::Duration;

use sqlx::{
    Connection, Executor, FromRow, PgPool, Postgres, Row,
    pool::PoolConnection,
    postgres::{PgPoolOptions, PgRow},
};
use tokio::time::timeout;

use crate::{
    error::AppError,
    records::{Account, User, read},
    store::*,
};

/// The pool knows no wait without a limit.
const A_DAY: Duration = Duration::from_secs(86_400);

pub struct Sqlx {
    pool: PgPool,
    wait: Option<Duration>,
    prepared: bool,
}

impl Sqlx {
    pub async fn connect(settings: &Settings) -> Result<Self, AppError> {
        let options = PgPoolOptions::new().max_connections(settings.size).acquire_timeout(A_DAY);
        let pool = options.connect(&settings.url).await?;
        Ok(Self { pool, wait: settings.wait, prepared: settings.prepared })
    }

    /// POOL_WAIT_MS is timed where no connection is idle and none may be made: the pool's own limit also covers the ping of an
    /// idle one, and the making of a new one.
    async fn connection(&self) -> Result<PoolConnection<Postgres>, AppError> {
        let is_full = self.pool.num_idle() == 0 && self.pool.size() >= self.pool.options().get_max_connections();
        Ok(match self.wait {
            Some(wait) if is_full => timeout(wait, self.pool.acquire()).await.map_err(|_| AppError::Busy)?,
            _ => self.pool.acquire().await,
        }?)
    }

    async fn rows(&self, sql: &'static str) -> Result<Vec<PgRow>, AppError> {
        let mut connection = self.connection().await?;
        Ok(match self.prepared {
            true => sqlx::query(sql).fetch_all(&mut *connection).await?,
            false => connection.fetch_all(sql).await?,
        })
    }

    pub async fn text(&self, sql: &'static str) -> Result<String, AppError> {
        Ok(self.rows(sql).await?[0].try_get(0)?)
    }

    pub async fn users(&self) -> Result<Vec<User>, AppError> {
        Ok(self.rows(USERS).await?.iter().map(User::from_row).collect::<Result<_, _>>()?)
    }

    pub async fn accounts(&self) -> Result<Vec<Account>, AppError> {
        Ok(self.rows(ACCOUNTS).await?.iter().map(Account::from_row).collect::<Result<_, _>>()?)
    }

    /// An unnamed statement takes two round trips, and a transaction keeps a pooler on one connection for both.
    pub async fn tx(&self, aid: i64, tid: i64, bid: i64, delta: i32) -> Result<(), AppError> {
        let mut connection = self.connection().await?;
        let query = sqlx::query(TX).bind(aid).bind(tid).bind(bid).bind(delta).persistent(self.prepared);
        if self.prepared {
            query.execute(&mut *connection).await?;
            return Ok(());
        }
        let mut transaction = connection.begin().await?;
        query.execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    pub async fn transfer(&self, from: i32, to: i32, amount: i32) -> Result<(), AppError> {
        let mut connection = self.connection().await?;
        let mut transaction = connection.begin().await?;
        for (sql, id) in [(DEBIT, from), (CREDIT, to)] {
            let update = sqlx::query(sql).bind(amount).bind(id).persistent(self.prepared);
            if update.execute(&mut *transaction).await?.rows_affected() == 0 {
                transaction.rollback().await?;
                return Err(AppError::unknown_account());
            }
        }
        Ok(transaction.commit().await?)
    }
}

impl FromRow<'_, PgRow> for User {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        read!(row => Self { id, username, name, sex, address, mail, birthdate })
    }
}

impl FromRow<'_, PgRow> for Account {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        read!(row => Self { account_id, name, email, plan, currency, balance_cents, active, created_at, region, note })
    }
}

impl From<sqlx::Error> for AppError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.to_string())
    }
}
