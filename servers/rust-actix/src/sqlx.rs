//! The store on SQLx and its pool.

use std::time::Duration;

use sqlx::{ConnectOptions, Connection, Executor, PgPool, Postgres, Row};
use sqlx::{
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions, PgRow},
};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};

use crate::store::*;

pub struct Sqlx {
    pool: PgPool,
    slots: Semaphore,
    wait: Option<Duration>,
    prepared: bool,
}

impl Sqlx {
    pub fn new(url: &str, size: usize, wait: Option<Duration>, prepared: bool) -> Self {
        let options: PgConnectOptions = url.parse().expect("`DATABASE_URL` must be a postgresql:// address");
        let pool = PgPoolOptions::new()
            .max_connections(size as u32)
            .acquire_timeout(Duration::from_secs(2))
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    if meta.idle_for > Duration::from_secs(1) {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options.disable_statement_logging());
        Self { pool, slots: Semaphore::new(size), wait, prepared }
    }

    /// The slot comes after the connection, so that it is dropped last.
    async fn connection(&self) -> Result<(PoolConnection<Postgres>, SemaphorePermit<'_>)> {
        let slot = match self.wait {
            None => self.slots.acquire().await,
            Some(limit) => timeout(limit, self.slots.acquire()).await.map_err(|_| StoreError::Busy)?,
        };
        Ok((self.pool.acquire().await?, slot.expect("nobody closes the semaphore")))
    }

    async fn rows(&self, sql: &'static str) -> Result<Vec<PgRow>> {
        let (mut connection, _slot) = self.connection().await?;
        Ok(match self.prepared {
            true => connection.fetch_all(sqlx::query(sql)).await?,
            false => connection.fetch_all(sqlx::raw_sql(sql)).await?,
        })
    }
}

impl Store for Sqlx {
    async fn text(&self, sql: &'static str) -> Result<String> {
        Ok(self.rows(sql).await?.first().ok_or(StoreError::NoRow)?.try_get(0)?)
    }

    async fn users(&self) -> Result<Vec<User>> {
        Ok(self.rows(USERS).await?.iter().map(|row| user!(row)).collect())
    }

    async fn accounts(&self) -> Result<Vec<Account>> {
        Ok(self.rows(ACCOUNTS).await?.iter().map(|row| account!(row)).collect())
    }

    async fn tx(&self, aid: i64, tid: i64, bid: i64, delta: i32) -> Result<()> {
        let (mut connection, _slot) = self.connection().await?;
        let call = sqlx::query(TX).persistent(self.prepared).bind(aid).bind(tid).bind(bid).bind(delta);
        if self.prepared {
            call.execute(&mut *connection).await?;
        } else {
            // SQLx parses and executes in two round trips; a transaction keeps a pooler on one connection for both.
            let mut transaction = connection.begin().await?;
            call.execute(&mut *transaction).await?;
            transaction.commit().await?;
        }
        Ok(())
    }

    async fn transfer(&self, from: i32, to: i32, amount: i32) -> Result<()> {
        let (mut connection, _slot) = self.connection().await?;
        let mut transaction = connection.begin().await?;
        for (sql, id) in [(DEBIT, from), (CREDIT, to)] {
            let update = sqlx::query(sql).persistent(self.prepared).bind(amount).bind(id);
            if update.execute(&mut *transaction).await?.rows_affected() == 0 {
                transaction.rollback().await?;
                return Err(StoreError::NoRow);
            }
        }
        Ok(transaction.commit().await?)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
