//! The misbehaving server: one thread that does to each request what the script says, and writes it down.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::core::script::{Act, Manner, Script, Then};
use crate::core::tally::{Fate, Line, Tally};
use crate::peers::null::{Request, parse};
use crate::peers::scripted::{Peer, Task};
use crate::sys::socket;
use crate::sys::{self, Epoll, Event, Waker, from_token, token};

const LISTENER: u64 = u64::MAX;
const WAKE: u64 = u64::MAX - 1;
const BUFFER_BYTES: usize = 64 * 1024;
const IDLE_NS: u64 = 1_000_000_000;

/// Ends a server from another thread.
pub struct Stop {
    flag: AtomicBool,
    waker: Waker,
}

impl Stop {
    pub fn stop(&self) {
        self.flag.store(true, Ordering::Release);
        self.waker.wake();
    }
}

pub struct Faulty {
    listener: OwnedFd,
    port: u16,
    epoll: Epoll,
    stop: Arc<Stop>,
    script: Script,
    /// The steps of each deed, for each manner of request.
    acts: Vec<[Arc<[Act]>; 4]>,
    /// By descriptor.
    peers: Vec<Option<Peer>>,
    generation: u32,
    /// When to go on with which connection.
    timers: BinaryHeap<Reverse<(u64, u64)>>,
    buffer: Vec<u8>,
    tally: Tally,
    free_ns: u64,
    next_stall_ns: Option<u64>,
}

/// What stands after as many steps as can be done now.
#[derive(PartialEq, Eq)]
enum After {
    Waiting,
    /// The next request may be taken.
    Ready,
    Dropped,
}

