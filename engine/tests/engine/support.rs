//! A scripted server, and the engine run on it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Starts `fairload` with these arguments; it ends when its input does. Returns it with the first event that it tells.
pub fn started(arguments: &[&str]) -> (Child, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fairload"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let event = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no event: {line}"));
    (child, event)
}

/// What the server does with one request.
pub enum Deed {
    Answer(String),
    /// Sends the pieces with short breaks between them.
    Pieces(Vec<String>),
    AnswerAndClose(String),
    /// Sends this much, then a reset.
    Reset(String),
    /// Never answers; ends when the client does.
    Silence,
    /// Answers after this time.
    Late(Duration, String),
    /// The whole server is gone, with all its connections.
    Die,
}

pub struct Server {
    pub address: SocketAddr,
    pub connections: Arc<AtomicU64>,
    /// The request lines, in the order of their arrival.
    pub lines: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub fn requests(&self) -> u64 {
        self.lines.lock().unwrap().len() as u64
    }
}

/// Starts a server; `script` gets each request's number (from 0) and its request line.
pub fn serve(script: impl Fn(u64, &str) -> Deed + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicU64::new(0));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let server = Server {
        address,
        connections: connections.clone(),
        lines: lines.clone(),
    };
    let dead = Arc::new(AtomicBool::new(false));
    let script = Arc::new(script);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            if dead.load(Ordering::SeqCst) {
                return;
            }
            connections.fetch_add(1, Ordering::SeqCst);
            let (script, lines, dead) = (script.clone(), lines.clone(), dead.clone());
            std::thread::spawn(move || {
                // The client may hang up at any point; that ends this connection and nothing else.
                let _ = converse(stream, &*script, &lines, &dead, address);
            });
        }
    });
    server
}

fn converse(
    mut stream: TcpStream,
    script: &(impl Fn(u64, &str) -> Deed + ?Sized),
    lines: &Mutex<Vec<String>>,
    dead: &AtomicBool,
    address: SocketAddr,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let Some(line) = read_request(&mut reader)? else {
            return Ok(());
        };
        let number = {
            let mut lines = lines.lock().unwrap();
            lines.push(line.clone());
            lines.len() as u64 - 1
        };
        if dead.load(Ordering::SeqCst) {
            return Ok(());
        }
        match script(number, &line) {
            Deed::Answer(answer) => stream.write_all(answer.as_bytes())?,
            Deed::Pieces(pieces) => {
                for piece in pieces {
                    stream.write_all(piece.as_bytes())?;
                    std::thread::sleep(Duration::from_micros(300));
                }
            }
            Deed::AnswerAndClose(answer) => return stream.write_all(answer.as_bytes()),
            Deed::Reset(answer) => {
                stream.write_all(answer.as_bytes())?;
                return reset(&stream);
            }
            Deed::Silence => {
                reader.read_to_end(&mut Vec::new())?;
            }
            Deed::Late(wait, answer) => {
                std::thread::sleep(wait);
                stream.write_all(answer.as_bytes())?;
            }
            Deed::Die => {
                dead.store(true, Ordering::SeqCst);
                // Wakes the accepting thread, which then drops the listener.
                drop(TcpStream::connect(address));
                return Ok(());
            }
        }
    }
}

/// The request line, after head and body have been read; `None`: the client is gone.
fn read_request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<String>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? <= 2 {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8(body).unwrap();
    Ok(Some(
        first.trim_end().trim_end_matches(" HTTP/1.1").to_string() + &body,
    ))
}

fn reset(stream: &TcpStream) -> std::io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let length = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: `linger` is valid for the read of `length` bytes. The reader's clone shares the socket, so shutdown is not
    // enough: the reset goes out when the last of both is dropped.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            length,
        );
    }
    Ok(())
}

pub fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

pub fn good() -> String {
    answer("200 OK", "good")
}

