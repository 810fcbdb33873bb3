//! tokio-postgres with deadpool-postgres.

use deadpool_postgres::{Config, Pool, PoolConfig, PoolError, Runtime, TimeoutType, Timeouts};
use tokio_postgres::{
    NoTls, Row,
    types::{ToSql, Type},
};

use crate::{
    error::AppError,
    records::{Account, User, read},
    store::*,
};

pub struct Deadpool {
    pool: Pool,
    prepared: bool,
}

impl Deadpool {
    pub fn new(settings: &Settings) -> Self {
        let mut config = Config::new();
        config.url = Some(settings.url.clone());
        let timeouts = Timeouts { wait: settings.wait, ..Timeouts::default() };
        config.pool = Some(PoolConfig { timeouts, ..PoolConfig::new(settings.size as usize) });
        let pool = config.create_pool(Some(Runtime::Tokio1), NoTls).expect("DATABASE_URL is an address");
        Self { pool, prepared: settings.prepared }
    }

    pub async fn rows(&self, sql: &str, parameters: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>, AppError> {
        let client = self.pool.get().await?;
        if !self.prepared {
            return Ok(client.query_typed(sql, parameters).await?);
        }
        let values: Vec<_> = parameters.iter().map(|(value, _)| *value).collect();
        let statement = client.prepare_cached(sql).await?;
        Ok(client.query(&statement, &values).await?)
    }

    pub async fn text(&self, sql: &str) -> Result<String, AppError> {
        Ok(self.rows(sql, &[]).await?[0].try_get(0)?)
    }

    pub async fn users(&self) -> Result<Vec<User>, AppError> {
        Ok(self.rows(USERS, &[]).await?.iter().map(User::try_from).collect::<Result<_, _>>()?)
    }

    pub async fn accounts(&self) -> Result<Vec<Account>, AppError> {
        Ok(self.rows(ACCOUNTS, &[]).await?.iter().map(Account::try_from).collect::<Result<_, _>>()?)
    }

    pub async fn tx(&self, aid: i64, tid: i64, bid: i64, delta: i32) -> Result<(), AppError> {
        self.rows(TX, &[(&aid, Type::INT8), (&tid, Type::INT8), (&bid, Type::INT8), (&delta, Type::INT4)]).await?;
        Ok(())
    }

    pub async fn transfer(&self, from: i32, to: i32, amount: i32) -> Result<(), AppError> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        for (sql, id) in [(DEBIT, from), (CREDIT, to)] {
            let touched = if self.prepared {
                let statement = transaction.prepare_cached(sql).await?;
                transaction.execute(&statement, &[&amount, &id]).await?
            } else {
                transaction.execute_typed(sql, &[(&amount, Type::INT4), (&id, Type::INT4)]).await?
            };
            if touched == 0 {
                transaction.rollback().await?;
                return Err(AppError::unknown_account());
            }
        }
        Ok(transaction.commit().await?)
    }
}

impl TryFrom<&Row> for User {
    type Error = tokio_postgres::Error;

    fn try_from(row: &Row) -> Result<Self, Self::Error> {
        read!(row => Self { id, username, name, sex, address, mail, birthdate })
    }
}

impl TryFrom<&Row> for Account {
    type Error = tokio_postgres::Error;

    fn try_from(row: &Row) -> Result<Self, Self::Error> {
        read!(row => Self { account_id, name, email, plan, currency, balance_cents, active, created_at, region, note })
    }
}

impl From<PoolError> for AppError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Timeout(TimeoutType::Wait) => Self::Busy,
            other => Self::Database(other.to_string()),
        }
    }
}

impl From<tokio_postgres::Error> for AppError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error.to_string())
    }
}
