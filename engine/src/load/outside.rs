//! What a plan needs of this machine: files, addresses and chance.

use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::Read as _;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::core::config::{Config, Outside};
use crate::core::error::EngineError;
use crate::core::lines::{self, Lines};
use crate::core::plan::Target;

/// A whole file may hold so much: it lies in memory, as it is and as it is sent.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// How long an address of a name is given to take a connection.
const PROBE: Duration = Duration::from_secs(1);

/// Parses and checks a plan, with the files and names of this machine; the error is one sentence for a person.
pub fn config(json: &str) -> Result<Config, EngineError> {
    let outside = Outside {
        lines: &read,
        resolve: &resolve,
        secret: secret(),
    };
    Config::parse(json, &outside)
}

/// A file is read once, when the plan is, and never while it runs.
fn read(path: &str) -> Result<Lines, EngineError> {
    let failed =
        |error: std::io::Error| EngineError::File(format!("file `{path}` cannot be read: {error}"));
    let file = File::open(path).map_err(failed)?;
    // A pipe or a device may never end.
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(EngineError::File(format!(
            "file `{path}` is no regular file"
        )));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(EngineError::File(format!(
            "file `{path}` is larger than 16 MiB"
        )));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| EngineError::File(format!("file `{path}` is not UTF-8")))?;
    lines::split(&text).map_err(|error| error.within(format_args!("file `{path}`")))
}

fn resolve(target: &Target) -> Result<SocketAddr, EngineError> {
    let Target { host, port, .. } = target;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut addresses: Vec<SocketAddr> = (host, *port)
        .to_socket_addrs()
        .map_err(|error| {
            EngineError::Address(format!("`target.host` `{host}` has no address: {error}"))
        })?
        .collect();
    // IPv4 first: `localhost` often names both, and servers under test mostly listen on 127.0.0.1.
    addresses.sort_by_key(|address| !address.is_ipv4());
    // Where a name has several, the service may listen on one of them alone.
    let listens = |address: &&SocketAddr| TcpStream::connect_timeout(address, PROBE).is_ok();
    let reached = addresses
        .iter()
        .find(|address| addresses.len() > 1 && listens(address));
    reached
        .or(addresses.first())
        .copied()
        .ok_or_else(|| EngineError::Address(format!("`target.host` `{host}` has no address")))
}

/// Bits that nobody outside of this process knows, new for each call.
fn secret() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cannot be read, or must not, is named with its reason.
    #[test]
    fn mistakes_have_sentences() {
        let folder = std::env::temp_dir().join(format!("fairload-lines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            path.to_str().unwrap().to_string()
        };
        let large = vec![b'a'; MAX_FILE_BYTES as usize + 1];
        let rows = [
            ("/dev/zero".to_string(), "is no regular file"),
            (file("large", &large), "is larger than 16 MiB"),
            (file("latin", b"\xff"), "is not UTF-8"),
            (
                folder.join("none").to_str().unwrap().to_string(),
                "cannot be read: No such file or directory (os error 2)",
            ),
        ];
        for (path, rest) in rows {
            assert_eq!(
                read(&path).unwrap_err().to_string(),
                format!("file `{path}` {rest}")
            );
        }
        let path = file("empty", b"");
        assert_eq!(
            read(&path).unwrap_err().to_string(),
            format!("file `{path}`: it has no line")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Which bodies are compared differs between two runs of one plan, so that no server can foresee it.
    #[test]
    fn checks_cannot_be_foreseen() {
        let json = r#"{"protocol":1,"seed":7,"target":{"host":"127.0.0.1","port":1},
            "load":{"model":"closed","connections":1,"window_s":1},
            "requests":[{"kind":"a","method":"GET","path":"/","expect":{"status":200,"check_one_in":10}}]}"#;
        let drawn = || {
            let config = config(json).unwrap();
            let checked = (0..10_000).map(|number| config.is_checked(0, number));
            checked.collect::<Vec<_>>()
        };
        assert_ne!(drawn(), drawn());
    }
}