/// A plan for GET /x whose right answer is `good`; a quarter of a second, four connections.
pub fn plan(address: SocketAddr) -> Value {
    json!({
        "protocol": 1, "seed": 7,
        "target": {"host": address.ip().to_string(), "port": address.port()},
        "load": {"model": "closed", "connections": 4, "warmup_s": 0, "window_s": 0.25, "timeout_ms": 5000},
        "requests": [{
            "kind": "x", "method": "GET", "path": "/x",
            "expect": {"status": 200, "content_type": "text/plain", "body": {"exact": "good"}}
        }]
    })
}

/// A plan of an open loop that begins held: 200 requests each second for 0.3 s.
pub fn open(server: &Server, arrivals: &str) -> Value {
    let mut plan = plan(server.address);
    plan["load"]["model"] = json!("open");
    plan["load"]["rate_per_s"] = json!(200);
    plan["load"]["arrivals"] = json!(arrivals);
    plan["load"]["connections"] = json!(32);
    plan["load"]["begin"] = json!("held");
    plan["load"]["window_s"] = json!(0.3);
    plan
}

pub struct Finished {
    pub code: i32,
    pub result: Value,
    pub events: Vec<Value>,
}

impl Finished {
    /// One number of the result, by its JSON pointer.
    pub fn number(&self, pointer: &str) -> u64 {
        self.result
            .pointer(pointer)
            .and_then(Value::as_u64)
            .unwrap_or_else(|| panic!("no {pointer} in {}", self.result))
    }

    pub fn names(&self) -> Vec<&str> {
        self.events
            .iter()
            .map(|event| event["event"].as_str().unwrap())
            .filter(|name| *name != "second")
            .collect()
    }

    /// The first sample's reason of an outcome.
    pub fn reason(&self, outcome: &str) -> &str {
        let samples = self.result["samples"].as_array().unwrap();
        let sample = samples.iter().find(|sample| sample["outcome"] == outcome);
        sample.unwrap_or_else(|| panic!("no sample of {outcome}"))["reason"]
            .as_str()
            .unwrap()
    }
}

/// A running engine; commands go to `input`.
pub struct Running {
    pub child: Child,
    pub input: ChildStdin,
    errors: BufReader<ChildStderr>,
    events: Vec<Value>,
}

pub fn start(plan: &Value) -> Running {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fairload"))
        .args(["run", "--plan", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let errors = BufReader::new(child.stderr.take().unwrap());
    writeln!(input, "{plan}").unwrap();
    Running {
        child,
        input,
        errors,
        events: Vec::new(),
    }
}

impl Running {
    /// Reads events up to the next of this name.
    pub fn wait_for(&mut self, name: &str) -> Value {
        self.next_of(&[name])
    }

    /// Reads events up to the next of one of these names.
    pub fn next_of(&mut self, names: &[&str]) -> Value {
        loop {
            assert!(self.read_event(), "none of {names:?} in {:?}", self.events);
            match self.events.last() {
                Some(event) if names.iter().any(|name| event["event"] == *name) => {
                    return event.clone();
                }
                _ => {}
            }
        }
    }

    /// Sends a command; an engine that has ended already has told so by its events.
    pub fn tell(&mut self, command: &str) {
        let _ = writeln!(self.input, "{}", serde_json::json!({ "command": command }));
    }

    /// Begins a turn that ends by itself.
    pub fn go(&mut self, requests: u64) {
        let command = serde_json::json!({ "command": "go", "requests": requests });
        let _ = writeln!(self.input, "{command}");
    }

    fn read_event(&mut self) -> bool {
        let mut line = String::new();
        if self.errors.read_line(&mut line).unwrap() == 0 {
            return false;
        }
        self.events
            .push(serde_json::from_str(&line).unwrap_or_else(|_| panic!("no event: {line}")));
        true
    }

    pub fn finish(mut self) -> Finished {
        let mut stdout = self.child.stdout.take().unwrap();
        let result = std::thread::spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).unwrap();
            text
        });
        while self.read_event() {}
        Finished {
            code: self.child.wait().unwrap().code().unwrap_or(-1),
            result: serde_json::from_slice(&result.join().unwrap()).unwrap_or(Value::Null),
            events: self.events,
        }
    }
}

pub fn run(plan: &Value) -> Finished {
    start(plan).finish()
}
