//! The routes: parameters in, JSON out.

use std::{
    collections::HashMap,
    fmt,
    time::{SystemTime, UNIX_EPOCH},
};

use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, ResponseError, error::JsonPayloadError, guard, web};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::store::{Account, PING, Store, StoreError, TIME};

type Answer = Result<HttpResponse, Failure>;

pub fn routes<S: Store>(config: &mut web::ServiceConfig) {
    // A guard on the resource itself lets another method fall through to the 404.
    let get = |path| web::resource(path).guard(guard::Get());
    let post = |path| web::resource(path).guard(guard::Post());
    let body = web::JsonConfig::default().limit(64 << 10).content_type_required(false).error_handler(|error, _| {
        match error {
            JsonPayloadError::Overflow { .. } | JsonPayloadError::OverflowKnownLength { .. } => {
                Failure(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 64 KiB".into())
            }
            _ => bad_request("the body must be a JSON object"),
        }
        .into()
    });
    config
        .app_data(body)
        .app_data(web::QueryConfig::default().error_handler(|error, _| bad_request(&error.to_string()).into()))
        .service(get("/ready").to(ready::<S>))
        .service(get("/ping").to(ping))
        .service(get("/time").to(time))
        .service(get("/db/ping").to(async |store: web::Data<S>| Ok::<_, Failure>(text(store.text(PING).await?))))
        .service(get("/db/time").to(async |store: web::Data<S>| Ok::<_, Failure>(text(store.text(TIME).await?))))
        .service(get("/users").to(users::<S>))
        .service(post("/tx").to(tx::<S>))
        .service(post("/transfer").to(transfer::<S>))
        .service(post("/lookup").to(lookup))
        .default_service(web::to(unknown));
}

/// An answer to HEAD must be empty by itself: actix-http forgets the method of a request once it reads the next.
async fn unknown(method: Method) -> HttpResponse {
    match method {
        Method::HEAD => HttpResponse::NotFound().finish(),
        _ => Failure(StatusCode::NOT_FOUND, "no such route".into()).error_response(),
    }
}

async fn ready<S: Store>(store: web::Data<S>) -> Answer {
    let unready = |_| Failure(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer".into());
    store.text(PING).await.map_err(unready)?;
    Ok(HttpResponse::NoContent().finish())
}

async fn ping() -> HttpResponse {
    text(r#"{"ok":true,"message":"OK"}"#)
}

async fn time() -> HttpResponse {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    text(format!(r#"{{"serverTime":{}}}"#, now.as_secs()))
}

async fn users<S: Store>(store: web::Data<S>) -> Answer {
    let mut users = store.users().await?;
    for user in &mut users {
        let ciphered = user.address.bytes().map(caesar).collect();
        user.address = String::from_utf8(ciphered).expect("the bytes of other characters are never letters");
    }
    Ok(serialised(&users))
}

#[derive(Deserialize)]
struct Tx {
    aid: Integer<1>,
    tid: Integer<1>,
    bid: Integer<1>,
    delta: Integer<{ i32::MIN }>,
}

async fn tx<S: Store>(store: web::Data<S>, query: web::Query<Tx>) -> Answer {
    store.tx(query.aid.0.into(), query.tid.0.into(), query.bid.0.into(), query.delta.0).await?;
    Ok(text(r#"{"ok":true}"#))
}

#[derive(Deserialize)]
struct Transfer {
    from: Integer<1>,
    to: Integer<1>,
    amount: Integer<1>,
}

async fn transfer<S: Store>(store: web::Data<S>, query: web::Query<Transfer>) -> Answer {
    if query.from.0 == query.to.0 {
        return Err(bad_request("`from` and `to` must differ"));
    }
    store.transfer(query.from.0, query.to.0, query.amount.0).await?;
    Ok(text(r#"{"ok":true}"#))
}

/// The body is a map, because serde would read a struct from a JSON array too.
async fn lookup(accounts: web::Data<HashMap<String, Account>>, body: web::Json<Map<String, Value>>) -> Answer {
    let id = body.get("account_id").and_then(Value::as_str).ok_or(bad_request("`account_id` must be a string"))?;
    let unknown = || Failure(StatusCode::NOT_FOUND, "no such account".into());
    Ok(serialised(accounts.get(id).ok_or_else(unknown)?))
}

/// A decimal 32-bit integer of at least `MIN`.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Integer<const MIN: i32>(i32);

impl<const MIN: i32> TryFrom<String> for Integer<MIN> {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let value = text.parse().ok().filter(|value| *value >= MIN && !text.starts_with('+'));
        value.map(Self).ok_or(format!("expected a decimal integer from {MIN} to {}, got `{text}`", i32::MAX))
    }
}

fn caesar(byte: u8) -> u8 {
    let rotated = |first: u8| (byte - first + 14) % 26 + first;
    match byte {
        b'a'..=b'z' => rotated(b'a'),
        b'A'..=b'Z' => rotated(b'A'),
        other => other,
    }
}

fn serialised(value: &impl Serialize) -> HttpResponse {
    text(serde_json::to_vec(value).expect("plain structs have a JSON form"))
}

fn text(body: impl actix_web::body::MessageBody + 'static) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json; charset=utf-8").body(body)
}

#[derive(Debug)]
struct Failure(StatusCode, String);

fn bad_request(message: &str) -> Failure {
    Failure(StatusCode::BAD_REQUEST, message.into())
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self(StatusCode::SERVICE_UNAVAILABLE, "no database connection is free".into()),
            StoreError::NoRow => Self(StatusCode::NOT_FOUND, "no such row".into()),
            StoreError::Failed(reason) => {
                eprintln!("{reason}");
                Self(StatusCode::INTERNAL_SERVER_ERROR, "the database failed".into())
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.1)
    }
}

impl ResponseError for Failure {
    fn error_response(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.0);
        if self.0 == StatusCode::SERVICE_UNAVAILABLE {
            response.insert_header(("retry-after", "1"));
        }
        let body = json!({ "ok": false, "message": self.1 }).to_string();
        response.content_type("application/json; charset=utf-8").body(body)
    }
}
