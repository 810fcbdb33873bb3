//! TCP sockets, thinly: made, dialled, read, written, ended.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::sys::{check, own};

const TRIES: usize = 20;

/// Options only make things faster or tell more: who depends on one looks at the result.
fn set_option<T: Copy>(
    fd: &OwnedFd,
    level: libc::c_int,
    name: libc::c_int,
    value: T,
) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is valid for the read of `length` bytes.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
    check(result).map(|_| ())
}

/// An address in the kernel's form, and its length.
fn encode(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: sockaddr_storage is plain bytes, large and aligned enough for both families.
    unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        let length = match address {
            SocketAddr::V4(v4) => {
                let out = &mut *(&raw mut storage).cast::<libc::sockaddr_in>();
                out.sin_family = libc::AF_INET as libc::sa_family_t;
                out.sin_port = v4.port().to_be();
                out.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(v6) => {
                let out = &mut *(&raw mut storage).cast::<libc::sockaddr_in6>();
                out.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                out.sin6_port = v6.port().to_be();
                out.sin6_addr.s6_addr = v6.ip().octets();
                out.sin6_scope_id = v6.scope_id();
                size_of::<libc::sockaddr_in6>()
            }
        };
        (storage, length as libc::socklen_t)
    }
}

fn stream_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    // SAFETY: takes plain numbers.
    own(unsafe {
        libc::socket(
            family,
            libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
            0,
        )
    })
}

/// How a connection is made.
#[derive(Debug, Clone, Copy)]
pub struct Dial {
    pub to: SocketAddr,
    /// The local address; its port is chosen by the kernel at connect.
    pub from: Option<SocketAddr>,
    /// One request and no more: the acknowledgement of the handshake may travel with it.
    pub once: bool,
    /// `receive_stamped` shall tell when the kernel had the bytes.
    pub stamped: bool,
}

/// Begins to connect. True: the connection already stands (usual on loopback).
pub fn connect(dial: &Dial) -> io::Result<(OwnedFd, bool)> {
    let fd = stream_socket(dial.to)?;
    if dial.once {
        let _ = set_option(&fd, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 0);
    } else {
        let _ = set_option(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    }
    if dial.stamped {
        ask_for_stamps(&fd)?;
    }
    if let Some(from) = dial.from {
        let _ = set_option(&fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1);
        let (address, length) = encode(from);
        // SAFETY: `address` holds `length` valid bytes.
        check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) })?;
    }
    let (address, length) = encode(dial.to);
    // SAFETY: as above.
    match check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), length) }) {
        Ok(_) => Ok((fd, true)),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok((fd, false)),
        Err(error) => Err(error),
    }
}

/// The error that a connection attempt ended with, if any.
pub fn take_error(fd: &OwnedFd) -> Option<io::Error> {
    let (mut code, mut length) = (
        0 as libc::c_int,
        size_of::<libc::c_int>() as libc::socklen_t,
    );
    // SAFETY: `code` and `length` are valid for the writes.
    unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut code).cast(),
            &mut length,
        )
    };
    (code != 0).then(|| io::Error::from_raw_os_error(code))
}

/// A system call of its own: the C library's `send` and `recv` are points at which a thread may be cancelled, and each of
/// them pays for that twice, in every request.
pub fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    let nobody = std::ptr::null::<libc::sockaddr>();
    // SAFETY: `bytes` is valid for reads of its length; no address is given.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            fd.as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            nobody,
            0,
        )
    };
    count(sent)
}

pub fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    let nobody = std::ptr::null_mut::<libc::sockaddr>();
    // SAFETY: `buffer` is valid for writes of its length; no address is wanted.
    let received = unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            fd.as_raw_fd(),
            buffer.as_mut_ptr(),
            buffer.len(),
            0,
            nobody,
            std::ptr::null_mut::<libc::socklen_t>(),
        )
    };
    count(received)
}

fn count(result: libc::c_long) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn ask_for_stamps(fd: &OwnedFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    set_option(
        fd,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        flags as libc::c_int,
    )
}

/// Room for one control message with three times, aligned as the kernel writes it.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// As `receive`, with the wall-clock time at which the kernel had the last of the bytes, where it says so.
pub fn receive_stamped(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = Control([0; 128]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: an all-zero msghdr is valid: no name, no parts, no control.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: `message` points to `buffer` and `control`, which are valid for writes of the lengths that it names.
    let received = unsafe { libc::recvmsg(fd.as_raw_fd(), &mut message, 0) };
    if received < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((received as usize, stamp(&message)))
}

fn stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel filled `message`; its control messages are walked as it laid them out, and a time is read only from
    // one that holds three of them.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(message);
        while let Some(header) = next.as_ref() {
            if header.cmsg_level == libc::SOL_SOCKET
                && header.cmsg_type == libc::SCM_TIMESTAMPING
                && header.cmsg_len >= size_of::<[libc::timespec; 3]>()
            {
                let time: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
                let ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
                return (ns > 0).then_some(ns);
            }
            next = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// A connection on which this kernel stamps what TCP receives, tried. The error says why it does not.
///
/// The kernel stamps for all sockets or for none, and turns it on and off a little after it was asked to: hold the
/// connection for as long as stamps are wanted.
pub fn hold_stamps() -> io::Result<OwnedFd> {
    let failed =
        |error: io::Error| io::Error::other(format!("SO_TIMESTAMPING cannot be used: {error}"));
    let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).map_err(failed)?;
    let listener = std::net::TcpListener::from(listener);
    let to = listener.local_addr().map_err(failed)?;
    let dial = Dial {
        to,
        from: None,
        once: false,
        stamped: true,
    };
    let (client, _) = connect(&dial).map_err(failed)?;
    listener.set_nonblocking(false).map_err(failed)?;
    let (mut server, _) = listener.accept().map_err(failed)?;
    for _ in 0..TRIES {
        io::Write::write_all(&mut server, b"x").map_err(failed)?;
        std::thread::sleep(std::time::Duration::from_millis(2));
        if let Ok((1.., Some(_))) = receive_stamped(&client, &mut [0; 64]) {
            return Ok(client);
        }
    }
    Err(io::Error::other(
        "this kernel does not stamp what TCP receives (SO_TIMESTAMPING)",
    ))
}

/// A listener that shares its port with others; the kernel spreads new connections over them.
pub fn listen(address: SocketAddr) -> io::Result<OwnedFd> {
    let fd = stream_socket(address)?;
    let _ = set_option(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1);
    let _ = set_option(&fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1);
    let (encoded, length) = encode(address);
    // SAFETY: `encoded` holds `length` valid bytes.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const encoded).cast(), length) })?;
    check(unsafe { libc::listen(fd.as_raw_fd(), 4096) })?;
    Ok(fd)
}

/// The next connection, not blocking, answers sent at once.
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: null means that the peer's address is not wanted.
    let fd = own(unsafe {
        libc::accept4(
            listener.as_raw_fd(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            flags,
        )
    })?;
    let _ = set_option(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    Ok(fd)
}

/// Says that nothing more will be sent; the other side may still speak.
pub fn end_stream(fd: &OwnedFd) {
    // SAFETY: takes plain numbers.
    unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) };
}

/// Ends a connection without ceremony: the other side gets a reset.
pub fn close_by_reset(fd: OwnedFd) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let _ = set_option(&fd, libc::SOL_SOCKET, libc::SO_LINGER, linger);
    drop(fd);
}
