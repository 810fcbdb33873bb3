//! A wire with a length: what is sent into one end comes out of the other half a round trip later, in both directions.
//!
//! A new connection waits one round trip more before its first byte is read, as the handshake over such a distance takes. Half-closes
//! and resets travel as bytes do. Bandwidth, loss and the slow start of TCP are left out: it is distance alone.
//!
//! Since every parcel travels equally long, parcels fall due in the order in which they were sent: one queue holds them all.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::sys::socket::{self, Dial};
use crate::sys::{self, Epoll, Event};

const LISTENER: u64 = u64::MAX;
const BUFFER_BYTES: usize = 64 * 1024;
/// So many bytes of one direction may be under way, or wait for a reader; then no more are read, and TCP slows the sender down.
const MOST_UNDER_WAY: usize = 1024 * 1024;
const IDLE_NS: u64 = 1_000_000_000;
/// The ends of a pair: who connected, and whom the wire connected to.
const NEAR: usize = 0;
const FAR: usize = 1;

/// Starts a wire from `listen` to `connect` in a thread of its own; returns the port on which it listens.
pub fn start(listen: SocketAddr, connect: SocketAddr, round_trip_ns: u64) -> io::Result<u16> {
    let listener = std::net::TcpListener::from(socket::listen(listen)?);
    let port = listener.local_addr()?.port();
    let wire = Wire::new(OwnedFd::from(listener), connect, round_trip_ns)?;
    std::thread::Builder::new()
        .name("wire".to_string())
        .spawn(move || wire.run())?;
    Ok(port)
}

struct Wire {
    listener: OwnedFd,
    connect: SocketAddr,
    half_ns: u64,
    epoll: Epoll,
    /// The index is the first half of a token's, the end its last bit.
    pairs: Vec<Option<Pair>>,
    free: Vec<usize>,
    generation: u32,
    /// Connections whose handshake is under way, by when it is done.
    opening: VecDeque<(u64, OwnedFd)>,
    travelling: VecDeque<Parcel>,
    buffer: Vec<u8>,
}

struct Pair {
    generation: u32,
    ends: [End; 2],
}

struct End {
    socket: OwnedFd,
    /// The connection stands: what is due may be sent.
    stands: bool,
    /// Came out of the wire, and the socket has not taken it yet.
    unsent: Vec<u8>,
    /// Bytes that were read here and that the other end's socket has not taken yet.
    under_way: usize,
    /// The kernel may have more to read.
    more: bool,
    /// The kernel has told that the other side is gone: what is left to read ends with the stream's end.
    gone: bool,
    /// Nothing more comes from here: its end or its reset is on its way.
    ended: bool,
    /// The other end's end came out of the wire: to be told here once all is sent.
    closing: bool,
    closed: bool,
}

struct Parcel {
    due_ns: u64,
    index: usize,
    generation: u32,
    to: usize,
    cargo: Cargo,
}

enum Cargo {
    Bytes(Vec<u8>),
    End,
    Reset,
}

impl End {
    fn new(socket: OwnedFd, stands: bool) -> End {
        End {
            socket,
            stands,
            unsent: Vec::new(),
            under_way: 0,
            more: false,
            gone: false,
            ended: false,
            closing: false,
            closed: false,
        }
    }
}

