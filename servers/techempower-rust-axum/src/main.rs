//! TechEmpower's contract on axum, with SQLx or Diesel, as their documentation shows it.

mod diesel_store;
mod routes;
mod sqlx_store;
mod store;

use std::{env, error::Error, net::SocketAddr, time::Duration};

use axum::{Router, serve::ListenerExt};
use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::Builder,
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{diesel_store::DieselStore, sqlx_store::SqlxStore};

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
    let size = env::var("POOL_SIZE")?.parse()?;
    let wait = env::var("POOL_WAIT_MS").ok().filter(|text| !text.is_empty());
    let wait = wait.map(|text| text.parse().map(Duration::from_millis)).transpose()?;
    let url = env::var("DATABASE_URL")?;
    let router = match env::var("MAPPER").as_deref() {
        Ok("diesel") => routes::router(DieselStore::open(url, size, wait)?),
        _ => routes::router(SqlxStore::open(&url, size as u32, wait).await?),
    };
    run(router).await
}

async fn run(router: Router) -> Result<(), Box<dyn Error>> {
    let listener = listen()?.tap_io(|stream| {
        // It fails for a client that is gone already, and that shows when its request is read.
        let _ = stream.set_nodelay(true);
    });
    let server = axum::serve(listener, router).with_graceful_shutdown(terminated());
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
