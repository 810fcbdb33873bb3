//! One connection of the misbehaving server.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::core::script::Act;
use crate::peers::null::{Request, parse};
use crate::sys::socket;

pub(crate) struct Peer {
    pub(crate) socket: OwnedFd,
    pub(crate) generation: u32,
    pub(crate) number: u64,
    pub(crate) received: Vec<u8>,
    pub(crate) unsent: Vec<u8>,
    pub(crate) task: Option<Task>,
    /// The client has hung up.
    pub(crate) gone: bool,
    /// The server has said its last word; what still arrives is too late.
    pub(crate) shut: bool,
}

/// The request that a connection is busy with.
pub(crate) struct Task {
    pub(crate) number: u64,
    pub(crate) line: String,
    pub(crate) deed: usize,
    pub(crate) acts: Arc<[Act]>,
    pub(crate) next: usize,
    pub(crate) due_ns: u64,
}

impl Peer {
    pub(crate) fn new(socket: OwnedFd, generation: u32, number: u64) -> Peer {
        Peer {
            socket,
            generation,
            number,
            received: Vec::new(),
            unsent: Vec::new(),
            task: None,
            gone: false,
            shut: false,
        }
    }

    /// Reads all there is, to the end of the stream if that is there: whoever hung up must be known before an answer.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) {
        loop {
            match socket::receive(&self.socket, buffer) {
                Ok(0) => return self.gone = true,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => return self.gone = true,
            }
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match socket::send(&self.socket, &self.unsent) {
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// How many whole requests lie here; they are forgotten.
    pub(crate) fn take_requests(&mut self) -> u64 {
        let mut count = 0;
        while let Request::Whole { length, .. } = parse(&self.received) {
            self.received.drain(..length);
            count += 1;
        }
        count
    }
}
