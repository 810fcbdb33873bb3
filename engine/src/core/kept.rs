//! What is kept of good answers, for later requests to name.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::core::data::is_name;
use crate::core::error::EngineError;
use crate::core::json::{self, Reader, Token};
use crate::core::random;

/// So many good answers of a kind are remembered by each thread.
const MOST: usize = 1_000;
/// What is kept is sent again: it must fit a request's header.
const MOST_BYTES: usize = 4 * 1024;

/// What was kept of one answer, by the order of its names, and the rows of data that it was asked with.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub fields: Vec<String>,
    pub rows: Vec<(String, i64)>,
}

/// Where an answer's body has what is to be kept, in the order of the names.
#[derive(Debug, Default)]
pub struct Keep(Vec<Place>);

/// A place in a body: `list.0.id`. One that `may_lack` is written `next?`.
#[derive(Debug)]
struct Place {
    path: Vec<String>,
    may_lack: bool,
}

/// The last answers of one kind.
#[derive(Debug, Default)]
pub struct Ring(VecDeque<Arc<Kept>>);

impl Keep {
    pub fn compile(plan: &BTreeMap<String, String>) -> Result<Keep, EngineError> {
        let compile = |(name, path): (&String, &String)| {
            let (place, may_lack) = match path.strip_suffix('?') {
                Some(place) => (place, true),
                None => (path.as_str(), false),
            };
            let parts: Vec<String> = place.split('.').map(str::to_string).collect();
            if !is_name(name) || parts.iter().any(String::is_empty) {
                return Err(EngineError::Plan(format!(
                    "`keep`: `{name}` = `{path}`; write a name and a place such as `id`, `list.0.id` or `next?`"
                )));
            }
            Ok(Place {
                path: parts,
                may_lack,
            })
        };
        let places = plan.iter().map(compile).collect::<Result<_, _>>()?;
        Ok(Keep(places))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a good answer's body holds, or the reason why it is not good. `None`: it lacks what it may lack.
    pub fn read(&self, body: &[u8]) -> Result<Option<Vec<String>>, String> {
        self.0.iter().map(|place| read(body, place)).collect()
    }
}

fn read(body: &[u8], place: &Place) -> Result<Option<String>, String> {
    let mut reader = Reader::new(body);
    let found = json::find(&mut reader, &place.path)
        .and_then(|found| reader.end().map(|()| found))
        .map_err(|fault| format!("the body is not JSON: {fault}"))?;
    let field = place.path.join(".");
    let found = match found {
        Some(found) => found,
        None if place.may_lack => return Ok(None),
        None => return Err(format!("field `{field}` is missing, and is to be kept")),
    };
    let value = match Reader::new(&body[found]).token() {
        Ok(Token::Null) if place.may_lack => return Ok(None),
        Ok(Token::Number(number)) => String::from_utf8_lossy(number.raw()).into_owned(),
        Ok(Token::Text(text)) => text.decoded().into_owned(),
        _ => {
            return Err(format!(
                "field `{field}` is no text and no number, and is to be kept"
            ));
        }
    };
    // It will stand in a header, or in a line of a log.
    if value.len() > MOST_BYTES || value.contains(|letter: char| letter.is_control()) {
        return Err(format!(
            "field `{field}` is to be kept, and has a control character or more than {MOST_BYTES} bytes"
        ));
    }
    Ok(Some(value))
}

impl Ring {
    pub fn push(&mut self, kept: Kept) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Arc::new(kept));
    }

    /// One of them, by the bits; `None`: there is none.
    pub fn draw(&self, bits: u64) -> Option<Arc<Kept>> {
        let index = random::below(bits, self.0.len() as u64) as usize;
        self.0.get(index).cloned()
    }

    /// One that no request under way names, taken out for good.
    pub fn take(&mut self, bits: u64) -> Option<Arc<Kept>> {
        let count = self.0.len();
        let first = random::below(bits, count as u64) as usize;
        let is_free = |index: &usize| Arc::strong_count(&self.0[*index]) == 1;
        let index = (first..count).chain(0..first).find(is_free)?;
        self.0.swap_remove_back(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(keep: &str, body: &str) -> Result<Option<Vec<String>>, String> {
        let keep = Keep::compile(&serde_json::from_str(keep).unwrap()).unwrap();
        keep.read(body.as_bytes())
    }

    /// Texts and numbers at any place are kept, in the order of their names.
    #[test]
    fn reads_places() {
        let body = r#"{"id":7,"a":{"b":"x\u0079"},"list":[{"id":1},{"id":2.50}],"id":8}"#;
        let keep = r#"{"z":"id","b":"a.b","c":"list.1.id"}"#;
        assert_eq!(read_all(keep, body).unwrap().unwrap(), ["xy", "2.50", "8"]);
    }

    /// The last page names no next one, and an empty queue no job: nothing is kept of such an answer.
    #[test]
    fn what_may_lack_is_not_kept() {
        for body in [r#"{"next":null,"id":1}"#, r#"{"id":1}"#] {
            assert_eq!(read_all(r#"{"cursor":"next?","id":"id"}"#, body), Ok(None));
        }
        let whole = r#"{"next":"b","id":1}"#;
        let kept = read_all(r#"{"cursor":"next?","id":"id"}"#, whole);
        assert_eq!(kept.unwrap().unwrap(), ["b", "1"]);
        assert!(read_all(r#"{"cursor":"next?"}"#, r#"{"next":[]}"#).is_err());
        assert!(read_all(r#"{"id":"id"}"#, r#"{"id":null}"#).is_err());
    }

    /// An answer that lacks what is to be kept says so.
    #[test]
    fn what_lacks_is_named() {
        let rows = [
            (r#"{}"#, "field `a.0` is missing, and is to be kept"),
            (r#"{"a":[]}"#, "field `a.0` is missing, and is to be kept"),
            (
                r#"{"a":[null]}"#,
                "field `a.0` is no text and no number, and is to be kept",
            ),
            (
                r#"{"a":["\n"]}"#,
                "field `a.0` is to be kept, and has a control character or more than 4096 bytes",
            ),
            (
                r#"{"a":[1]"#,
                "the body is not JSON: an object does not end at byte 8",
            ),
            (
                r#"{"a":[1]} x"#,
                "the body is not JSON: more follows its end at byte 10",
            ),
        ];
        for (body, reason) in rows {
            assert_eq!(read_all(r#"{"n":"a.0"}"#, body).unwrap_err(), reason);
        }
        for keep in [
            r#"{"a b":"id"}"#,
            r#"{"a":""}"#,
            r#"{"a":"b..c"}"#,
            r#"{"a":"?"}"#,
        ] {
            let found = Keep::compile(&serde_json::from_str(keep).unwrap()).unwrap_err();
            assert!(found.to_string().starts_with("`keep`: "), "{found}");
        }
    }

    fn kept(id: usize) -> Kept {
        Kept {
            fields: vec![id.to_string()],
            rows: Vec::new(),
        }
    }

    /// The last ones are there, each may be drawn, and what is taken is there no more.
    #[test]
    fn the_last_are_drawn() {
        let mut ring = Ring::default();
        assert_eq!((ring.draw(5), ring.take(5)), (None, None));
        (0..MOST + 500).for_each(|id| ring.push(kept(id)));
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..20_000 {
            let drawn = ring.draw(random::bits(1, number, 0)).unwrap();
            seen.insert(drawn.fields[0].parse::<usize>().unwrap());
        }
        assert_eq!(
            seen.into_iter().collect::<Vec<_>>(),
            (500..MOST + 500).collect::<Vec<_>>()
        );
        let mut taken = std::collections::BTreeSet::new();
        while let Some(one) = ring.take(random::bits(2, taken.len() as u64, 0)) {
            assert!(taken.insert(one.fields[0].clone()));
        }
        assert_eq!(taken.len(), MOST);
    }

    /// What another request names is not taken away from it.
    #[test]
    fn what_is_in_use_stays() {
        let mut ring = Ring::default();
        ring.push(kept(1));
        ring.push(kept(2));
        let in_use = ring.draw(0).unwrap();
        let taken = ring.take(0).unwrap();
        assert_ne!(taken, in_use);
        assert_eq!(ring.take(0), None);
        drop(in_use);
        assert!(ring.take(0).is_some() && ring.draw(0).is_none());
    }
}
