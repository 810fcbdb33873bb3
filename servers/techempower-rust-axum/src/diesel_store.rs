//! Diesel with diesel-async and deadpool: its query builder, and rows as structs.

use std::{collections::BTreeSet, time::Duration};

use diesel::prelude::*;
use diesel_async::{
    AsyncConnection, AsyncPgConnection, RunQueryDsl,
    pooled_connection::{
        AsyncDieselConnectionManager,
        deadpool::{BuildError, Object, Pool, PoolError},
    },
};

use crate::store::{Fortune, Store, StoreError, World, random_number};

diesel::table! {
    world (id) {
        id -> Integer,
        randomnumber -> Integer,
    }
}

diesel::table! {
    fortune (id) {
        id -> Integer,
        message -> Text,
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = world)]
struct WorldRow {
    id: i32,
    randomnumber: i32,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = fortune)]
struct FortuneRow {
    id: i32,
    message: String,
}

impl From<WorldRow> for World {
    fn from(row: WorldRow) -> Self {
        Self { id: row.id, random_number: row.randomnumber }
    }
}

#[derive(Clone)]
pub struct DieselStore {
    pool: Pool<AsyncPgConnection>,
}

impl DieselStore {
    pub fn open(url: String, size: usize, wait: Option<Duration>) -> Result<Self, BuildError> {
        let manager = AsyncDieselConnectionManager::<AsyncPgConnection>::new(url);
        let pool =
            Pool::builder(manager).max_size(size).wait_timeout(wait).runtime(deadpool::Runtime::Tokio1).build()?;
        Ok(Self { pool })
    }

    async fn connect(&self) -> Result<Object<AsyncPgConnection>, StoreError> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Timeout(_) => StoreError::Busy,
            other => other.into(),
        })
    }
}

async fn find(connection: &mut AsyncPgConnection, id: i32) -> QueryResult<WorldRow> {
    world::table.find(id).select(WorldRow::as_select()).first(connection).await
}

impl Store for DieselStore {
    async fn world(&self, id: i32) -> Result<World, StoreError> {
        Ok(find(&mut *self.connect().await?, id).await?.into())
    }

    async fn worlds(&self, ids: Vec<i32>) -> Result<Vec<World>, StoreError> {
        let mut connection = self.connect().await?;
        let mut worlds = Vec::with_capacity(ids.len());
        for id in ids {
            worlds.push(find(&mut connection, id).await?.into());
        }
        Ok(worlds)
    }

    async fn fortunes(&self) -> Result<Vec<Fortune>, StoreError> {
        let rows = fortune::table.select(FortuneRow::as_select()).load(&mut self.connect().await?).await?;
        Ok(rows.into_iter().map(|row: FortuneRow| Fortune { id: row.id, message: row.message }).collect())
    }

    async fn update(&self, ids: BTreeSet<i32>) -> Result<Vec<World>, StoreError> {
        let mut connection = self.connect().await?;
        let worlds = connection.transaction(async |connection| {
            let mut worlds = Vec::with_capacity(ids.len());
            for id in ids {
                let row = find(connection, id).await?;
                let update = diesel::update(world::table.find(row.id)).set(world::randomnumber.eq(random_number()));
                let updated = update.returning(WorldRow::as_returning()).get_result(connection).await?;
                worlds.push(updated.into());
            }
            QueryResult::Ok(worlds)
        });
        Ok(worlds.await?)
    }
}
