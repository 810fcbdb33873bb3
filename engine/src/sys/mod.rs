//! The kernel, thinly: clocks, limits, signals, epoll. All `unsafe` code of the crate is here and in `socket`.

pub(crate) mod awake;
pub(crate) mod socket;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

pub(crate) fn own(result: libc::c_int) -> io::Result<OwnedFd> {
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

/// Lets a command have a session of its own, and end with the thread that starts it.
pub fn in_own_session(command: &mut Command) -> &mut Command {
    let settle = || {
        // SAFETY: both calls are safe between fork and exec, and touch no memory.
        check(unsafe { libc::setsid() })?;
        let on_end = libc::SIGKILL as libc::c_ulong;
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, on_end) }).map(drop)
    };
    // SAFETY: see `settle`.
    unsafe { command.pre_exec(settle) }
}

/// Monotonic time.
pub fn now_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// Wall-clock time.
pub fn unix_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME)
}

pub fn unix_us() -> u64 {
    unix_ns() / 1000
}

/// How far wall-clock time is ahead of monotonic time, at most: the least of several looks, each of which may be interrupted
/// between its two clocks.
pub fn unix_ahead_ns() -> u64 {
    let look = |_| {
        let before_ns = now_ns();
        unix_ns() - before_ns
    };
    (0..16).map(look).min().unwrap_or_default()
}

/// CPU time of the calling thread.
pub fn thread_cpu_us() -> u64 {
    thread_cpu_ns() / 1000
}

pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
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

/// The processors that the calling thread may run on.
pub fn allowed_processors() -> io::Result<Vec<usize>> {
    // SAFETY: an all-zero set is valid, and its own size is given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        check(libc::sched_getaffinity(0, size_of_val(&set), &mut set))?;
        set
    };
    // SAFETY: every index is below the set's size.
    let within = |&index: &usize| unsafe { libc::CPU_ISSET(index, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(within).collect())
}

/// Binds the calling thread to one processor and lets all others go before it. Its time is counted as `nice`.
pub fn run_last(processor: usize) -> io::Result<()> {
    // SAFETY: the set and the parameters are valid for the reads; on Linux 0 means the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        check(libc::sched_setaffinity(0, size_of_val(&set), &set))?;
        check(libc::setpriority(libc::PRIO_PROCESS, 0, 19))?;
        let parameters: libc::sched_param = std::mem::zeroed();
        check(libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters))?;
    }
    Ok(())
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

/// What `epoll` hands back: index and generation of a connection.
pub fn token(index: usize, generation: u32) -> u64 {
    (u64::from(generation) << 32) | index as u64
}

pub fn from_token(token: u64) -> (usize, u32) {
    ((token & 0xffff_ffff) as usize, (token >> 32) as u32)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Index and generation survive the way through `epoll`.
    #[test]
    fn tokens() {
        for pair in [(0, 0), (99_999, 7), (1, u32::MAX)] {
            assert_eq!(from_token(token(pair.0, pair.1)), pair);
        }
    }
}
