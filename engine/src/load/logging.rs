//! The log of good answers, told at the end of a load: when each was there in wall-clock time, and what its request held.

use crate::core::answers::{Answers, Good};
use crate::core::config::Config;
use crate::load::event::{AnswersEvent, Event};

const ROWS_PER_EVENT: usize = 1000;

/// What leads from monotonic time to wall-clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallClock {
    ahead_ns: u64,
    moved_us: i64,
}

impl WallClock {
    /// The wall clock was so far ahead when the load began, and when it had ended. An answer is never called earlier than it was.
    pub fn between(first_ns: u64, last_ns: u64) -> WallClock {
        WallClock {
            ahead_ns: first_ns.max(last_ns),
            moved_us: (last_ns as i64 - first_ns as i64) / 1000,
        }
    }

    fn unix_us(self, at_ns: u64) -> i64 {
        ((at_ns + self.ahead_ns) / 1000) as i64
    }
}

/// Tells the log, a kind of requests after the other.
pub fn tell(
    config: &Config,
    answers: &Answers,
    clock: WallClock,
    on_event: &mut dyn FnMut(&Event),
) {
    let mut values = Vec::new();
    for (kind, request) in config.requests.iter().enumerate() {
        let Some(logged) = &request.log else { continue };
        let of_kind: Vec<&Good> = answers
            .kept()
            .iter()
            .filter(|good| good.kind as usize == kind)
            .collect();
        for part in of_kind.chunks(ROWS_PER_EVENT) {
            let rows = part.iter().map(|good| {
                request.slots.draw(config.seed, good.number, &mut values);
                let held = logged.iter().map(|&index| values[index]);
                std::iter::once(clock.unix_us(good.at_ns))
                    .chain(held)
                    .collect()
            });
            on_event(&Event::Answers(AnswersEvent {
                kind: request.kind.clone(),
                one_in: answers.one_in(),
                clock_moved_us: clock.moved_us,
                rows: rows.collect(),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::config::Outside;
    use crate::core::error::EngineError;

    fn config() -> Config {
        let request = |kind: &str, log: &str| {
            format!(
                r#"{{"kind":"{kind}","method":"POST","path":"/t?a={{int:1..99}}&b={{int:5..5}}","expect":{{"status":200}}{log}}}"#
            )
        };
        let json = format!(
            r#"{{"protocol":1,"seed":7,"target":{{"host":"127.0.0.1","port":80}},
            "load":{{"model":"closed","connections":1,"warmup_s":0,"window_s":1}},"requests":[{},{}]}}"#,
            request("told", r#","log":["b","a"]"#),
            request("other", ""),
        );
        let outside = Outside {
            lines: &|_| Err(EngineError::File("there are no files here".to_string())),
            resolve: &|target| Ok(format!("{}:{}", target.host, target.port).parse().unwrap()),
            secret: 1,
        };
        Config::parse(&json, &outside).unwrap()
    }

    /// Each answer of a kind that is logged has its moment and the slots that were asked for; other kinds have none.
    #[test]
    fn tells_what_was_asked_for() {
        let config = config();
        let mut answers = Answers::default();
        (0..40).for_each(|number| {
            answers.came(number, config.kind_of(number), 1_000_000 + number * 1000)
        });
        let clock = WallClock::between(2_000_000, 5_000_000);
        let mut rows = Vec::new();
        tell(&config, &answers, clock, &mut |event| {
            let Event::Answers(part) = event else {
                panic!("{event:?}")
            };
            assert_eq!((part.kind.as_str(), part.one_in), ("told", 1));
            assert_eq!(part.clock_moved_us, 3000);
            rows.extend(part.rows.clone());
        });
        let numbers = (0..40).filter(|&number| config.kind_of(number) == 0);
        let expected: Vec<Vec<i64>> = numbers
            .map(|number| {
                let mut values = Vec::new();
                config.requests[0].slots.draw(7, number, &mut values);
                vec![6000 + number as i64, 5, values[0]]
            })
            .collect();
        assert!(!expected.is_empty() && expected.len() < 40);
        assert_eq!(rows, expected);
    }
}
