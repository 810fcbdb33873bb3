//! The contract on axum and SQLx: reads the environment, loads the accounts, listens, and stops on SIGTERM.

mod app;
mod rows;
mod store;

use std::{
    collections::HashMap,
    env, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::serve::ListenerExt;
use mimalloc::MiMalloc;
use tokio::{
    net::{TcpListener, TcpSocket},
    runtime::Builder,
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{
    app::{App, router},
    rows::Account,
    store::{ACCOUNTS, Store, StoreError},
};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const BACKLOG: u32 = 4096;
/// How long open requests may take after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
const RETRY: Duration = Duration::from_millis(200);

fn main() -> io::Result<()> {
    if env::args().nth(1).as_deref() == Some("--version") {
        println!("{}", env!("RECEIPT"));
        return Ok(());
    }
    let runtime = Builder::new_multi_thread().worker_threads(number("WORKERS").unwrap_or(1)).enable_all().build()?;
    // As a task, so that the workers accept connections too: `block_on` alone would do it on this thread.
    runtime.block_on(async { tokio::spawn(serve()).await? })
}

/// Listens once the database has answered, until SIGTERM.
async fn serve() -> io::Result<()> {
    let wait = number("POOL_WAIT_MS").map(|wait_ms| Duration::from_millis(wait_ms as u64));
    let store = Store::new(&text("DATABASE_URL"), number("POOL_SIZE").unwrap_or(1), wait, text("PREPARED") != "off");
    let accounts = loop {
        match load_accounts(&store).await {
            Ok(accounts) => break accounts,
            Err(error) => eprintln!("loading `accounts`: {error}"),
        }
        sleep(RETRY).await;
    };
    let listener = listen()?.tap_io(|stream| {
        // It fails for a client that is gone already, and that shows when its request is read.
        let _ = stream.set_nodelay(true);
    });
    let server = axum::serve(listener, router(Arc::new(App { store, accounts }))).with_graceful_shutdown(terminated());
    tokio::select! {
        ended = server => ended,
        () = async { terminated().await; sleep(GRACE).await } => Ok(()),
    }
}

async fn load_accounts(store: &Store) -> Result<HashMap<String, Account>, StoreError> {
    let rows = store.rows(ACCOUNTS).await?;
    rows.iter().map(|row| Account::read(row).map(|account| (account.account_id.clone(), account))).collect()
}

fn listen() -> io::Result<TcpListener> {
    let host: IpAddr = text("HOST").parse().expect("`HOST` must be an IP address");
    let address = SocketAddr::new(host, number("PORT").unwrap_or(3000) as u16);
    let socket = if host.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn terminated() {
    signal(SignalKind::terminate()).expect("SIGTERM can be caught").recv().await;
}

fn text(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// A number of the environment; None where it is empty.
fn number(name: &str) -> Option<usize> {
    let text = text(name);
    let wrong = |_| panic!("`{name}` must be a number, not `{text}`");
    (!text.is_empty()).then(|| text.parse().unwrap_or_else(wrong))
}
