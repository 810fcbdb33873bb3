//! What one thread keeps of its good answers, and who gets it.

use std::sync::Arc;

use crate::core::config::Config;
use crate::core::kept::{Kept, Ring};
use crate::core::random;
use crate::core::request::Request;

/// A ring for each kind of request.
#[derive(Debug)]
pub struct Rings(Vec<Ring>);

impl Rings {
    pub fn new(config: &Config) -> Rings {
        Rings(config.requests.iter().map(|_| Ring::default()).collect())
    }

    /// The kind of request `number`, and the earlier answer that it names. Where there is none yet it is a request of the kind
    /// that fills the ring.
    #[inline]
    pub fn choose(&mut self, config: &Config, number: u64) -> (usize, Option<Arc<Kept>>) {
        let kind = config.kind_of(number);
        match config.requests[kind].draws {
            None => (kind, None),
            Some(_) => self.draw(config, kind, number),
        }
    }

    fn draw(
        &mut self,
        config: &Config,
        mut kind: usize,
        number: u64,
    ) -> (usize, Option<Arc<Kept>>) {
        let bits = random::bits(config.seed, number, random::KEPT);
        while let Some(draws) = config.requests[kind].draws {
            let ring = &mut self.0[draws.kind];
            let found = if draws.once {
                ring.take(bits)
            } else {
                ring.draw(bits)
            };
            if found.is_some() {
                return (kind, found);
            }
            kind = draws.kind;
        }
        (kind, None)
    }

    /// Keeps what a good answer's body holds. The error is the reason why it is not good.
    pub fn keep(
        &mut self,
        kind: usize,
        request: &Request,
        values: &[i64],
        body: &[u8],
    ) -> Result<(), String> {
        if let Some(fields) = request.keep.read(body)? {
            let rows = request.slots.rows(values);
            self.0[kind].push(Kept { fields, rows });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::NOWHERE;

    fn config() -> Config {
        let json = r#"{"protocol":1,"seed":3,"target":{"host":"127.0.0.1","port":9},
            "load":{"model":"closed","connections":1,"window_s":1},
            "data":{"people":{"columns":["person","token"],"rows":[["p1","t1"],["p2","t2"],["p3","t3"]]}},
            "requests":[
            {"kind":"create","weight":0,"method":"POST","path":"/?t={people.token}","expect":{"status":201},"keep":{"id":"id"}},
            {"kind":"done","method":"PUT","path":"/{create.id}?t={people.token}","expect":{"status":200},
                "ledger":[{"name":"l","account":"people.person","add":"1"}]},
            {"kind":"remove","method":"DELETE","path":"/{create.id:once}","expect":{"status":204}}]}"#;
        Config::parse(json, &NOWHERE).unwrap()
    }

    /// A request whose ring is empty is one of the kind that fills it; later ones have that answer and its row.
    #[test]
    fn empty_rings_are_filled() {
        let config = config();
        let mut rings = Rings::new(&config);
        assert!((0..20).all(|number| rings.choose(&config, number) == (0, None)));
        let (create, done) = (&config.requests[0], &config.requests[1]);
        assert!(rings.keep(0, create, &[2], b"{}").is_err());
        let mut values = Vec::new();
        create.slots.draw(3, 0, &mut values);
        values.fill(1);
        rings.keep(0, create, &values, br#"{"id":"a/b"}"#).unwrap();
        let number = (0..).find(|number| config.kind_of(*number) == 1).unwrap();
        let (kind, kept) = rings.choose(&config, number);
        let kept = kept.unwrap();
        assert_eq!((kind, &kept.fields[0][..]), (1, "a/b"));
        done.slots.draw(3, number, &mut values);
        done.slots.follow(&kept, &mut values);
        let (mut body, mut out) = (Vec::new(), Vec::new());
        done.render(&values, Some(&kept), &mut body, &mut out);
        assert!(out.starts_with(b"PUT /a%2Fb?t=t2 HTTP/1.1\r\n"));
        let account = done.ledger[0].account;
        assert_eq!(done.slots.text(account, values[account]), "p2");
    }

    /// What one request takes out no later one is given; while another names it, it stays.
    #[test]
    fn taken_once() {
        let config = config();
        let mut rings = Rings::new(&config);
        let values = [0; 4];
        for id in 0..30 {
            let body = format!("{{\"id\":{id}}}");
            rings
                .keep(0, &config.requests[0], &values, body.as_bytes())
                .unwrap();
        }
        let (mut taken, mut named) = (Vec::new(), 0);
        for number in 0..200 {
            let (kind, kept) = rings.choose(&config, number);
            let id = kept.map(|kept| kept.fields[0].clone());
            match kind {
                0 => assert_eq!((id, taken.len()), (None, 30)),
                1 => named += usize::from(!taken.contains(&id.unwrap())),
                _ => taken.push(id.unwrap()),
            }
        }
        let count = taken.len();
        taken.sort();
        taken.dedup();
        assert_eq!((taken.len(), count), (30, 30));
        assert!(named > 10);
    }
}
