//! The routes of the contract.

use std::{
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

use actix_web::{
    HttpResponse, ResponseError, get,
    http::{Method, StatusCode, header::ContentType},
    post, web,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    error::AppError,
    items,
    records::Account,
    store::{PING, READY, Store, TIME},
};

pub type Answer = Result<HttpResponse, AppError>;

pub fn routes(config: &mut web::ServiceConfig) {
    config
        .app_data(web::QueryConfig::default().error_handler(|error, _| AppError::rejection(error)))
        .app_data(web::JsonConfig::default().error_handler(|error, _| AppError::rejection(error)))
        .app_data(web::PathConfig::default().error_handler(|error, _| AppError::rejection(error)))
        .service(ready)
        .service(ping)
        .service(time)
        .service(database_ping)
        .service(database_time)
        .service(users)
        .service(tx)
        .service(transfer)
        .service(lookup)
        .configure(items::routes)
        .default_service(web::to(unknown));
}

/// An answer to HEAD must be empty by itself: actix-http forgets the method of a request once it reads the next.
async fn unknown(method: Method) -> HttpResponse {
    match method {
        Method::HEAD => HttpResponse::NotFound().finish(),
        _ => AppError::new(StatusCode::NOT_FOUND, "no such route").error_response(),
    }
}

#[get("/ready")]
async fn ready(store: web::Data<Store>) -> Answer {
    store.text(READY).await?;
    Ok(HttpResponse::NoContent().finish())
}

#[derive(Serialize)]
struct Message {
    ok: bool,
    message: &'static str,
}

#[get("/ping")]
async fn ping() -> HttpResponse {
    HttpResponse::Ok().json(Message { ok: true, message: "OK" })
}

#[get("/time")]
async fn time() -> HttpResponse {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    HttpResponse::Ok().json(json!({ "serverTime": now.as_secs() }))
}

/// What the statement returns is JSON already.
#[get("/db/ping")]
async fn database_ping(store: web::Data<Store>) -> Answer {
    Ok(HttpResponse::Ok().content_type(ContentType::json()).body(store.text(PING).await?))
}

#[get("/db/time")]
async fn database_time(store: web::Data<Store>) -> Answer {
    Ok(HttpResponse::Ok().content_type(ContentType::json()).body(store.text(TIME).await?))
}

#[get("/users")]
async fn users(store: web::Data<Store>) -> Answer {
    Ok(HttpResponse::Ok().json(store.users().await?))
}

/// A number that serde reads from a text, and takes only where it is 1 or more.
#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "i32")]
struct Positive(i32);

impl TryFrom<i32> for Positive {
    type Error = &'static str;

    fn try_from(number: i32) -> Result<Self, Self::Error> {
        (number > 0).then_some(Self(number)).ok_or("a number must be 1 or more")
    }
}

#[derive(Deserialize)]
struct Tx {
    aid: Positive,
    tid: Positive,
    bid: Positive,
    delta: i32,
}

#[derive(Serialize)]
struct Done {
    ok: bool,
}

#[post("/tx")]
async fn tx(store: web::Data<Store>, asked: web::Query<Tx>) -> Answer {
    store.tx(asked.aid.0.into(), asked.tid.0.into(), asked.bid.0.into(), asked.delta).await?;
    Ok(HttpResponse::Ok().json(Done { ok: true }))
}

#[derive(Deserialize)]
struct Transfer {
    from: Positive,
    to: Positive,
    amount: Positive,
}

#[post("/transfer")]
async fn transfer(store: web::Data<Store>, asked: web::Query<Transfer>) -> Answer {
    if asked.from == asked.to {
        return Err(AppError::new(StatusCode::BAD_REQUEST, "`from` and `to` must differ"));
    }
    store.transfer(asked.from.0, asked.to.0, asked.amount.0).await?;
    Ok(HttpResponse::Ok().json(Done { ok: true }))
}

#[derive(Deserialize)]
struct Lookup {
    account_id: String,
}

#[post("/lookup")]
async fn lookup(accounts: web::Data<HashMap<String, Account>>, asked: web::Json<Lookup>) -> Answer {
    Ok(HttpResponse::Ok().json(accounts.get(&asked.account_id).ok_or_else(AppError::unknown_account)?))
}