impl Wire {
    fn new(listener: OwnedFd, connect: SocketAddr, round_trip_ns: u64) -> io::Result<Wire> {
        let epoll = Epoll::new()?;
        epoll.add(listener.as_raw_fd(), sys::READABLE, LISTENER)?;
        Ok(Wire {
            listener,
            connect,
            half_ns: round_trip_ns / 2,
            epoll,
            pairs: Vec::new(),
            free: Vec::new(),
            generation: 0,
            opening: VecDeque::new(),
            travelling: VecDeque::new(),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    fn run(mut self) {
        sys::precise_timers();
        let mut events = vec![Event { events: 0, u64: 0 }; 256];
        loop {
            let ready = self.epoll.wait(&mut events, self.patience_ns());
            for event in &events[..ready] {
                let (token, what) = (event.u64, event.events);
                if token == LISTENER {
                    self.accept();
                } else {
                    let (place, generation) = sys::from_token(token);
                    self.stir(place / 2, generation, place % 2, what);
                }
            }
            self.deliver();
        }
    }

    /// Until something comes out of the wire.
    fn patience_ns(&self) -> u64 {
        let opening = self.opening.front().map(|(due_ns, _)| *due_ns);
        let travelling = self.travelling.front().map(|parcel| parcel.due_ns);
        let next_ns = opening.into_iter().chain(travelling).min();
        next_ns.map_or(IDLE_NS, |due_ns| due_ns.saturating_sub(sys::now_ns()))
    }

    fn accept(&mut self) {
        while let Ok(socket) = socket::accept(&self.listener) {
            let due_ns = sys::now_ns() + 2 * self.half_ns;
            self.opening.push_back((due_ns, socket));
        }
    }

    /// Whatever is due comes out.
    fn deliver(&mut self) {
        let now_ns = sys::now_ns();
        while let Some((_, near)) = self.opening.pop_front_if(|(due_ns, _)| *due_ns <= now_ns) {
            self.open(near);
        }
        while let Some(parcel) = self
            .travelling
            .pop_front_if(|parcel| parcel.due_ns <= now_ns)
        {
            self.unload(parcel);
        }
    }

    fn open(&mut self, near: OwnedFd) {
        let dial = Dial {
            to: self.connect,
            from: None,
            once: false,
            stamped: false,
        };
        let Ok((far, stands)) = socket::connect(&dial) else {
            return socket::close_by_reset(near);
        };
        self.generation = self.generation.wrapping_add(1);
        let index = self.free.pop().unwrap_or_else(|| {
            self.pairs.push(None);
            self.pairs.len() - 1
        });
        let added = [(NEAR, &near), (FAR, &far)].map(|(end, socket)| {
            let token = sys::token(2 * index + end, self.generation);
            self.epoll.add(socket.as_raw_fd(), sys::ALL_EDGES, token)
        });
        if added.iter().any(Result::is_err) {
            self.free.push(index);
            return socket::close_by_reset(near);
        }
        self.pairs[index] = Some(Pair {
            generation: self.generation,
            ends: [End::new(near, true), End::new(far, stands)],
        });
    }

    fn pair(&mut self, index: usize, generation: u32) -> Option<&mut Pair> {
        let pair = self.pairs.get_mut(index)?.as_mut()?;
        (pair.generation == generation).then_some(pair)
    }

    fn forget(&mut self, index: usize) -> Option<Pair> {
        self.free.push(index);
        self.pairs[index].take()
    }

    /// The kernel told something of one end.
    fn stir(&mut self, index: usize, generation: u32, end: usize, what: u32) {
        let Some(pair) = self.pair(index, generation) else {
            return;
        };
        let here = &mut pair.ends[end];
        let broken = what & sys::BROKEN != 0 && (here.ended || !here.stands);
        if broken && socket::take_error(&here.socket).is_some() {
            here.ended = true;
            return self.send_off(index, end, Cargo::Reset);
        }
        here.stands |= what & sys::WRITABLE != 0;
        here.gone |= what & sys::GONE != 0;
        here.more |= what & (sys::READABLE | sys::GONE) != 0;
        if what & sys::WRITABLE != 0 {
            self.flush(index, end);
        }
        self.read(index, end);
    }

    /// Reads what one end has, as long as the wire has room for it.
    fn read(&mut self, index: usize, end: usize) {
        while let Some(pair) = &mut self.pairs[index] {
            let here = &mut pair.ends[end];
            if !here.more || here.ended || here.under_way >= MOST_UNDER_WAY {
                return;
            }
            let cargo = match socket::receive(&here.socket, &mut self.buffer) {
                Ok(0) => Cargo::End,
                Ok(count) => {
                    here.under_way += count;
                    // A later arrival is a new edge, an end that was told already is none.
                    here.more = count == self.buffer.len() || here.gone;
                    Cargo::Bytes(self.buffer[..count].to_vec())
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    here.more = false;
                    return;
                }
                Err(_) => Cargo::Reset,
            };
            here.ended = !matches!(cargo, Cargo::Bytes(_));
            self.send_off(index, end, cargo);
        }
    }

    fn send_off(&mut self, index: usize, from: usize, cargo: Cargo) {
        if let Some(pair) = &self.pairs[index] {
            self.travelling.push_back(Parcel {
                due_ns: sys::now_ns() + self.half_ns,
                index,
                generation: pair.generation,
                to: 1 - from,
                cargo,
            });
        }
    }

    fn unload(&mut self, parcel: Parcel) {
        let (index, to) = (parcel.index, parcel.to);
        let Some(pair) = self.pair(index, parcel.generation) else {
            return;
        };
        match parcel.cargo {
            Cargo::Bytes(bytes) if pair.ends[to].unsent.is_empty() => pair.ends[to].unsent = bytes,
            Cargo::Bytes(bytes) => pair.ends[to].unsent.extend_from_slice(&bytes),
            Cargo::End => pair.ends[to].closing = true,
            Cargo::Reset => {
                for end in self.forget(index).into_iter().flat_map(|pair| pair.ends) {
                    socket::close_by_reset(end.socket);
                }
                return;
            }
        }
        self.flush(index, to);
    }

    /// Sends what came out at one end, and makes room for what the other one has.
    fn flush(&mut self, index: usize, end: usize) {
        let Some(pair) = &mut self.pairs[index] else {
            return;
        };
        let [near, far] = &mut pair.ends;
        let (here, there) = if end == NEAR {
            (near, far)
        } else {
            (far, near)
        };
        if !here.stands || here.closed {
            return;
        }
        let mut sent = 0;
        while sent < here.unsent.len() {
            match socket::send(&here.socket, &here.unsent[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    here.closed = true;
                    here.ended = true;
                    return self.send_off(index, end, Cargo::Reset);
                }
            }
        }
        here.unsent.drain(..sent);
        there.under_way -= sent;
        if here.closing && here.unsent.is_empty() {
            here.closed = true;
            socket::end_stream(&here.socket);
            if there.closed {
                self.forget(index);
                return;
            }
        }
        if sent > 0 {
            self.read(index, 1 - end);
        }
    }
}
