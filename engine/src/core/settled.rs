//! The settled part of a thread's turn: without the burst that begins it and the drain that ends it. Pure.
//!
//! A turn of a closed loop begins with a request on every connection at once, and ends with fewer and fewer under way. Over the
//! whole turn the rate is therefore lower than in a window without breaks, and by more where answers take longer. In the settled
//! part every connection is busy, as it is in such a window.

use serde::Serialize;

/// The good answers of a turn's settled part, and its length; both zero where a turn was too short for one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Settled {
    pub ok: u64,
    pub active_us: u64,
}

/// Counts it. The settled part begins when twice the time has passed in which as many requests ended as there are connections:
/// the burst's own time, and once more, since the requests that follow a burst still come bunched. It ends with the hold.
#[derive(Debug)]
pub struct Settling {
    connections: u64,
    begun_ns: u64,
    ended: u64,
    from_ns: Option<u64>,
    until_ns: Option<u64>,
    ok: u64,
}

impl Settling {
    /// A turn that begins now. No connections (open loop): it has no settled part.
    pub fn new(connections: u64, begun_ns: u64) -> Settling {
        Settling {
            connections,
            begun_ns,
            ended: 0,
            from_ns: None,
            until_ns: None,
            ok: 0,
        }
    }

    pub fn ended(&mut self, ok: bool, at_ns: u64) {
        self.ended += 1;
        if self.until_ns.is_some() {
            return;
        }
        match self.from_ns {
            None if self.ended == self.connections => {
                self.from_ns = Some(at_ns + (at_ns - self.begun_ns));
            }
            Some(from_ns) if at_ns > from_ns => self.ok += u64::from(ok),
            _ => {}
        }
    }

    /// No request is sent from now on.
    pub fn hold(&mut self, at_ns: u64) {
        self.until_ns.get_or_insert(at_ns);
    }

    /// Hands over what was counted. Until the next turn begins there is nothing more to hand over.
    pub fn take(&mut self) -> Settled {
        let turn = std::mem::replace(self, Settling::new(0, 0));
        match (turn.from_ns, turn.until_ns) {
            (Some(from_ns), Some(until_ns)) if until_ns > from_ns => Settled {
                ok: turn.ok,
                active_us: (until_ns - from_ns) / 1000,
            },
            _ => Settled::default(),
        }
    }
}

impl Settled {
    /// Several threads' as one: answers add up, and the time is their mean, so that answers over time add up to the rate of all.
    /// Nothing where one of the threads has no settled part: the others' answers would flatter the time.
    pub fn sum(parts: &[Settled]) -> Settled {
        if parts.is_empty() || parts.iter().any(|one| one.active_us == 0) {
            return Settled::default();
        }
        Settled {
            ok: parts.iter().map(|one| one.ok).sum(),
            active_us: parts.iter().map(|one| one.active_us).sum::<u64>() / parts.len() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn turn(connections: u64, answers_ms: &[u64], hold_ms: u64) -> Settled {
        let mut settling = Settling::new(connections, 100 * MS);
        for &at_ms in answers_ms {
            if at_ms >= hold_ms {
                settling.hold((100 + hold_ms) * MS);
            }
            settling.ended(true, (100 + at_ms) * MS);
        }
        settling.hold((100 + hold_ms) * MS);
        settling.take()
    }

    /// Two connections whose burst takes 4 ms: what is answered after 8 ms and before the hold counts.
    #[test]
    fn neither_burst_nor_drain() {
        let settled = turn(2, &[3, 4, 6, 8, 9, 12, 20, 21], 20);
        let expected = Settled {
            ok: 2,
            active_us: 12_000,
        };
        assert_eq!(settled, expected);
    }

    /// The rate of steady answers is that of the settled part, wherever the hold comes.
    #[test]
    fn its_rate_is_that_of_a_window_without_breaks() {
        let answers: Vec<u64> = (1..200).map(|number| number * 5).collect();
        for hold_ms in [300, 502, 704, 901] {
            let settled = turn(1, &answers, hold_ms);
            let rate = settled.ok as f64 / settled.active_us as f64 * 1e6;
            let one_answer = 1e6 / settled.active_us as f64;
            assert!((rate - 200.0).abs() <= one_answer);
        }
    }

    /// Bad answers take their time and do not count. What was handed over is not handed over again.
    #[test]
    fn good_answers_count_once() {
        let mut settling = Settling::new(1, 0);
        settling.ended(true, MS);
        settling.ended(false, 3 * MS);
        settling.ended(true, 4 * MS);
        settling.hold(5 * MS);
        let settled = settling.take();
        assert_eq!((settled.ok, settled.active_us), (1, 3000));
        assert_eq!(settling.take(), Settled::default());
    }

    /// A turn that ends while its burst is under way has none; nor has an open loop.
    #[test]
    fn too_short_for_one() {
        assert_eq!(turn(3, &[1, 2, 9], 5), Settled::default());
        assert_eq!(turn(2, &[4, 5, 6], 8), Settled::default());
        assert_eq!(turn(0, &[1, 2, 3, 4], 8), Settled::default());
    }

    /// The rates of threads add up, even where their settled parts are of unequal length.
    #[test]
    fn threads() {
        let part = |ok, active_us| Settled { ok, active_us };
        assert_eq!(
            Settled::sum(&[part(90, 900), part(110, 1100)]),
            part(200, 1000)
        );
        assert_eq!(
            Settled::sum(&[part(90, 900), Settled::default()]),
            Settled::default()
        );
        assert_eq!(Settled::sum(&[]), Settled::default());
    }
}
