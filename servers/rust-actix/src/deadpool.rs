//! The store on tokio-postgres and deadpool.

use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime, TimeoutType};
use tokio_postgres::{
    Config, NoTls, Row,
    types::{ToSql, Type},
};

use crate::store::*;

type Parameters<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

pub struct Deadpool {
    pool: Pool,
    prepared: bool,
}

impl Deadpool {
    pub fn new(url: &str, size: usize, wait: Option<Duration>, prepared: bool) -> Self {
        let config: Config = url.parse().expect("`DATABASE_URL` must be a postgresql:// address");
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let pool = Pool::builder(Manager::from_config(config, NoTls, recycling))
            .max_size(size)
            .wait_timeout(wait)
            .create_timeout(Some(Duration::from_secs(2)))
            .runtime(Runtime::Tokio1)
            .build()
            .expect("a runtime is given");
        Self { pool, prepared }
    }

    async fn rows(&self, sql: &str, parameters: Parameters<'_>) -> Result<Vec<Row>> {
        let client = self.pool.get().await?;
        if !self.prepared {
            return Ok(client.query_typed(sql, parameters).await?);
        }
        let values: Vec<_> = parameters.iter().map(|(value, _)| *value).collect();
        Ok(client.query(&client.prepare_cached(sql).await?, &values).await?)
    }
}

impl Store for Deadpool {
    async fn text(&self, sql: &'static str) -> Result<String> {
        Ok(self.rows(sql, &[]).await?.first().ok_or(StoreError::NoRow)?.try_get(0)?)
    }

    async fn users(&self) -> Result<Vec<User>> {
        Ok(self.rows(USERS, &[]).await?.iter().map(|row| user!(row)).collect())
    }

    async fn accounts(&self) -> Result<Vec<Account>> {
        Ok(self.rows(ACCOUNTS, &[]).await?.iter().map(|row| account!(row)).collect())
    }

    async fn tx(&self, aid: i64, tid: i64, bid: i64, delta: i32) -> Result<()> {
        self.rows(TX, &[(&aid, Type::INT8), (&tid, Type::INT8), (&bid, Type::INT8), (&delta, Type::INT4)]).await?;
        Ok(())
    }

    async fn transfer(&self, from: i32, to: i32, amount: i32) -> Result<()> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        for (sql, id) in [(DEBIT, from), (CREDIT, to)] {
            let touched = match self.prepared {
                true => transaction.execute(&transaction.prepare_cached(sql).await?, &[&amount, &id]).await?,
                false => transaction.execute_typed(sql, &[(&amount, Type::INT4), (&id, Type::INT4)]).await?,
            };
            if touched == 0 {
                transaction.rollback().await?;
                return Err(StoreError::NoRow);
            }
        }
        Ok(transaction.commit().await?)
    }
}

impl From<PoolError> for StoreError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Timeout(TimeoutType::Wait) => Self::Busy,
            other => Self::Failed(other.to_string()),
        }
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Failed(error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string))
    }
}
