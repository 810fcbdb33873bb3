//! One connection: what is being sent, what has been received, and how it is opened again.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use crate::core::http1::{Answer, Progress, Step};
use crate::core::kept::Kept;
use crate::load::stream::Stream;
use crate::sys::{self, socket};

/// A refused connection is tried again after 10 ms, then 20, … at most 320.
const BACKOFF_FIRST_NS: u64 = 10_000_000;
const BACKOFF_DOUBLINGS: u32 = 5;
/// One local address has about 28,000 ports; closed ones rest for up to a minute.
const SOURCES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Closed,
    /// A request waits for its connection.
    Connecting,
    /// A request waits for the TLS handshake of its connection.
    Handshaking,
    /// A request is being sent or its answer is awaited.
    Busy,
    Idle,
}

/// One request that is under way.
#[derive(Debug, Clone, Copy, Default)]
pub struct Exchange {
    pub number: u64,
    pub kind: usize,
    pub to_head: bool,
    /// It was sent inside the window.
    pub in_window: bool,
    /// When it could be sent (closed loop) or was due (open loop).
    pub due_ns: u64,
    pub sent_ns: u64,
    /// The step of the window that it was due in.
    pub step: usize,
}

/// A request that is under way, and what it held.
#[derive(Debug, Default)]
pub struct Held {
    pub exchange: Exchange,
    pub values: Vec<i64>,
    /// The earlier answer that it names, until it has ended.
    pub kept: Option<Arc<Kept>>,
    /// Where it begins in what is sent.
    pub start: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    More,
    /// `Conn::answer` has it.
    Whole,
    Bad(&'static str),
    /// The connection ended before the whole answer; true: by a reset.
    Ended {
        by_reset: bool,
    },
}

/// Where the bytes of a whole answer lie.
#[derive(Debug, Clone, Copy)]
enum Bytes {
    Scratch(usize),
    Own,
}

pub struct Conn<S> {
    stream: Option<S>,
    pub state: State,
    /// Grows with each new socket, so that a late event of an old one is told apart.
    pub generation: u32,
    /// The requests that are sent together, in their order; one where nothing is pipelined.
    batch: Vec<Held>,
    /// Which of them is answered next.
    current: usize,
    pub out: Vec<u8>,
    written: usize,
    received: Vec<u8>,
    /// Where the next answer begins in what was received: behind those of the same batch.
    answer_start: usize,
    progress: Progress,
    whole: Bytes,
    refusals: u32,
    /// When its TCP connection stood.
    pub reached_ns: u64,
    /// Answers on this socket so far.
    pub answers: u64,
    pub bytes_in: usize,
    /// Why it broke, where TLS says so.
    pub broken: Option<String>,
    /// When the kernel had the bytes that were read last, in wall-clock time, where it was asked and says so.
    pub stamp_ns: Option<u64>,
    stamped: bool,
}

impl<S: Stream> Conn<S> {
    /// `most_body_bytes`: a longer answer is malformed, and read no further.
    /// `keeps_headers`: its answers tell all of their headers.
    /// `pipeline`: so many requests are sent together.
    pub fn new(most_body_bytes: usize, keeps_headers: bool, pipeline: usize) -> Conn<S> {
        Conn {
            stream: None,
            state: State::Closed,
            generation: 0,
            batch: (0..pipeline).map(|_| Held::default()).collect(),
            current: 0,
            out: Vec::new(),
            written: 0,
            received: Vec::new(),
            answer_start: 0,
            progress: Progress::new(most_body_bytes).with_headers(keeps_headers),
            whole: Bytes::Own,
            refusals: 0,
            reached_ns: 0,
            answers: 0,
            bytes_in: 0,
            broken: None,
            stamp_ns: None,
            stamped: false,
        }
    }

    /// New requests will lie in `out`: nothing of them is sent, nothing received.
    pub fn begin(&mut self) {
        self.current = 0;
        self.out.clear();
        self.written = 0;
        self.received.clear();
        self.answer_start = 0;
        self.progress.reset();
        self.whole = Bytes::Own;
    }

    /// The request that is answered next.
    pub fn held(&self) -> &Held {
        &self.batch[self.current]
    }

    pub fn held_mut(&mut self) -> &mut Held {
        &mut self.batch[self.current]
    }

