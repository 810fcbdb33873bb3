//! The kernel, thinly: clocks, epoll, sockets, signals. All `unsafe` code of the crate is here.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn own(result: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: the kernel just returned this descriptor and nothing else owns it.
    check(result).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for the write; all clocks asked for exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Monotonic time.
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Wall-clock time.
pub fn unix_us() -> u64 {
    clock_ns(libc::CLOCK_REALTIME) / 1000
}

/// CPU time of the calling thread.
pub fn thread_cpu_us() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID) / 1000
}

/// Time that the calling thread was ready to run but had no core, where the kernel tells.
pub fn thread_run_queue_us() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace()
        .nth(1)?
        .parse::<u64>()
        .ok()
        .map(|ns| ns / 1000)
}

/// CPU time of the whole process: user, system.
pub fn process_cpu_us() -> (u64, u64) {
    // SAFETY: an all-zero rusage is valid, and getrusage fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    (us(usage.ru_utime), us(usage.ru_stime))
}

/// Wakes of this thread come when they are due, not up to 50 µs later.
pub fn precise_timers() {
    // SAFETY: takes plain numbers and only affects the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Raises the limit of open files to `wanted` if the hard limit allows; returns the limit that holds.
pub fn raise_open_files(wanted: u64) -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for reads and writes.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        if limit.rlim_cur < wanted {
            limit.rlim_cur = wanted.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
    limit.rlim_cur
}

fn termination_signals() -> libc::sigset_t {
    // SAFETY: an all-zero set is valid memory, and is then initialised.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigaddset(&mut set, libc::SIGTERM);
        set
    }
}

/// Blocks SIGINT and SIGTERM in this thread and in all that it starts, so that `wait_for_termination` gets them.
pub fn block_termination() {
    // SAFETY: the set is initialised.
    unsafe {
        libc::pthread_sigmask(
            libc::SIG_BLOCK,
            &termination_signals(),
            std::ptr::null_mut(),
        )
    };
}

pub fn wait_for_termination() {
    let mut signal = 0;
    // SAFETY: the set is initialised and `signal` is valid for the write.
    unsafe { libc::sigwait(&termination_signals(), &mut signal) };
}

pub type Event = libc::epoll_event;

pub const READABLE: u32 = libc::EPOLLIN as u32;
pub const WRITABLE: u32 = libc::EPOLLOUT as u32;
/// The other side has sent everything, or the connection is broken.
pub const GONE: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
pub const BROKEN: u32 = (libc::EPOLLHUP | libc::EPOLLERR) as u32;
/// Registered once per connection; edge-triggered, so that no later `epoll_ctl` is needed.
pub const ALL_EDGES: u32 =
    (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
pub const READ_EDGES: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32;

pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: takes plain numbers.
        own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Epoll)
    }

    pub fn add(&self, fd: RawFd, events: u32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: `event` is valid for the read.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) })
            .map(|_| ())
    }

    /// Waits at most `timeout_ns`; returns how many of `events` were filled. A signal counts as none.
    pub fn wait(&self, events: &mut [Event], timeout_ns: u64) -> usize {
        let fd = self.0.as_raw_fd();
        let room = events.len() as libc::c_int;
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `events` and `timeout` outlive the call; the null signal mask means none.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                fd,
                events.as_mut_ptr(),
                room,
                &timeout,
                std::ptr::null::<libc::sigset_t>(),
                8,
            )
        };
        if ready >= 0 {
            return ready as usize;
        }
        if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
            return 0;
        }
        // Kernels before 5.11 and some sandboxes lack epoll_pwait2: milliseconds it is, rounded up so as not to spin.
        // SAFETY: as above.
        let ready = unsafe {
            libc::epoll_wait(
                fd,
                events.as_mut_ptr(),
                room,
                timeout_ns.div_ceil(1_000_000).min(60_000) as libc::c_int,
            )
        };
        ready.max(0) as usize
    }
}

/// Wakes a thread out of `Epoll::wait`.
pub struct Waker(OwnedFd);

impl Waker {
    pub fn new() -> io::Result<Waker> {
        // SAFETY: takes plain numbers.
        own(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) }).map(Waker)
    }

    pub fn wake(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes are read from `one`. A full counter means that the thread is woken anyway.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), 8) };
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn set_option(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: libc::c_int) {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `value` is valid for the read of `length` bytes.
    unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            length,
        )
    };
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
}

/// Begins to connect. True: the connection already stands (usual on loopback).
pub fn connect(dial: &Dial) -> io::Result<(OwnedFd, bool)> {
    let fd = stream_socket(dial.to)?;
    if dial.once {
        set_option(&fd, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 0);
    } else {
        set_option(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
    }
    if let Some(from) = dial.from {
        set_option(&fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1);
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

pub fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is valid for reads of its length.
    let sent = unsafe {
        libc::send(
            fd.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(sent as usize)
    }
}

pub fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: `buffer` is valid for writes of its length.
    let received =
        unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    if received < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(received as usize)
    }
}

/// A listener that shares its port with others; the kernel spreads new connections over them.
pub fn listen(address: SocketAddr) -> io::Result<OwnedFd> {
    let fd = stream_socket(address)?;
    set_option(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1);
    set_option(&fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1);
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
    set_option(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
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
    let length = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: `linger` is valid for the read of `length` bytes.
    unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            length,
        )
    };
    drop(fd);
}