impl Faulty {
    /// Listens. `lists`: the tally holds each request.
    pub fn new(address: SocketAddr, script: Script, lists: bool) -> io::Result<Faulty> {
        let listener = std::net::TcpListener::from(socket::listen(address)?);
        let port = listener.local_addr()?.port();
        let listener = OwnedFd::from(listener);
        let epoll = Epoll::new()?;
        let stop = Arc::new(Stop {
            flag: AtomicBool::new(false),
            waker: Waker::new()?,
        });
        epoll.add(listener.as_raw_fd(), sys::READ_EDGES, LISTENER)?;
        epoll.add(stop.waker.fd(), sys::READ_EDGES, WAKE)?;
        let acts = script
            .deeds()
            .map(|deed| Manner::ALL.map(|manner| Arc::from(deed.acts(manner))))
            .collect();
        Ok(Faulty {
            listener,
            port,
            epoll,
            stop,
            script,
            acts,
            peers: Vec::new(),
            generation: 0,
            timers: BinaryHeap::new(),
            buffer: vec![0; BUFFER_BYTES],
            tally: Tally::new(lists),
            free_ns: 0,
            next_stall_ns: None,
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn stopper(&self) -> Arc<Stop> {
        self.stop.clone()
    }

    /// Serves until it is stopped; what has arrived by then is still looked at.
    pub fn run(mut self) -> Tally {
        sys::precise_timers();
        let mut events = vec![Event { events: 0, u64: 0 }; 256];
        loop {
            let stopped = self.stop.flag.load(Ordering::Acquire);
            let wait_ns = if stopped { 0 } else { self.until_next_ns() };
            let ready = self.epoll.wait(&mut events, wait_ns);
            for event in &events[..ready] {
                let Event {
                    events: flags,
                    u64: token,
                } = *event;
                match token {
                    LISTENER => self.accept(),
                    WAKE => {}
                    _ => self.on_event(flags, token),
                }
            }
            if stopped && ready == 0 {
                break;
            }
            self.keep_time();
        }
        for fd in 0..self.peers.len() {
            self.end_task(fd, Fate::Unfinished);
        }
        self.tally
    }

    fn until_next_ns(&self) -> u64 {
        let timer_ns = self.timers.peek().map(|Reverse((due_ns, _))| *due_ns);
        let next_ns = timer_ns.into_iter().chain(self.next_stall_ns).min();
        next_ns.map_or(IDLE_NS, |next_ns| {
            next_ns.saturating_sub(sys::now_ns()).min(IDLE_NS)
        })
    }

    fn keep_time(&mut self) {
        while let Some(Reverse((due_ns, token))) = self.timers.peek().copied()
            && due_ns <= sys::now_ns()
        {
            self.timers.pop();
            let (fd, generation) = from_token(token);
            if self.peers[fd]
                .as_ref()
                .is_some_and(|peer| peer.generation == generation)
            {
                self.serve(fd);
            }
        }
        if let (Some(due_ns), Some(stall)) = (self.next_stall_ns, self.script.stall)
            && sys::now_ns() >= due_ns
        {
            // Not one of this thread's connections is served now, as if the process were stopped. The stall ends at a moment
            // that does not depend on when it was begun, so that a late wake-up shortens nothing else.
            let end_ns = due_ns + (stall.for_ms * 1e6) as u64;
            std::thread::sleep(Duration::from_nanos(end_ns.saturating_sub(sys::now_ns())));
            self.tally.stalls += 1;
            self.next_stall_ns = Some(due_ns + (stall.every_s * 1e9) as u64);
        }
    }

    fn accept(&mut self) {
        while let Ok(socket) = socket::accept(&self.listener) {
            let number = self.tally.connections;
            self.tally.connections += 1;
            if self
                .script
                .refuse
                .is_some_and(|turns| turns.include(number))
            {
                self.tally.refused += 1;
                socket::close_by_reset(socket);
                continue;
            }
            let fd = socket.as_raw_fd() as usize;
            if self.peers.len() <= fd {
                self.peers.resize_with(fd + 1, || None);
            }
            self.generation = self.generation.wrapping_add(1) % (u32::MAX - 1);
            let token = token(fd, self.generation);
            if self
                .epoll
                .add(socket.as_raw_fd(), sys::ALL_EDGES, token)
                .is_ok()
            {
                let mut peer = Peer::new(socket, self.generation, number);
                // Its request is often here already; served at once, those that waited longest are answered first.
                peer.receive(&mut self.buffer);
                self.peers[fd] = Some(peer);
                self.serve(fd);
            }
        }
    }

    fn on_event(&mut self, flags: u32, token: u64) {
        let (fd, generation) = from_token(token);
        let Some(peer) = self.peers[fd]
            .as_mut()
            .filter(|peer| peer.generation == generation)
        else {
            return;
        };
        if flags & (sys::READABLE | sys::GONE) != 0 {
            peer.receive(&mut self.buffer);
        }
        self.serve(fd);
    }

    /// Goes on with one connection as far as possible: the request at hand, then the next ones.
    fn serve(&mut self, fd: usize) {
        loop {
            let Some(peer) = &mut self.peers[fd] else {
                return;
            };
            if peer.shut {
                self.tally.too_late(peer.take_requests());
                if peer.gone {
                    self.peers[fd] = None;
                }
                return;
            }
            if peer.task.is_none() && !self.take_request(fd) {
                return;
            }
            if self.act(fd) != After::Ready {
                return;
            }
        }
    }

    /// Takes the next whole request, if there is one.
    fn take_request(&mut self, fd: usize) -> bool {
        let Some(peer) = &mut self.peers[fd] else {
            return false;
        };
        let (length, manner) = match parse(&peer.received) {
            Request::Whole {
                length,
                keep_alive,
                head,
                ..
            } => (length, Manner::new(keep_alive, head)),
            Request::Partial if !peer.gone => return false,
            Request::Partial | Request::Bad => {
                self.tally.broken += u64::from(!peer.received.is_empty());
                self.peers[fd] = None;
                return false;
            }
        };
        let number = self.tally.requests;
        self.tally.requests += 1;
        let deed = self.script.deed_of(number);
        let now_ns = sys::now_ns();
        let line = peer
            .received
            .split(|byte| *byte == b'\r')
            .next()
            .unwrap_or_default();
        peer.task = Some(Task {
            number,
            line: String::from_utf8_lossy(line).into_owned(),
            deed,
            acts: self.acts[deed][manner.index()].clone(),
            next: 0,
            due_ns: now_ns,
        });
        peer.received.drain(..length);
        if let (Some(stall), None) = (self.script.stall, self.next_stall_ns) {
            self.next_stall_ns = Some(now_ns + (stall.every_s * 5e8) as u64);
        }
        if let Some(queue) = self.script.queue {
            self.free_ns = self.free_ns.max(now_ns) + queue.service_ns(number);
            self.wait_until(fd, self.free_ns);
        }
        true
    }

    fn wait_until(&mut self, fd: usize, due_ns: u64) {
        let Some(peer) = &mut self.peers[fd] else {
            return;
        };
        if let Some(task) = &mut peer.task {
            task.due_ns = due_ns;
            self.timers
                .push(Reverse((due_ns, token(fd, peer.generation))));
        }
    }

    /// Does the steps that are due of the request at hand.
    fn act(&mut self, fd: usize) -> After {
        loop {
            let Some(peer) = &mut self.peers[fd] else {
                return After::Dropped;
            };
            if peer.gone || peer.flush().is_err() {
                self.end_task(fd, Fate::Abandoned);
                self.peers[fd] = None;
                return After::Dropped;
            }
            let Some(task) = &mut peer.task else {
                return After::Ready;
            };
            if !peer.unsent.is_empty() || sys::now_ns() < task.due_ns {
                return After::Waiting;
            }
            match task.acts[task.next] {
                Act::Wait(ns) => {
                    task.next += 1;
                    let due_ns = task.due_ns + ns;
                    self.wait_until(fd, due_ns);
                }
                Act::Send(ref bytes) => {
                    peer.unsent.extend_from_slice(bytes);
                    task.next += 1;
                }
                Act::End(then) => return self.end(fd, then),
            }
        }
    }

    fn end(&mut self, fd: usize, then: Then) -> After {
        if then == Then::Hang {
            return After::Waiting;
        }
        self.end_task(fd, Fate::Given);
        match (then, self.peers[fd].as_mut()) {
            (Then::Close, Some(peer)) => {
                peer.shut = true;
                socket::end_stream(&peer.socket);
                After::Ready
            }
            (Then::Reset, _) => {
                if let Some(peer) = self.peers[fd].take() {
                    self.tally.resets += 1;
                    socket::close_by_reset(peer.socket);
                }
                After::Dropped
            }
            _ => After::Ready,
        }
    }

    fn end_task(&mut self, fd: usize, fate: Fate) {
        let Some(peer) = &mut self.peers[fd] else {
            return;
        };
        let Some(task) = peer.task.take() else { return };
        let Some(deed) = self.script.deeds().nth(task.deed) else {
            return;
        };
        self.tally.ended(&deed.outcome, fate);
        if let Some(list) = &mut self.tally.list {
            let (connection, outcome) = (peer.number, deed.outcome.clone());
            list.push(Line {
                number: task.number,
                connection,
                line: task.line,
                outcome,
                fate,
            });
        }
    }
}
