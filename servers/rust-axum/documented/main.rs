//! The contract on axum and SQLx, as their documentation shows it.

mod app;
mod database;
mod error;

use std::{collections::HashMap, env, error::Error, net::SocketAddr, time::Duration};

use axum::serve::ListenerExt;
use sqlx::PgPool;
use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::Builder,
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{app::App, database::Account};

const BACKLOG: u32 = 4096;
/// How long open requests may take after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// What `#[tokio::main(worker_threads = …)]` writes, for a number that is known at the start alone.
fn main() -> Result<(), Box<dyn Error>> {
    Builder::new_multi_thread().worker_threads(env::var("WORKERS")?.parse()?).enable_all().build()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let pool = database::connect().await?;
    let wait = env::var("POOL_WAIT_MS").ok().filter(|text| !text.is_empty());
    let app = App {
        accounts: accounts(&pool).await?,
        pool,
        wait: wait.map(|text| text.parse().map(Duration::from_millis)).transpose()?,
        prepared: env::var("PREPARED").as_deref() != Ok("off"),
    };
    let listener = listen()?.tap_io(|stream| {
        // It fails for a client that is gone already, and that shows when its request is read.
        let _ = stream.set_nodelay(true);
    });
    let server = axum::serve(listener, app::router(app)).with_graceful_shutdown(terminated());
    tokio::select! {
        ended = server => Ok(ended?),
        () = async { terminated().await; sleep(GRACE).await } => Ok(()),
    }
}

async fn accounts(pool: &PgPool) -> sqlx::Result<HashMap<String, Account>> {
    let rows: Vec<Account> = sqlx::query_as("SELECT * FROM accounts").fetch_all(pool).await?;
    Ok(rows.into_iter().map(|account| (account.account_id.clone(), account)).collect())
}

/// `TcpListener::bind` has a backlog of its own choice.
fn listen() -> Result<TcpListener, Box<dyn Error>> {
    let address = SocketAddr::new(env::var("HOST")?.parse()?, env::var("PORT")?.parse()?);
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket.listen(BACKLOG)?)
}

async fn terminated() {
    signal(SignalKind::terminate()).expect("SIGTERM can be caught").recv().await;
}
