//! Keeping processors awake: threads that run only where nothing else wants to.
//!
//! A hypervisor takes an idle processor away from its virtual machine and gives it back late when the neighbours are busy: what
//! is then measured is the host's queue (it shows as steal), not the server. A processor that never idles is never taken for
//! that reason. The kernel's `idle=poll` does the same, but needs a boot.

use std::io;
use std::sync::mpsc::channel;

use crate::sys;

/// Starts one thread for each processor that we may use; returns how many once all of them have the lowest priority.
pub fn start() -> io::Result<usize> {
    let processors = sys::allowed_processors()?;
    let (sender, receiver) = channel();
    for &processor in &processors {
        let settled = sender.clone();
        std::thread::Builder::new()
            .name("awake".to_string())
            .spawn(move || {
                let outcome = sys::run_last(processor);
                let last = outcome.is_ok();
                let _ = settled.send(outcome);
                if last {
                    loop {
                        std::hint::spin_loop();
                    }
                }
            })?;
    }
    for _ in &processors {
        receiver.recv().expect("every thread says how it went")?;
    }
    Ok(processors.len())
}
