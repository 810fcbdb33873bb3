//! The wire between real sockets: every byte arrives, ends and resets do too, and nothing comes before its time.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::started;

const STREAM_BYTES: usize = 4 * 1024 * 1024;

/// A wire that ends with the test.
struct Wire {
    child: Child,
    near: SocketAddr,
}

impl Wire {
    fn to(far: SocketAddr, delay_us: u64) -> Wire {
        let (far, delay_us) = (far.to_string(), delay_us.to_string());
        let arguments = [
            "wire",
            "--listen",
            "127.0.0.1:0",
            "--connect",
            &far,
            "--delay-us",
            &delay_us,
        ];
        let (child, event) = started(&arguments);
        let port = event["port"].as_u64().unwrap() as u16;
        Wire {
            child,
            near: SocketAddr::from(([127, 0, 0, 1], port)),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.near).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers each connection in a thread of its own.
fn far(answer: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = [0; 10_000];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        stream.write_all(&buffer[..count]).unwrap();
    }
}

/// Closes so that the other side gets a reset: what it sent was never read.
fn reset(stream: TcpStream) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let fd = OwnedFd::from(stream);
    // SAFETY: `linger` is valid for the read of its own size.
    let set = unsafe {
        libc::setsockopt(
            std::os::fd::AsRawFd::as_raw_fd(&fd),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        )
    };
    assert_eq!(set, 0);
}

/// Bytes in which each place of each stream is told from every other one nearby.
fn bytes(seed: usize) -> Vec<u8> {
    let word = |place: usize| (place * 2_654_435_761 + seed * 97).to_le_bytes();
    (0..STREAM_BYTES / 8).flat_map(word).collect()
}

/// Several streams at once, larger than the wire may hold: all bytes come back, in their order.
#[test]
fn every_byte_arrives() {
    let wire = Wire::to(far(echo), 300);
    let streams = (0..6).map(|seed| {
        let mut stream = wire.connect();
        std::thread::spawn(move || {
            let sent = bytes(seed);
            let mut writing = stream.try_clone().unwrap();
            let copy = sent.clone();
            let writer = std::thread::spawn(move || {
                for piece in copy.chunks(9_973 + seed) {
                    writing.write_all(piece).unwrap();
                }
                writing.shutdown(Shutdown::Write).unwrap();
            });
            let mut found = Vec::new();
            stream.read_to_end(&mut found).unwrap();
            writer.join().unwrap();
            assert!(found == sent, "stream {seed} came back otherwise");
        })
    });
    for stream in streams.collect::<Vec<_>>() {
        stream.join().unwrap();
    }
}

/// Who does not read slows down who sends: the wire holds a bounded part, and all of it arrives once it is read.
#[test]
fn a_slow_reader_is_waited_for() {
    let (reads, told) = std::sync::mpsc::channel();
    let told = Arc::new(Mutex::new(told));
    let sink = far(move |mut stream| {
        let patience = Duration::from_secs(30);
        told.lock().unwrap().recv_timeout(patience).unwrap();
        let mut found = Vec::new();
        stream.read_to_end(&mut found).unwrap();
        stream.write_all(&found.len().to_le_bytes()).unwrap();
    });
    let wire = Wire::to(sink, 100);
    let mut stream = wire.connect();
    stream.set_nonblocking(true).unwrap();
    let (piece, began, mut sent) = (vec![7; 64 * 1024], Instant::now(), 0);
    while began.elapsed() < Duration::from_millis(200) && sent < 256 * piece.len() {
        match stream.write(&piece) {
            Ok(count) => sent += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    assert!(
        sent < 256 * piece.len(),
        "the wire took in {sent} bytes that nobody read"
    );
    reads.send(()).unwrap();
    stream.set_nonblocking(false).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut count = [0; 8];
    stream.read_exact(&mut count).unwrap();
    assert_eq!(usize::from_le_bytes(count), sent);
}

/// A request's end is told, and its answer comes back on the half that is still open.
#[test]
fn half_closes_pass() {
    let wire = Wire::to(
        far(|mut stream| {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            stream.write_all(text.to_uppercase().as_bytes()).unwrap();
        }),
        1000,
    );
    let mut stream = wire.connect();
    stream.write_all(b"all of it").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "ALL OF IT");
}

/// A reset on either side is one on the other, and is no orderly end.
#[test]
fn resets_pass() {
    let (told, heard) = std::sync::mpsc::channel();
    let server = far(move |mut stream| {
        let mut first = [0];
        if stream.read_exact(&mut first).is_err() {
            return;
        }
        match first[0] {
            b'r' => reset(stream),
            _ => {
                stream.write_all(&first).unwrap();
                told.send(stream.read(&mut first)).unwrap()
            }
        }
    });
    let wire = Wire::to(server, 1000);
    let mut stream = wire.connect();
    stream.write_all(b"r").unwrap();
    let error = stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let mut stream = wire.connect();
    stream.write_all(b"s").unwrap();
    stream.read_exact(&mut [0]).unwrap();
    reset(stream);
    let seen = heard.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(seen.unwrap_err().kind(), ErrorKind::ConnectionReset);
}

/// Where nobody listens, a connection is reset, and the wire goes on.
#[test]
fn nobody_at_the_far_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let wire = Wire::to(address, 1000);
    for _ in 0..3 {
        let error = wire.connect().read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
}

/// No answer is there before a whole round trip, and none on a new connection before two.
#[test]
fn nothing_comes_too_early() {
    let round_trip = Duration::from_millis(20);
    let wire = Wire::to(far(echo), 20_000);
    for _ in 0..3 {
        let began = Instant::now();
        let mut stream = wire.connect();
        let mut least = 2 * round_trip;
        for _ in 0..3 {
            let asked = Instant::now();
            stream.write_all(b"x").unwrap();
            stream.read_exact(&mut [0]).unwrap();
            assert!(asked.elapsed() >= round_trip);
            assert!(began.elapsed() >= least);
            least += round_trip;
        }
    }
}

/// The exit code and the words of a command that ends by itself.
fn ended(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairload"));
    let output = command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

/// What cannot be a wire is a sentence and exit code 2.
#[test]
fn wrong_wires() {
    let rows: [(&[&str], &str); 4] = [
        (
            &[
                "--listen",
                "0.0.0.0:0",
                "--connect",
                "127.0.0.1:1",
                "--delay-us",
                "5",
            ],
            "is not of this machine alone",
        ),
        (
            &[
                "--listen",
                "127.0.0.1:0",
                "--connect",
                "nowhere",
                "--delay-us",
                "5",
            ],
            "`nowhere` has no address",
        ),
        (
            &[
                "--listen",
                "127.0.0.1:0",
                "--connect",
                "127.0.0.1:1",
                "--delay-us",
                "0",
            ],
            "0 is not in 1..=1000000",
        ),
        (
            &[
                "--listen",
                "127.0.0.1:0",
                "--connect",
                "127.0.0.1:1",
                "--delay-us",
                "5",
                "--delay-us",
                "6",
            ],
            "equally often",
        ),
    ];
    for (arguments, sentence) in rows {
        let (code, said) = ended(&[&["wire"], arguments].concat());
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
}