    /// Request number `place` of those that are sent together, and what is sent.
    pub fn place(&mut self, place: usize) -> (&mut Held, &mut Vec<u8>) {
        let held = &mut self.batch[place];
        held.start = self.out.len();
        (held, &mut self.out)
    }

    /// Moves the sends of all requests: a handshake came before them.
    pub fn delay(&mut self, by_ns: u64) {
        for held in &mut self.batch {
            held.exchange.sent_ns += by_ns;
        }
    }

    /// Drops what was received: it is of no request that follows.
    pub fn forget(&mut self) {
        self.received.clear();
        self.progress.reset();
        (self.answer_start, self.whole) = (0, Bytes::Own);
    }

    /// Whether others are behind the request that is answered next.
    pub fn has_others(&self) -> bool {
        self.current + 1 < self.batch.len()
    }

    /// Goes on to the request behind the one that has ended, if there is one.
    pub fn go_on(&mut self) -> bool {
        let has_others = self.has_others();
        self.current += usize::from(has_others);
        has_others
    }

    /// Begins to connect and registers with `epoll`. True: connected already.
    pub fn open(
        &mut self,
        dial: &socket::Dial,
        client: &S::Client,
        epoll: &sys::Epoll,
        index: usize,
    ) -> io::Result<bool> {
        let (socket, connected) = socket::connect(dial)?;
        self.generation = self.generation.wrapping_add(1);
        epoll.add(
            socket.as_raw_fd(),
            sys::ALL_EDGES,
            sys::token(index, self.generation),
        )?;
        self.stream = Some(S::over(socket, client)?);
        self.answers = 0;
        self.stamped = dial.stamped;
        self.state = State::Connecting;
        Ok(connected)
    }

    /// Goes on with the TLS handshake, where there is one. True: requests can be sent.
    pub fn shake_hands(&mut self) -> io::Result<bool> {
        match &mut self.stream {
            Some(stream) => stream.shake_hands(),
            None => Ok(false),
        }
    }

    /// The version and the cipher of the handshake.
    pub fn agreed(&self) -> Option<(String, String)> {
        self.stream.as_ref()?.agreed()
    }

    /// Whether a connection without a request can still be used, although something came.
    pub fn is_quiet(&mut self) -> bool {
        self.stream.as_mut().is_some_and(Stream::is_quiet)
    }

    pub fn has_ended(&self) -> bool {
        self.stream.as_ref().is_some_and(Stream::has_ended)
    }

    pub fn connected(&mut self) {
        self.state = State::Busy;
        self.refusals = 0;
    }

    pub fn close(&mut self) {
        self.stream = None;
        self.state = State::Closed;
    }

    pub fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    /// How long to wait before the next attempt, after one that failed.
    pub fn backoff_ns(&mut self) -> u64 {
        let wait_ns = BACKOFF_FIRST_NS << self.refusals.min(BACKOFF_DOUBLINGS);
        self.refusals += 1;
        wait_ns
    }

    /// Why the connection could not be made, once `epoll` called it broken.
    pub fn connect_error(&self) -> Option<io::Error> {
        let stream = self.stream.as_ref()?;
        socket::take_error(stream.socket())
    }

