//! Load over TLS: what is sent and read, which certificates are believed, and what handshakes are part of.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion,
};
use serde_json::{Value, json};

use crate::support::{self, Deed, answer, good, run};

type Session = StreamOwned<ServerConnection, TcpStream>;

/// The folder of `certificates.sh`, filled once for all tests.
fn papers() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("fairload-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates.sh");
        let done = Command::new(script).arg(&folder).status().unwrap();
        assert!(done.success(), "see {}/log", folder.display());
        folder
    })
}

fn paper(name: &str) -> String {
    papers().join(name).to_str().unwrap().to_string()
}

struct Service {
    address: SocketAddr,
    connections: Arc<AtomicU64>,
}

impl Service {
    fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

/// A service that shows the certificate `name`, pauses before each handshake, and lets `act` have each connection.
fn serve(
    name: &str,
    versions: &[&'static SupportedProtocolVersion],
    pause: Duration,
    act: impl Fn(&mut Session) -> std::io::Result<()> + Send + Sync + 'static,
) -> Service {
    serve_those(
        WebPkiClientVerifier::no_client_auth(),
        name,
        versions,
        pause,
        act,
    )
}

/// The same, for those clients alone that `verifier` lets in.
fn serve_those(
    verifier: Arc<dyn ClientCertVerifier>,
    name: &str,
    versions: &[&'static SupportedProtocolVersion],
    pause: Duration,
    act: impl Fn(&mut Session) -> std::io::Result<()> + Send + Sync + 'static,
) -> Service {
    let chain = CertificateDer::pem_file_iter(paper(&format!("{name}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(paper(&format!("{name}.key"))).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.collect::<Result<_, _>>().unwrap(), key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let (config, act) = (Arc::new(config), Arc::new(act));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicU64::new(0));
    let counted = connections.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::SeqCst);
            let (config, act) = (config.clone(), act.clone());
            std::thread::spawn(move || {
                std::thread::sleep(pause);
                stream.set_nodelay(true).unwrap();
                let tls = ServerConnection::new(config).unwrap();
                // The client may hang up at any point; that ends this connection and nothing else.
                let _ = act(&mut StreamOwned::new(tls, stream));
            });
        }
    });
    Service {
        address,
        connections,
    }
}

/// A whole request, head and body; `None`: the client is gone.
fn request(session: &mut Session) -> std::io::Result<Option<Vec<u8>>> {
    let (mut found, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let head = found.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        if let Some(end) = head {
            let text = String::from_utf8_lossy(&found[..end]).into_owned();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "));
            if found.len() == end + 4 + length.map_or(0, |length| length.parse().unwrap()) {
                return Ok(Some(found));
            }
        }
        match session.read(&mut part)? {
            0 => return Ok(None),
            count => found.extend_from_slice(&part[..count]),
        }
    }
}

fn answering(session: &mut Session) -> std::io::Result<()> {
    while request(session)?.is_some() {
        session.write_all(good().as_bytes())?;
    }
    Ok(())
}

/// As `support::plan`, by TLS.
fn plan(service: &Service, tls: Value) -> Value {
    let mut plan = support::plan(service.address);
    plan["target"]["tls"] = tls;
    plan
}

fn trusting() -> Value {
    json!({"ca": paper("authority.pem")})
}

/// Each version of TLS carries the load, with one handshake for each kept connection; without TLS none is told.
#[test]
fn kept_connections_shake_hands_once() {
    for (version, name) in [(&TLS13, "TLS 1.3"), (&TLS12, "TLS 1.2")] {
        let service = serve("good", &[version], Duration::ZERO, answering);
        let finished = run(&plan(&service, trusting()));
        assert_eq!(finished.code, 0, "{}", finished.result["samples"]);
        let sent = finished.number("/life/sent");
        assert!(sent > 20 && finished.number("/life/outcomes/ok") == sent);
        assert_eq!(finished.result["tls"]["version"], name);
        let cipher = finished.result["tls"]["cipher"].as_str().unwrap();
        assert!(
            cipher.starts_with("TLS_") && cipher.contains("AES"),
            "{cipher}"
        );
        assert_eq!(finished.number("/tls/handshake/count"), 4);
        assert_eq!(
            (finished.number("/tls/failed"), service.connections()),
            (0, 4)
        );
    }
    let plain = support::serve(|_, _| Deed::Answer(good()));
    let finished = run(&support::plan(plain.address));
    let told = (
        &finished.result["tls"],
        &finished.result["window"]["handshake"],
    );
    assert_eq!(told, (&Value::Null, &Value::Null));
}

/// Bodies of many records arrive whole in both directions, however they are cut.
#[test]
fn bodies_of_many_records() {
    const BYTES: usize = 300_000;
    let body = "x".repeat(BYTES);
    let whole = answer("200 OK", &body);
    let service = serve("good", &[&TLS13], Duration::ZERO, move |session| {
        while let Some(found) = request(session)? {
            assert!(found.len() > BYTES);
            for piece in whole.as_bytes().chunks(70_001) {
                session.write_all(piece)?;
            }
        }
        Ok(())
    });
    let mut plan = plan(&service, trusting());
    plan["requests"][0]["method"] = json!("POST");
    plan["requests"][0]["body"] = json!(body);
    plan["requests"][0]["expect"]["body"] = json!({"exact": body});
    let finished = run(&plan);
    let sent = finished.number("/life/sent");
    assert!(sent > 4 && finished.number("/life/outcomes/ok") == sent);
}

/// What TLS says by itself between two answers, such as new keys, costs no connection.
#[test]
fn new_keys_between_answers() {
    let service = serve("good", &[&TLS13], Duration::ZERO, |session| {
        while request(session)?.is_some() {
            session.write_all(good().as_bytes())?;
            std::thread::sleep(Duration::from_millis(2));
            session.conn.refresh_traffic_keys().unwrap();
            session.flush()?;
        }
        Ok(())
    });
    let mut plan = plan(&service, trusting());
    plan["load"]["think_ms"] = json!(10);
    let finished = run(&plan);
    let sent = finished.number("/life/sent");
    assert!(sent > 8 && finished.number("/life/outcomes/ok") == sent);
    assert_eq!(service.connections(), 4);
}

/// A handshake is in the latency of the request that waits for it, and in its service only where each request needs one.
#[test]
fn handshakes_are_told_apart() {
    // Far beyond the window: where the machine is busy, no request falls due after a handshake has ended.
    const PAUSE_US: u64 = 1_000_000;
    let pause = Duration::from_micros(PAUSE_US);
    for keep_alive in [true, false] {
        let service = serve("good", &[&TLS13], pause, answering);
        let mut plan = plan(&service, trusting());
        plan["load"] = json!({
            "model": "open", "rate_per_s": 40, "arrivals": "constant", "connections": 50,
            "keep_alive": keep_alive, "warmup_s": 0, "window_s": 0.25, "timeout_ms": 9000
        });
        let finished = run(&plan);
        let sent = finished.number("/life/sent");
        assert_eq!(finished.number("/life/outcomes/ok"), sent);
        assert_eq!(finished.number("/tls/handshake/count"), sent);
        assert!(finished.number("/tls/handshake/min_us") >= PAUSE_US * 99 / 100);
        assert!(finished.number("/window/latency/ok/min_us") >= PAUSE_US * 99 / 100);
        let service_us = finished.number("/window/service/min_us");
        assert_eq!(service_us < PAUSE_US * 99 / 100, keep_alive, "{service_us}");
    }
}

/// The drain waits for a whole timeout after a handshake that took nearly one.
#[test]
fn a_drain_after_a_long_handshake() {
    let pause = Duration::from_millis(2200);
    let service = serve("good", &[&TLS13], pause, move |session| {
        while request(session)?.is_some() {
            std::thread::sleep(pause);
            session.write_all(good().as_bytes())?;
        }
        Ok(())
    });
    let mut plan = plan(&service, trusting());
    plan["load"]["timeout_ms"] = json!(3000);
    let finished = run(&plan);
    assert_eq!(finished.number("/life/sent"), 4);
    assert_eq!(finished.number("/life/outcomes/ok"), 4);
}

/// Without keep-alive each request has a connection and a whole handshake of its own.
#[test]
fn connections_that_are_not_kept() {
    let service = serve("good", &[&TLS13], Duration::ZERO, |session| {
        if request(session)?.is_some() {
            session.write_all(good().as_bytes())?;
            session.conn.send_close_notify();
            session.flush()?;
        }
        Ok(())
    });
    let mut plan = plan(&service, trusting());
    plan["load"]["keep_alive"] = json!(false);
    let finished = run(&plan);
    let sent = finished.number("/life/sent");
    assert!(sent > 4 && finished.number("/life/outcomes/ok") == sent);
    let handshakes = finished.number("/tls/handshake/count");
    assert_eq!((handshakes, service.connections()), (sent, sent));
    assert!(finished.number("/window/handshake/count") <= handshakes);
}

/// A certificate that cannot be believed ends the run without a result, and the sentence says why.
#[test]
fn certificates_that_are_refused() {
    let rows = [
        ("expired", trusting(), "the certificate has expired"),
        (
            "other-name",
            trusting(),
            "the certificate is for another name",
        ),
        (
            "self-signed",
            trusting(),
            "no authority that is trusted here signed the certificate",
        ),
        (
            "good",
            json!({"ca": paper("stranger.pem")}),
            "no authority that is trusted here",
        ),
        (
            "good",
            json!({"ca": paper("authority.pem"), "name": "other.example"}),
            "the certificate is for another name",
        ),
    ];
    for (shown, tls, reason) in rows {
        let service = serve(shown, &[&TLS13], Duration::ZERO, answering);
        let finished = run(&plan(&service, tls));
        assert_eq!(finished.code, 3, "{shown}");
        assert_eq!(
            finished.number("/life/outcomes/connect"),
            finished.number("/life/sent")
        );
        let failed = finished.number("/tls/failed");
        assert!(failed > 0 && finished.number("/tls/handshake/count") == 0);
        let told = finished.events.last().unwrap()["message"].as_str().unwrap();
        let expected = format!("{}: the TLS handshake failed: {reason}", service.address);
        assert!(told.starts_with(&expected), "{told}");
    }
}

/// A certificate that is given is believed, and with `insecure` all are.
#[test]
fn certificates_that_are_believed() {
    let rows = [
        ("self-signed", json!({"ca": paper("self-signed.pem")})),
        (
            "other-name",
            json!({"ca": paper("authority.pem"), "name": "other.example"}),
        ),
        ("self-signed", json!({"insecure": true})),
        ("other-name", json!({"insecure": true})),
        ("expired", json!({"insecure": true})),
    ];
    for (shown, tls) in rows {
        let service = serve(shown, &[&TLS13], Duration::ZERO, answering);
        let finished = run(&plan(&service, tls));
        let sent = finished.number("/life/sent");
        assert!(
            sent > 4 && finished.number("/life/outcomes/ok") == sent,
            "{shown}"
        );
    }
}

/// A service that wants a certificate of its clients says so after the handshake, and so does the sample of its resets.
#[test]
fn a_certificate_that_is_demanded() {
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_file_iter(paper("authority.pem")).unwrap() {
        roots.add(one.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let demanding = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = demanding.build().unwrap();
    let service = serve_those(verifier, "good", &[&TLS13], Duration::ZERO, |session| {
        let refused = answering(session);
        // What is unread when a socket is closed would reset it, and the reason with it.
        while session
            .sock
            .read(&mut [0; 512])
            .is_ok_and(|count| count > 0)
        {}
        refused
    });
    let finished = run(&plan(&service, trusting()));
    let sent = finished.number("/life/sent");
    assert_eq!(finished.number("/life/outcomes/reset"), sent);
    let told = finished.reason("reset");
    assert!(
        told.contains("before the whole answer: ") && told.contains("CertificateRequired"),
        "{told}"
    );
}

/// Who does not speak TLS, hangs up on it, or never answers it could not be connected to.
#[test]
fn services_without_tls() {
    let plain = support::serve(|_, _| Deed::Answer(answer("400 Bad Request", "")));
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let rude = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mute_at, rude_at) = (mute.local_addr().unwrap(), rude.local_addr().unwrap());
    std::thread::spawn(move || rude.incoming().for_each(drop));
    let spoken = TcpListener::bind("127.0.0.1:0").unwrap();
    let spoken_at = spoken.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in spoken.incoming().map_while(Result::ok) {
            let _ = stream.write_all(good().as_bytes());
        }
    });
    let rows = [
        (
            spoken_at,
            "the TLS handshake failed: the server does not speak TLS",
        ),
        (rude_at, "the TLS handshake failed: "),
        (
            mute_at,
            "the TLS handshake had no answer in time; does the server speak TLS?",
        ),
        (plain.address, "the TLS handshake failed: "),
    ];
    for (address, reason) in rows {
        let mut plan = support::plan(address);
        plan["target"]["tls"] = trusting();
        plan["load"]["timeout_ms"] = json!(100);
        let finished = run(&plan);
        assert_eq!(finished.code, 3);
        assert_eq!(
            finished.number("/life/outcomes/connect"),
            finished.number("/life/sent")
        );
        let told = finished.reason("connect");
        assert!(told.starts_with(reason), "{told}");
    }
    drop(mute);
}
