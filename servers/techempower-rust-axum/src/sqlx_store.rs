//! SQLx and its pool, asked with SQL.

use std::{collections::BTreeSet, env, time::Duration};

use sqlx::{
    FromRow, PgConnection, PgPool, Postgres, Row,
    pool::PoolConnection,
    postgres::{PgPoolOptions, PgRow},
};
use tokio::time::timeout;

use crate::store::{Fortune, Store, StoreError, World, random_number};

/// The pool knows no wait without a limit.
const A_DAY: Duration = Duration::from_secs(86_400);
const SELECT: &str = "SELECT id, randomnumber FROM world WHERE id = $1";
const UPDATE: &str = "UPDATE world SET randomnumber = $1 WHERE id = $2";

#[derive(Clone)]
pub struct SqlxStore {
    pool: PgPool,
    /// POOL_WAIT_MS; None waits without a limit.
    wait: Option<Duration>,
    prepared: bool,
}

impl SqlxStore {
    pub async fn open(url: &str, size: u32, wait: Option<Duration>) -> sqlx::Result<Self> {
        let pool = PgPoolOptions::new().max_connections(size).acquire_timeout(A_DAY).connect(url).await?;
        Ok(Self { pool, wait, prepared: env::var("PREPARED").as_deref() != Ok("off") })
    }

    /// POOL_WAIT_MS is timed where no connection is idle and none may be made: the pool's own limit also covers the ping of an idle
    /// one, and the making of a new one.
    async fn connect(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        let is_full = self.pool.num_idle() == 0 && self.pool.size() >= self.pool.options().get_max_connections();
        match self.wait {
            Some(wait) if is_full => Ok(timeout(wait, self.pool.acquire()).await.map_err(|_| StoreError::Busy)??),
            _ => Ok(self.pool.acquire().await?),
        }
    }

    async fn find(&self, connection: &mut PgConnection, id: i32) -> sqlx::Result<World> {
        sqlx::query_as(SELECT).bind(id).persistent(self.prepared).fetch_one(connection).await
    }
}

impl FromRow<'_, PgRow> for World {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self { id: row.try_get("id")?, random_number: row.try_get("randomnumber")? })
    }
}

impl FromRow<'_, PgRow> for Fortune {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self { id: row.try_get("id")?, message: row.try_get("message")? })
    }
}

impl Store for SqlxStore {
    async fn world(&self, id: i32) -> Result<World, StoreError> {
        Ok(self.find(&mut *self.connect().await?, id).await?)
    }

    async fn worlds(&self, ids: Vec<i32>) -> Result<Vec<World>, StoreError> {
        let mut connection = self.connect().await?;
        let mut worlds = Vec::with_capacity(ids.len());
        for id in ids {
            worlds.push(self.find(&mut connection, id).await?);
        }
        Ok(worlds)
    }

    async fn fortunes(&self) -> Result<Vec<Fortune>, StoreError> {
        let mut connection = self.connect().await?;
        let query = sqlx::query_as("SELECT id, message FROM fortune").persistent(self.prepared);
        Ok(query.fetch_all(&mut *connection).await?)
    }

    async fn update(&self, ids: BTreeSet<i32>) -> Result<Vec<World>, StoreError> {
        let mut connection = self.connect().await?;
        let mut transaction = sqlx::Connection::begin(&mut *connection).await?;
        let mut worlds = Vec::with_capacity(ids.len());
        for id in ids {
            let mut world = self.find(&mut transaction, id).await?;
            world.random_number = random_number();
            let update = sqlx::query(UPDATE).bind(world.random_number).bind(id).persistent(self.prepared);
            update.execute(&mut *transaction).await?;
            worlds.push(world);
        }
        transaction.commit().await?;
        Ok(worlds)
    }
}