    /// Sends what the socket takes; the rest goes when it is writable again. Returns the bytes sent now.
    pub fn flush(&mut self) -> io::Result<usize> {
        let Some(stream) = &mut self.stream else {
            return Ok(0);
        };
        let mut sent = 0;
        while self.written < self.out.len() {
            match stream.send(&self.out[self.written..]) {
                Ok(bytes) => {
                    self.written += bytes;
                    sent += bytes;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        stream.push()?;
        Ok(sent)
    }

    pub fn is_all_sent(&self) -> bool {
        self.written == self.out.len() && self.stream.as_ref().is_none_or(Stream::is_pushed)
    }

    /// Reads until the answer is whole or the socket is empty. An answer that comes in one piece stays in `scratch`.
    /// `gone`: `epoll` said that the end of the stream can be read too.
    pub fn receive(&mut self, scratch: &mut [u8], gone: bool) -> Received {
        let to_head = self.held().exchange.to_head;
        self.bytes_in = 0;
        let Some(stream) = &mut self.stream else {
            return Received::Ended { by_reset: true };
        };
        loop {
            let received = if self.stamped {
                stream.receive_stamped(scratch).map(|(count, stamp_ns)| {
                    self.stamp_ns = stamp_ns;
                    count
                })
            } else {
                stream.receive(scratch)
            };
            let (count, ended) = match received {
                Ok(0) => (0, true),
                Ok(count) => (count, false),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::More,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.broken = (error.kind() == io::ErrorKind::Other).then(|| error.to_string());
                    return Received::Ended { by_reset: true };
                }
            };
            self.bytes_in += count;
            let step = if self.received.is_empty() {
                self.whole = Bytes::Scratch(count);
                let step = self.progress.step(&scratch[..count], to_head, ended);
                if step == Step::More {
                    self.received.extend_from_slice(&scratch[..count]);
                }
                step
            } else {
                self.whole = Bytes::Own;
                self.received.extend_from_slice(&scratch[..count]);
                self.progress.step(&self.received, to_head, ended)
            };
            match step {
                Step::Done => return Received::Whole,
                Step::Bad(reason) => return Received::Bad(reason),
                Step::More if ended => return Received::Ended { by_reset: false },
                // A short read emptied the socket, where no records lie between; whatever comes later makes a new edge.
                Step::More if !S::IS_TLS && count < scratch.len() && !gone => {
                    return Received::More;
                }
                Step::More => {}
            }
        }
    }

    /// The next answer of the batch, if it lies whole behind the one before it. `More`: `receive` reads on.
    pub fn follow(&mut self, scratch: &[u8]) -> Received {
        let to_head = self.held().exchange.to_head;
        self.answer_start += self.progress.end();
        self.progress.reset();
        let bytes = match self.whole {
            Bytes::Scratch(count) => &scratch[self.answer_start..count],
            Bytes::Own => &self.received[self.answer_start..],
        };
        match self.progress.step(bytes, to_head, false) {
            Step::Done => Received::Whole,
            Step::Bad(reason) => Received::Bad(reason),
            Step::More => {
                match self.whole {
                    Bytes::Scratch(count) => self
                        .received
                        .extend_from_slice(&scratch[self.answer_start..count]),
                    Bytes::Own => drop(self.received.drain(..self.answer_start)),
                }
                (self.answer_start, self.whole) = (0, Bytes::Own);
                Received::More
            }
        }
    }

    /// The answer, after `receive` or `follow` said `Whole` with the same `scratch`.
    #[inline(always)]
    pub fn answer<'a>(&'a self, scratch: &'a [u8]) -> Answer<'a> {
        match self.whole {
            Bytes::Scratch(count) => self.progress.answer(&scratch[self.answer_start..count]),
            Bytes::Own => self.progress.answer(&self.received[self.answer_start..]),
        }
    }

    /// What is known of an answer that never became whole: its status, and its bytes so far.
    pub fn partial<'a>(&'a self, scratch: &'a [u8]) -> (Option<u16>, &'a [u8]) {
        match self.whole {
            Bytes::Scratch(count) if self.received.is_empty() => {
                (self.progress.status(), &scratch[self.answer_start..count])
            }
            _ => (self.progress.status(), &self.received[self.answer_start..]),
        }
    }
}

/// How connection number `index` is dialled. Connections that are not kept use several loopback addresses.
pub fn dial(to: SocketAddr, index: usize, keep_alive: bool, stamped: bool) -> socket::Dial {
    let loopback = match to.ip() {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(_) => false,
    };
    let source = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1 + (index % SOURCES) as u8));
    let from = (loopback && !keep_alive).then(|| SocketAddr::new(source, 0));
    socket::Dial {
        to,
        from,
        once: !keep_alive,
        stamped,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    /// Waits between refused attempts double up to a limit, and start anew after a success.
    #[test]
    fn backoff() {
        let mut conn = Conn::<OwnedFd>::new(0, false, 1);
        let waits: Vec<u64> = (0..7).map(|_| conn.backoff_ns() / 1_000_000).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 320]);
        conn.connected();
        assert_eq!(conn.backoff_ns(), BACKOFF_FIRST_NS);
    }

    /// Only loopback connections that are not kept use other local addresses.
    #[test]
    fn sources() {
        let (local, remote) = (
            "127.0.0.1:80".parse().unwrap(),
            "192.0.2.1:80".parse().unwrap(),
        );
        assert_eq!(
            dial(local, 17, false, false).from,
            Some("127.0.0.2:0".parse().unwrap())
        );
        assert!(
            dial(local, 17, true, false).from.is_none()
                && dial(remote, 17, false, false).from.is_none()
        );
    }
}
