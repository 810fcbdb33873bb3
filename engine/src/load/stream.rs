//! What carries a connection's bytes: a socket alone, or TLS over one (`tls`).
//!
//! The load loop is compiled once for each kind, and a load has one kind: plain HTTP sends and reads without a branch or a
//! pointer for TLS.

use std::io;
use std::os::fd::OwnedFd;

use crate::sys::socket;

pub trait Stream: Send + Sized + 'static {
    /// What all connections of a load share.
    type Client: Clone + Send + 'static;

    /// Whether a handshake precedes the first request, and records the bytes.
    const IS_TLS: bool;

    fn over(socket: OwnedFd, client: &Self::Client) -> io::Result<Self>;

    fn socket(&self) -> &OwnedFd;

    /// Goes on with what precedes the first request. True: it is done.
    fn shake_hands(&mut self) -> io::Result<bool>;

    /// The version and the cipher that a handshake ended with.
    fn agreed(&self) -> Option<(String, String)>;

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Sends what `send` took and the socket had no room for.
    fn push(&mut self) -> io::Result<()>;

    fn is_pushed(&self) -> bool;

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// As `receive`, with the wall-clock time at which the kernel had the bytes, where it says so.
    fn receive_stamped(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)>;

    /// Whether what came between two answers was TLS's own, such as a ticket, and the connection can still be used.
    fn is_quiet(&mut self) -> bool;

    /// Whether the server has said that it sends no more.
    fn has_ended(&self) -> bool;
}

impl Stream for OwnedFd {
    type Client = ();

    const IS_TLS: bool = false;

    fn over(socket: OwnedFd, (): &()) -> io::Result<OwnedFd> {
        Ok(socket)
    }

    fn socket(&self) -> &OwnedFd {
        self
    }

    fn shake_hands(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn agreed(&self) -> Option<(String, String)> {
        None
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        socket::send(self, bytes)
    }

    fn push(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_pushed(&self) -> bool {
        true
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        socket::receive(self, buffer)
    }

    fn receive_stamped(&mut self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        socket::receive_stamped(self, buffer)
    }

    fn is_quiet(&mut self) -> bool {
        false
    }

    fn has_ended(&self) -> bool {
        false
    }
}
