//! The null responder: one fixed answer, as cheaply as this machine can give it. It is the ceiling for all servers.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::sys::socket;
use crate::sys::{self, Epoll, Event};

const LISTENER: u64 = u64::MAX;
const BUFFER_BYTES: usize = 64 * 1024;
const MAX_REQUEST_BYTES: usize = 1024 * 1024;
const MAX_HEADERS: usize = 64;

/// Listens with `threads` threads that share nothing but the port; returns the port once all of them listen.
pub fn start(
    address: SocketAddr,
    threads: usize,
    content_type: &str,
    body: &str,
) -> io::Result<u16> {
    let first = std::net::TcpListener::from(socket::listen(address)?);
    let address = first.local_addr()?;
    let mut listeners = vec![OwnedFd::from(first)];
    for _ in 1..threads {
        listeners.push(socket::listen(address)?);
    }
    for listener in listeners {
        let responder = Responder::new(listener, content_type, body)?;
        std::thread::Builder::new()
            .name("null".to_string())
            .spawn(move || responder.run())?;
    }
    Ok(address.port())
}

struct Responder {
    listener: OwnedFd,
    epoll: Epoll,
    /// By descriptor: the kernel hands out the smallest free one.
    peers: Vec<Option<Peer>>,
    answers: Answers,
    buffer: Vec<u8>,
    out: Vec<u8>,
    /// The last request that was parsed; most clients send the same bytes again, which is cheaper to compare than to parse.
    known: Vec<u8>,
}

/// The one answer, by what it says of the connection.
struct Answers {
    body_bytes: usize,
    kept: Vec<u8>,
    confirmed: Vec<u8>,
    closing: Vec<u8>,
}

struct Peer {
    socket: OwnedFd,
    partial: Vec<u8>,
    unsent: Vec<u8>,
}

/// One request at the start of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Partial,
    Bad,
    Whole {
        length: usize,
        keep_alive: bool,
        /// HTTP/1.0: a kept connection has to be confirmed.
        old: bool,
        /// Its answer ends with the header.
        head: bool,
    },
}

impl Responder {
    fn new(listener: OwnedFd, content_type: &str, body: &str) -> io::Result<Responder> {
        let epoll = Epoll::new()?;
        epoll.add(listener.as_raw_fd(), sys::READ_EDGES, LISTENER)?;
        let answer = |connection: &str| {
            let length = body.len();
            format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n{connection}\r\n{body}").into_bytes()
        };
        Ok(Responder {
            listener,
            epoll,
            peers: Vec::new(),
            answers: Answers {
                body_bytes: body.len(),
                kept: answer(""),
                confirmed: answer("connection: keep-alive\r\n"),
                closing: answer("connection: close\r\n"),
            },
            buffer: vec![0; BUFFER_BYTES],
            out: Vec::new(),
            known: Vec::new(),
        })
    }

    fn run(mut self) {
        let mut events = vec![Event { events: 0, u64: 0 }; 256];
        loop {
            let ready = self.epoll.wait(&mut events, 60_000_000_000);
            for event in &events[..ready] {
                let Event {
                    events: flags,
                    u64: token,
                } = *event;
                if token == LISTENER {
                    self.accept();
                } else if self.serve(token as usize, flags & sys::GONE != 0).is_err() {
                    self.peers[token as usize] = None;
                }
            }
        }
    }

    fn accept(&mut self) {
        // An error ends this round only: out of descriptors, the rest waits for the next edge.
        while let Ok(socket) = socket::accept(&self.listener) {
            let fd = socket.as_raw_fd();
            let index = fd as usize;
            if self.peers.len() <= index {
                self.peers.resize_with(index + 1, || None);
            }
            if self.epoll.add(fd, sys::ALL_EDGES, index as u64).is_ok() {
                self.peers[index] = Some(Peer {
                    socket,
                    partial: Vec::new(),
                    unsent: Vec::new(),
                });
            }
        }
    }

