//! The contract on axum, as its documentation shows it, with deadpool-postgres or SQLx.

mod app;
mod deadpool;
mod error;
mod records;
mod sqlx;
mod store;

use std::{env, error::Error, net::SocketAddr, time::Duration};

use axum::serve::ListenerExt;
use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::Builder,
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{
    app::App,
    store::{Settings, Store},
};

const BACKLOG: u32 = 4096;
/// How long open requests may take after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// What `#[tokio::main(worker_threads = …)]` writes, for a number that is known at the start alone.
fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("--version") {
        println!("{}", env!("RECEIPT"));
        return Ok(());
    }
    Builder::new_multi_thread().worker_threads(env::var("WORKERS")?.parse()?).enable_all().build()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let wait = env::var("POOL_WAIT_MS").ok().filter(|text| !text.is_empty());
    let store = Store::connect(Settings {
        driver: env::var("DB_DRIVER")?,
        url: env::var("DATABASE_URL")?,
        size: env::var("POOL_SIZE")?.parse()?,
        wait: wait.map(|text| text.parse().map(Duration::from_millis)).transpose()?,
        prepared: env::var("PREPARED").as_deref() != Ok("off"),
    })
    .await?;
    let accounts = store.accounts().await?;
    let app =
        App { accounts: accounts.into_iter().map(|account| (account.account_id.clone(), account)).collect(), store };
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
