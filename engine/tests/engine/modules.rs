//! The engine's modules use each other one way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The modules of the crate that each one names, in imports and in passing, tests left out.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let sources: BTreeMap<String, String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            (name, std::fs::read_to_string(path).unwrap())
        })
        .filter(|(name, _)| !name.ends_with("_tests") && name != "lib" && name != "main")
        .collect();
    let named = |text: &str| -> BTreeSet<String> {
        let code = text.split("#[cfg(test)]\n").next().unwrap();
        let parts = code.split("crate::").skip(1);
        let words = parts.flat_map(|part| {
            let list = part
                .strip_prefix('{')
                .and_then(|rest| rest.split('}').next());
            let of = |word: &str| {
                word.trim()
                    .chars()
                    .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
                    .collect::<String>()
            };
            match list {
                Some(list) => list.split(',').map(of).collect::<Vec<_>>(),
                None => vec![of(part)],
            }
        });
        words.filter(|word| sources.contains_key(word)).collect()
    };
    sources
        .iter()
        .map(|(name, text)| (name.clone(), &named(text) - &BTreeSet::from([name.clone()])))
        .collect()
}

/// The modules can be put in an order in which each uses only those before it.
#[test]
fn no_circles() {
    let mut left = arrows();
    assert!(left.len() > 30 && left["cli"].contains("run") && left["summary"].contains("output"));
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

/// Nothing that is pure asks for the time, for sockets or for files.
#[test]
fn pure_modules_touch_nothing() {
    let arrows = arrows();
    let pure = [
        "clock", "http1", "template", "schedule", "pace", "record", "silence", "turn", "ledger",
        "expect", "script", "tally",
    ];
    for module in pure {
        let uses = &arrows[module];
        let outside = ["sys", "socket", "conn", "run", "worker"];
        assert!(
            outside.iter().all(|name| !uses.contains(*name)),
            "{module}: {uses:?}"
        );
    }
}