    /// Answers all that has arrived on one connection; an error closes it.
    fn serve(&mut self, index: usize, gone: bool) -> io::Result<()> {
        let Some(peer) = &mut self.peers[index] else {
            return Ok(());
        };
        peer.flush()?;
        loop {
            let count = match socket::receive(&peer.socket, &mut self.buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            let received = &self.buffer[..count];
            if peer.partial.is_empty() && received == self.known {
                peer.answer(&self.answers.kept)?;
            } else {
                peer.partial.extend_from_slice(received);
                self.out.clear();
                let keep_alive = answer_all(peer, &mut self.known, &self.answers, &mut self.out)?;
                peer.answer(&self.out)?;
                if !keep_alive {
                    return Err(io::ErrorKind::ConnectionAborted.into());
                }
            }
            if count < self.buffer.len() && !gone {
                return Ok(());
            }
        }
    }
}

/// Puts the answers to all whole requests into `out`. False: the connection ends after them.
fn answer_all(
    peer: &mut Peer,
    known: &mut Vec<u8>,
    answers: &Answers,
    out: &mut Vec<u8>,
) -> io::Result<bool> {
    let mut start = 0;
    let mut keeps = true;
    while keeps && start < peer.partial.len() {
        match parse(&peer.partial[start..]) {
            Request::Partial if peer.partial.len() - start > MAX_REQUEST_BYTES => {
                return Err(io::ErrorKind::InvalidData.into());
            }
            Request::Partial => break,
            Request::Bad => return Err(io::ErrorKind::InvalidData.into()),
            Request::Whole {
                length,
                keep_alive,
                old,
                head,
            } => {
                if keep_alive && !old && !head && start == 0 && length == peer.partial.len() {
                    known.clear();
                    known.extend_from_slice(&peer.partial);
                }
                let answer = match (keep_alive, old) {
                    (true, false) => &answers.kept,
                    (true, true) => &answers.confirmed,
                    (false, _) => &answers.closing,
                };
                let without = if head { answers.body_bytes } else { 0 };
                out.extend_from_slice(&answer[..answer.len() - without]);
                keeps = keep_alive;
                start += length;
            }
        }
    }
    peer.partial.drain(..start);
    Ok(keeps)
}

pub(crate) fn parse(bytes: &[u8]) -> Request {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(bytes) {
        Ok(httparse::Status::Complete(head)) => head,
        Ok(httparse::Status::Partial) => return Request::Partial,
        Err(_) => return Request::Bad,
    };
    let old = request.version != Some(1);
    let mut keep_alive = !old;
    let mut body = 0;
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("connection") {
            keep_alive = !header.value.eq_ignore_ascii_case(b"close")
                && (keep_alive || header.value.eq_ignore_ascii_case(b"keep-alive"));
        } else if header.name.eq_ignore_ascii_case("content-length") {
            match std::str::from_utf8(header.value)
                .ok()
                .and_then(|text| text.trim().parse::<usize>().ok())
            {
                Some(length) if length <= MAX_REQUEST_BYTES => body = length,
                _ => return Request::Bad,
            }
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Request::Bad;
        }
    }
    if bytes.len() < head + body {
        Request::Partial
    } else {
        Request::Whole {
            length: head + body,
            keep_alive,
            old,
            head: request.method == Some("HEAD"),
        }
    }
}

impl Peer {
    fn answer(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.unsent.is_empty() {
            self.unsent.extend_from_slice(bytes);
            return self.flush();
        }
        let sent = match socket::send(&self.socket, bytes) {
            Ok(sent) => sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        self.unsent.extend_from_slice(&bytes[sent..]);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        match socket::send(&self.socket, &self.unsent) {
            Ok(sent) => {
                self.unsent.drain(..sent);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests are told apart by their own lengths, and say whether the connection stays.
    #[test]
    fn requests() {
        let whole = |length, keep_alive| Request::Whole {
            length,
            keep_alive,
            old: false,
            head: false,
        };
        let old = |length, keep_alive| Request::Whole {
            length,
            keep_alive,
            old: true,
            head: false,
        };
        let rows = [
            ("GET / HTTP/1.1\r\nhost: a\r\n\r\n", whole(27, true)),
            ("GET / HTTP/1.1\r\nhost: a\r\n\r\nGET", whole(27, true)),
            (
                "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
                whole(37, false),
            ),
            (
                "HEAD / HTTP/1.1\r\n\r\n",
                Request::Whole {
                    length: 19,
                    keep_alive: true,
                    old: false,
                    head: true,
                },
            ),
            ("GET / HTTP/1.0\r\n\r\n", old(18, false)),
            (
                "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
                old(42, true),
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi",
                whole(40, true),
            ),
            (
                "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nh",
                Request::Partial,
            ),
            ("POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", Request::Bad),
            (
                "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
                Request::Bad,
            ),
            ("GET / HTTP/1.1\r\nhost", Request::Partial),
            ("\u{1}\u{2}", Request::Bad),
        ];
        for (bytes, request) in rows {
            assert_eq!(parse(bytes.as_bytes()), request, "{bytes:?}");
        }
    }
}
