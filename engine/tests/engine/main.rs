//! The engine from outside: the real binary against scripted servers, and the wire format's golden files.

mod accounts;
mod faults;
mod golden;
mod held;
mod kept;
mod load;
mod modules;
mod pipeline;
mod properties;
mod protocol;
mod qualify;
mod steps;
mod support;
mod terminal;
mod tls;
mod turns;
mod understood;
mod wire;
