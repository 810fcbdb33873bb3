//! The contract on Actix Web, with SQLx or tokio-postgres behind one trait.

mod deadpool;
mod handlers;
mod sqlx;
mod store;

use std::{collections::HashMap, env, io, time::Duration};

use actix_web::{App, HttpServer, web};

use crate::{deadpool::Deadpool, sqlx::Sqlx, store::Store};

#[actix_web::main]
async fn main() -> io::Result<()> {
    if env::args().nth(1).as_deref() == Some("--version") {
        println!("{}", env!("RECEIPT"));
        return Ok(());
    }
    let (url, size) = (text("DATABASE_URL"), number("POOL_SIZE").unwrap_or(1));
    let (wait, prepared) = (number("POOL_WAIT_MS").map(Duration::from_millis), text("PREPARED") != "off");
    match text("DB_DRIVER").as_str() {
        "deadpool" => serve(Deadpool::new(&url, size as usize, wait, prepared)).await,
        _ => serve(Sqlx::new(&url, size as usize, wait, prepared)).await,
    }
}

/// Loads the accounts as soon as the database answers, and only then listens.
async fn serve<S: Store>(store: S) -> io::Result<()> {
    let accounts: HashMap<_, _> = loop {
        match store.accounts().await {
            Ok(rows) => break rows.into_iter().map(|row| (row.account_id.clone(), row)).collect(),
            Err(error) => eprintln!("loading `accounts`: {error:?}"),
        }
        actix_web::rt::time::sleep(Duration::from_millis(500)).await;
    };
    let (store, accounts) = (web::Data::new(store), web::Data::new(accounts));
    HttpServer::new(move || {
        App::new().app_data(store.clone()).app_data(accounts.clone()).configure(handlers::routes::<S>)
    })
    .workers(number("WORKERS").unwrap_or(1) as usize)
    .backlog(4096)
    .tcp_nodelay(true)
    .keep_alive(Duration::from_secs(3600))
    .client_request_timeout(Duration::from_secs(30))
    .shutdown_timeout(3)
    .bind((text("HOST"), number("PORT").unwrap_or(3000) as u16))?
    .run()
    .await
}

fn text(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Reads a number from the environment; `None` if it is empty.
fn number(name: &str) -> Option<u64> {
    let text = text(name);
    let invalid = |_| panic!("environment variable `{name}`: expected a number, got `{text}`");
    (!text.is_empty()).then(|| text.parse().unwrap_or_else(invalid))
}
