//! Servers of our own, to be measured: one that costs next to nothing, and one that misbehaves as a script says. And the wire that puts
//! a distance between two others.

pub(crate) mod faulty;
pub(crate) mod null;
mod scripted;
pub(crate) mod wire;
