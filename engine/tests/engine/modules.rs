//! The engine's modules use each other one way, and so do its folders.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What the modules of a folder may use, beside each other.
const MAY_USE: [(&str, &[&str]); 5] = [
    ("core", &[]),
    ("sys", &[]),
    ("load", &["core", "sys"]),
    ("peers", &["core", "sys"]),
    ("cli", &["core", "load", "peers", "sys"]),
];

/// The machine: what no pure module may name.
const OUTSIDE: [&str; 13] = [
    "libc",
    "std::env",
    "std::fs",
    "std::os",
    "std::process",
    "std::thread",
    "std::time",
    "ToSocketAddrs",
    "TcpListener",
    "TcpStream",
    "RandomState",
    "std::io::std",
    "println!",
];

type Arrows = BTreeMap<String, BTreeSet<String>>;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .collect()
}

/// Every module in a folder of the crate, `core::clock` or `sys`, with its code; tests are left out.
fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    for path in files(&root) {
        let place = path.strip_prefix(&root).unwrap().with_extension("");
        let name = place.to_str().unwrap().replace('/', "::");
        let name = name.strip_suffix("::mod").unwrap_or(&name).to_string();
        if !name.ends_with("_tests") && name != "lib" && name != "main" {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\n").next().unwrap();
            found.insert(name, code.to_string());
        }
    }
    found
}

/// The paths behind each `crate::`, in imports and in passing: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in code.split("crate::").skip(1) {
        unfold(part, "", &mut found);
    }
    found
}

/// Adds the paths that a tree of imports begins with, and returns what is left of the text behind it.
fn unfold<'a>(text: &'a str, before: &str, found: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        while !rest.trim_start().starts_with('}') {
            rest = unfold(rest, before, found).trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        return &rest.trim_start()[1..];
    }
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let end = text
        .find(|letter| !is_name(letter))
        .unwrap_or(text.len())
        .max(1);
    let (name, rest) = text.split_at(end);
    let path = format!("{before}{name}");
    match rest.strip_prefix("::") {
        Some(rest) => unfold(rest, &format!("{path}::"), found),
        None => {
            found.push(path);
            rest.split_once([',', '}', ';', '\n'])
                .map_or("", |(ended, _)| &rest[ended.len()..])
        }
    }
}

/// The modules that each one names. A path is of the longest module that it begins with.
fn arrows(sources: &BTreeMap<String, String>) -> Arrows {
    let module_of = |path: String| {
        let mut path = path.as_str();
        loop {
            if sources.contains_key(path) {
                return Some(path.to_string());
            }
            path = path.rsplit_once("::")?.0;
        }
    };
    sources
        .iter()
        .map(|(name, code)| {
            let mut uses: BTreeSet<String> =
                paths(code).into_iter().filter_map(module_of).collect();
            uses.remove(name);
            (name.clone(), uses)
        })
        .collect()
}

fn folder(module: &str) -> &str {
    module.split("::").next().unwrap()
}

/// Arrows between folders that the table does not have.
fn turned_back(arrows: &Arrows) -> Vec<String> {
    let allowed = |from: &str, to: &str| {
        let row = MAY_USE.iter().find(|(name, _)| *name == from);
        from == to || row.is_some_and(|(_, others)| others.contains(&to))
    };
    let all = arrows
        .iter()
        .flat_map(|(name, uses)| uses.iter().map(move |other| (name, other)));
    all.filter(|(name, other)| !allowed(folder(name), folder(other)))
        .map(|(name, other)| format!("{name} uses {other}"))
        .collect()
}

/// Every way to write an import is read, and what is named in passing.
#[test]
fn imports_are_read() {
    let rows = [
        ("use crate::core::clock::Clock;", vec!["core::clock::Clock"]),
        (
            "use crate::{core::{self as c, http1::{Step, Answer as A}}, sys};",
            vec![
                "core::self",
                "core::http1::Step",
                "core::http1::Answer",
                "sys",
            ],
        ),
        ("let now = crate::sys::now_ns() + 1;", vec!["sys::now_ns"]),
        ("use std::sync::Arc;", vec![]),
    ];
    for (code, expected) in rows {
        assert_eq!(paths(code), expected, "{code}");
    }
}

/// Folders use each other as the table says; an arrow that turns back is seen.
#[test]
fn folders_use_each_other_one_way() {
    let mut sources = sources();
    let tabled: BTreeSet<&str> = MAY_USE.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<&str> = sources.keys().map(|name| folder(name)).collect();
    assert_eq!(found, tabled);
    assert_eq!(turned_back(&arrows(&sources)), Vec::<String>::new());
    let code = sources.get_mut("core::clock").unwrap();
    code.push_str("use crate::{load::conn, sys};");
    let back = ["core::clock uses load::conn", "core::clock uses sys"];
    assert_eq!(turned_back(&arrows(&sources)), back);
}

/// The modules can be put in an order in which each uses only those before it. None is named from its neighbour.
#[test]
fn no_circles() {
    let sources = sources();
    let beside = sources.iter().filter(|(_, code)| code.contains("super::"));
    assert_eq!(
        beside.map(|(name, _)| name).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    let mut left = arrows(&sources);
    assert!(left.len() > 40 && left["cli"].contains("load::run"));
    let mut known = BTreeSet::new();
    while !left.is_empty() {
        let next: Vec<String> = left
            .iter()
            .filter(|(_, uses)| uses.is_subset(&known))
            .map(|(name, _)| name.clone())
            .collect();
        assert!(!next.is_empty(), "a circle among {left:?}");
        left.retain(|name, _| !next.contains(name));
        known.extend(next);
    }
}

/// Nothing in `core` asks for the time, for files, for sockets or for chance.
#[test]
fn core_touches_nothing() {
    let sources = sources();
    let pure: Vec<_> = sources
        .iter()
        .filter(|(name, _)| folder(name) == "core")
        .collect();
    assert!(pure.len() > 20);
    for (name, code) in pure {
        let named: Vec<_> = OUTSIDE.iter().filter(|word| code.contains(*word)).collect();
        assert!(named.is_empty(), "{name}: {named:?}");
    }
}
