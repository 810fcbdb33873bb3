//! Rows that are read, listed, created and updated, with deadpool-postgres.

use actix_web::{HttpResponse, get, http::StatusCode, post, put, web};
use serde::{Deserialize, Serialize};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

use crate::{app::Answer, deadpool::Deadpool, error::AppError, records::read, store::Store};

const READ: &str = "SELECT id, name, price_cents, stock, revision FROM items WHERE id = $1";
const PAGE: &str = "SELECT id, name, price_cents, stock, revision FROM items WHERE id > $1 ORDER BY id LIMIT 20";
const CREATE: &str =
    "INSERT INTO items (name, price_cents, stock) VALUES ($1, $2, $3) RETURNING id, name, price_cents, stock, revision";
const UPDATE: &str = "UPDATE items SET name = $1, price_cents = $2, stock = $3, revision = revision + 1 WHERE id = $4 \
                      RETURNING id, name, price_cents, stock, revision";

pub fn routes(config: &mut web::ServiceConfig) {
    config.service(read_item).service(list_items).service(create_item).service(update_item);
}

/// A number that serde takes only where it is 0 or more.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(try_from = "i32")]
struct Natural(i32);

impl TryFrom<i32> for Natural {
    type Error = &'static str;

    fn try_from(number: i32) -> Result<Self, Self::Error> {
        (number >= 0).then_some(Self(number)).ok_or("a number must be 0 or more")
    }
}

#[derive(Serialize)]
struct Item {
    id: i32,
    name: String,
    price_cents: i32,
    stock: i32,
    revision: i32,
}

impl TryFrom<&Row> for Item {
    type Error = tokio_postgres::Error;

    fn try_from(row: &Row) -> Result<Self, Self::Error> {
        read!(row => Self { id, name, price_cents, stock, revision })
    }
}

#[derive(Deserialize)]
struct NewItem {
    name: String,
    price_cents: Natural,
    stock: Natural,
}

impl NewItem {
    fn check(self) -> Result<Self, AppError> {
        if self.name.is_empty() {
            return Err(AppError::new(StatusCode::BAD_REQUEST, "`name` must not be empty"));
        }
        Ok(self)
    }
}

#[get("/items/{id}")]
async fn read_item(store: web::Data<Store>, id: web::Path<i32>) -> Answer {
    Ok(HttpResponse::Ok().json(one(&store, READ, &[(&*id, Type::INT4)]).await?))
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    after: Natural,
}

#[get("/items")]
async fn list_items(store: web::Data<Store>, page: web::Query<Page>) -> Answer {
    Ok(HttpResponse::Ok().json(items(&store, PAGE, &[(&page.after.0, Type::INT4)]).await?))
}

#[post("/items")]
async fn create_item(store: web::Data<Store>, asked: web::Json<NewItem>) -> Answer {
    let new = asked.into_inner().check()?;
    let values: [Value; 3] = [(&new.name, Type::TEXT), (&new.price_cents.0, Type::INT4), (&new.stock.0, Type::INT4)];
    Ok(HttpResponse::Created().json(one(&store, CREATE, &values).await?))
}

#[put("/items/{id}")]
async fn update_item(store: web::Data<Store>, id: web::Path<i32>, asked: web::Json<NewItem>) -> Answer {
    let new = asked.into_inner().check()?;
    let values: [Value; 4] =
        [(&new.name, Type::TEXT), (&new.price_cents.0, Type::INT4), (&new.stock.0, Type::INT4), (&*id, Type::INT4)];
    Ok(HttpResponse::Ok().json(one(&store, UPDATE, &values).await?))
}

type Value<'a> = (&'a (dyn ToSql + Sync), Type);

async fn one(store: &Store, sql: &str, values: &[Value<'_>]) -> Result<Item, AppError> {
    items(store, sql, values).await?.pop().ok_or_else(|| AppError::new(StatusCode::NOT_FOUND, "no such item"))
}

async fn items(store: &Store, sql: &str, values: &[Value<'_>]) -> Result<Vec<Item>, AppError> {
    Ok(deadpool(store)?.rows(sql, values).await?.iter().map(Item::try_from).collect::<Result<_, _>>()?)
}

/// The driver that these routes are written for. With the other one they are unknown.
fn deadpool(store: &Store) -> Result<&Deadpool, AppError> {
    match store {
        Store::Deadpool(driver) => Ok(driver),
        Store::Sqlx(_) => Err(AppError::new(StatusCode::NOT_FOUND, "no such route")),
    }
}
