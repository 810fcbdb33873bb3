//! The contract on Actix Web, as its documentation shows it, with deadpool-postgres or SQLx.

mod app;
mod deadpool;
mod error;
mod items;
mod records;
mod sqlx;
mod store;

use std::{collections::HashMap, env, error::Error, time::Duration};

use actix_web::{App, HttpServer, web};

use crate::store::{Settings, Store};

/// Longer than the lab's connections rest; the default is 5 s.
const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long open requests may take after SIGTERM, in seconds; the default is 30.
const GRACE_S: u64 = 3;

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("--version") {
        println!("{}", env!("RECEIPT"));
        return Ok(());
    }
    let wait = env::var("POOL_WAIT_MS").ok().filter(|text| !text.is_empty());
    let store = Store::connect(Settings {
        driver: env::var("DB_DRIVER")?,
        url: env::var("DATABASE_URL")?,
        size: env::var("POOL_SIZE")?.parse()?,
        wait: wait.map(|text| text.parse().map(Duration::from_millis)).transpose()?,
        prepared: env::var("PREPARED").as_deref() != Ok("off"),
    })
    .await?;
    let accounts: HashMap<_, _> =
        store.accounts().await?.into_iter().map(|account| (account.account_id.clone(), account)).collect();
    let (store, accounts) = (web::Data::new(store), web::Data::new(accounts));
    HttpServer::new(move || App::new().app_data(store.clone()).app_data(accounts.clone()).configure(app::routes))
        .workers(env::var("WORKERS")?.parse()?)
        .backlog(4096)
        .tcp_nodelay(true)
        .keep_alive(KEEP_ALIVE)
        .shutdown_timeout(GRACE_S)
        .bind((env::var("HOST")?, env::var("PORT")?.parse()?))?
        .run()
        .await?;
    Ok(())
}
