//! The database as the routes see it.

use std::{collections::BTreeSet, error::Error};

use rand::Rng;
use serde::Serialize;

const WORLDS: i32 = 10_000;

#[derive(Serialize)]
pub struct World {
    pub id: i32,
    #[serde(rename = "randomNumber")]
    pub random_number: i32,
}

pub struct Fortune {
    pub id: i32,
    pub message: String,
}

pub enum StoreError {
    /// No connection became free in time.
    Busy,
    Failed(Box<dyn Error + Send + Sync>),
}

impl<E: Error + Send + Sync + 'static> From<E> for StoreError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

pub trait Store: Clone + Send + Sync + 'static {
    fn world(&self, id: i32) -> impl Future<Output = Result<World, StoreError>> + Send;
    /// Reads one row after the other, all on one connection.
    fn worlds(&self, ids: Vec<i32>) -> impl Future<Output = Result<Vec<World>, StoreError>> + Send;
    fn fortunes(&self) -> impl Future<Output = Result<Vec<Fortune>, StoreError>> + Send;
    /// Reads the rows, gives each another number and writes it, all in one transaction.
    fn update(&self, ids: BTreeSet<i32>) -> impl Future<Output = Result<Vec<World>, StoreError>> + Send;
}

pub fn random_number() -> i32 {
    rand::rng().random_range(1..=WORLDS)
}

/// Different ones in order, so that two requests that update the same rows wait for each other and do not deadlock.
pub fn random_ids(count: usize) -> BTreeSet<i32> {
    let mut ids = BTreeSet::new();
    while ids.len() < count {
        ids.insert(random_number());
    }
    ids
}
