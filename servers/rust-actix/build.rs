//! Hands the receipt to the program: the compiler, and the versions that the lock file pins.

use std::{env, fs, process::Command};

fn main() {
    let rustc = Command::new(env::var("RUSTC").unwrap()).arg("--version").output().unwrap();
    let mut receipt = String::from_utf8(rustc.stdout).unwrap().trim().to_owned();
    let lock = fs::read_to_string("Cargo.lock").unwrap();
    for name in ["actix-web", "sqlx", "tokio-postgres", "deadpool-postgres"] {
        let version =
            lock.split_once(&format!("name = \"{name}\"\nversion = \"")).unwrap().1.split('"').next().unwrap();
        receipt += &format!(", {name} {version}");
    }
    println!("cargo:rustc-env=RECEIPT={receipt}");
    println!("cargo:rerun-if-changed=Cargo.lock");
}
