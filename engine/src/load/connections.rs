//! The connections of one thread: which are free, which a hold keeps back, and when which may be used again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use crate::core::config::Config;
use crate::core::http1::most_body_bytes;
use crate::load::conn::Conn;
use crate::load::stream::Stream;
use crate::sys::{Epoll, socket};

/// Closed-loop connections are opened one after the other, so that no listen queue overflows.
pub(crate) const OPENING_GAP_NS: u64 = 20_000;

pub struct Connections<S: Stream> {
    pub(crate) all: Vec<Conn<S>>,
    /// Without a request; open loop only.
    pub(crate) idle: Vec<usize>,
    /// Their next request is held back.
    pub(crate) parked: Vec<usize>,
    pub(crate) epoll: Epoll,
    client: S::Client,
    retry: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<S: Stream> Connections<S> {
    pub fn new(config: &Config, thread: usize, client: S::Client) -> io::Result<Connections<S>> {
        let body_bytes = most_body_bytes(config.load.connections);
        let keeps_headers = config
            .requests
            .iter()
            .any(|request| request.expect.has_headers());
        Ok(Connections {
            all: (0..config.connections_of(thread))
                .map(|_| Conn::new(body_bytes, keeps_headers, config.load.pipeline))
                .collect(),
            idle: Vec::new(),
            parked: Vec::new(),
            epoll: Epoll::new()?,
            client,
            retry: BinaryHeap::new(),
        })
    }

    /// True: it is connected already.
    pub fn open(&mut self, index: usize, dial: &socket::Dial) -> io::Result<bool> {
        self.all[index].open(dial, &self.client, &self.epoll, index)
    }

    /// All of them are used from now on, each a little after the one before it.
    pub fn use_in_order(&mut self, start_ns: u64) {
        self.retry = (0..self.all.len())
            .map(|index| Reverse((start_ns + index as u64 * OPENING_GAP_NS, index)))
            .collect();
    }

    pub fn use_at(&mut self, at_ns: u64, index: usize) {
        self.retry.push(Reverse((at_ns, index)));
    }

    /// When the next one may be used again.
    pub fn next_use_ns(&self) -> Option<u64> {
        self.retry.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// One that may be used again by now.
    pub fn take_due(&mut self, now_ns: u64) -> Option<usize> {
        self.next_use_ns().filter(|at_ns| *at_ns <= now_ns)?;
        self.retry.pop().map(|Reverse((_, index))| index)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;

    use super::*;
    use crate::core::config::NOWHERE;

    /// Each is used again when its time has come, the earliest first.
    #[test]
    fn due_in_order() {
        let json = r#"{"protocol":1,"seed":1,"target":{"host":"127.0.0.1","port":9},
            "load":{"model":"closed","connections":3,"window_s":1},
            "requests":[{"kind":"a","method":"GET","path":"/","expect":{"status":200}}]}"#;
        let config = Config::parse(json, &NOWHERE).unwrap();
        let mut connections = Connections::<OwnedFd>::new(&config, 0, ()).unwrap();
        assert_eq!(
            (connections.all.len(), connections.next_use_ns()),
            (3, None)
        );
        connections.use_in_order(1_000);
        connections.use_at(500, 2);
        assert_eq!(connections.next_use_ns(), Some(500));
        let due: Vec<usize> =
            std::iter::from_fn(|| connections.take_due(1_000 + OPENING_GAP_NS)).collect();
        assert_eq!(due, [2, 0, 1]);
        assert_eq!(connections.next_use_ns(), Some(1_000 + 2 * OPENING_GAP_NS));
    }
}
