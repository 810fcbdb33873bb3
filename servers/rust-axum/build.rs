//! The receipt of `--version`: the compiler at work, and the versions that the lock file pins.

use std::{env, fs, process::Command};

const CRATES: [&str; 6] = ["axum", "hyper", "tokio", "sqlx", "tokio-postgres", "deadpool-postgres"];

fn main() {
    let compiler = Command::new(env::var_os("RUSTC").unwrap()).arg("--version").output().unwrap();
    let mut receipt = vec![String::from_utf8(compiler.stdout).unwrap().trim().to_owned()];
    let lock = fs::read_to_string("Cargo.lock").unwrap();
    receipt.extend(CRATES.map(|name| format!("{name} {}", pinned(&lock, name))));
    println!("cargo::rustc-env=RECEIPT={}", receipt.join(", "));
    println!("cargo::rerun-if-changed=Cargo.lock");
}

fn pinned<'a>(lock: &'a str, name: &str) -> &'a str {
    let entry = format!("name = \"{name}\"\nversion = \"");
    lock.split_once(&entry).and_then(|(_, rest)| rest.split('"').next()).expect("the lock file names the crate")
}
