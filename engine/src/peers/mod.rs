//! Servers of our own, to be measured: one that costs next to nothing, and one that misbehaves as a script says.

pub(crate) mod faulty;
pub(crate) mod null;
mod scripted;
