//! What a misbehaving server shall do, by the number of the request. Pure: neither clock nor socket.

use serde::Deserialize;

use crate::core::error::EngineError;
use crate::core::random;

/// Draws of service times; no slot of a template has so high a number.
const SERVICE: u64 = u64::MAX - 2;
const CHUNK_BYTES: usize = 2;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// One sentence for people.
    #[serde(default)]
    pub about: String,
    /// For whoever runs a client on this script; the server does not look at it.
    #[serde(default)]
    pub client: Client,
    /// What a request gets that no rule is for.
    #[serde(default)]
    pub answer: Deed,
    /// The first one that is for a request decides.
    #[serde(default, rename = "rule")]
    pub rules: Vec<Deed>,
    pub stall: Option<Stall>,
    pub queue: Option<Queue>,
    /// Connections that are reset as soon as they are accepted, by their number.
    pub refuse: Option<Turns>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Client {
    pub method: String,
    pub connections: usize,
    pub timeout_ms: u64,
    pub keep_alive: bool,
    pub seconds: f64,
}

/// Of each `every` numbers, counted from 0, those from `from` on and before `to`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    pub every: u64,
    #[serde(default)]
    pub from: u64,
    /// Left out: one number only.
    pub to: Option<u64>,
}

/// One answer, or what stands in its place.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Deed {
    pub on: Turns,
    /// What a client that counts exactly must call it; `status/404` for a status.
    pub outcome: String,
    pub status: u16,
    pub body: String,
    pub content_type: String,
    pub headers: Vec<String>,
    pub framing: Framing,
    /// The length that is claimed, where it is not that of the body.
    pub length: Option<usize>,
    /// Answers that precede this one, such as 100.
    pub informational: Vec<u16>,
    /// Sent in place of an answer, as it is.
    pub raw: Option<String>,
    /// Only so many bytes are sent.
    pub cut: Option<usize>,
    pub delay_ms: f64,
    /// The answer is sent in so many pieces, `gap_ms` apart.
    pub pieces: usize,
    pub gap_ms: f64,
    pub then: Then,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    #[default]
    Length,
    Chunked,
    /// The end of the connection ends the body.
    Close,
}

/// What becomes of the connection after the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Then {
    /// Kept, or closed if the request asks for it.
    #[default]
    Keep,
    Close,
    Reset,
    /// Nothing more is sent until the client hangs up.
    Hang,
}

/// All work stops for `for_ms`, `every_s` seconds apart; the first time half of that after the first request.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    pub every_s: f64,
    pub for_ms: f64,
}

/// One request is served after the other, for exponential times with this mean.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    pub mean_us: f64,
    #[serde(default)]
    pub seed: u64,
}

/// How a request wants to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    pub keep_alive: bool,
    /// It is HEAD: its answer ends with the header.
    pub to_head: bool,
}

impl Manner {
    pub const ALL: [Manner; 4] = [
        Manner::new(false, false),
        Manner::new(false, true),
        Manner::new(true, false),
        Manner::new(true, true),
    ];

    pub const fn new(keep_alive: bool, to_head: bool) -> Manner {
        Manner {
            keep_alive,
            to_head,
        }
    }

    /// Its place in `ALL`.
    pub fn index(self) -> usize {
        usize::from(self.keep_alive) * 2 + usize::from(self.to_head)
    }
}

/// One step of a deed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    Wait(u64),
    Send(Vec<u8>),
    End(Then),
}

impl Script {
    /// The error is a sentence for a person.
    pub fn parse(text: &str) -> Result<Script, EngineError> {
        let script: Script = toml::from_str(text).map_err(|error| {
            EngineError::Script(format!(
                "the script cannot be read: {}",
                error.to_string().trim_end()
            ))
        })?;
        for (index, deed) in script.deeds().enumerate() {
            deed.check()
                .map_err(|error| error.within(script.name(index)))?;
        }
        if let Some(turns) = &script.refuse {
            turns.check().map_err(|error| error.within("`refuse`"))?;
        }
        if script.stall.is_some_and(|stall| !stall.is_possible()) {
            return Err(EngineError::Script(
                "`stall` needs `for_ms` above 0 and less than `every_s`".to_string(),
            ));
        }
        if script
            .queue
            .is_some_and(|queue| !(queue.mean_us > 0.0 && queue.mean_us <= 1e9))
        {
            return Err(EngineError::Script(
                "`queue.mean_us` is not above 0 and up to 10^9".to_string(),
            ));
        }
        Ok(script)
    }

    /// All deeds: the rules', then the one for everything else.
    pub fn deeds(&self) -> impl Iterator<Item = &Deed> {
        self.rules.iter().chain([&self.answer])
    }

    /// Which of `deeds` the request with this number gets.
    pub fn deed_of(&self, number: u64) -> usize {
        let rule = self.rules.iter().position(|rule| rule.on.include(number));
        rule.unwrap_or(self.rules.len())
    }

    fn name(&self, deed: usize) -> String {
        if deed < self.rules.len() {
            format!("rule {}", deed + 1)
        } else {
            "`answer`".to_string()
        }
    }
}

impl Turns {
    pub fn include(&self, number: u64) -> bool {
        let turn = number % self.every;
        (self.from..self.to.unwrap_or(self.from + 1)).contains(&turn)
    }

    fn check(&self) -> Result<(), EngineError> {
        let to = self.to.unwrap_or(self.from.saturating_add(1));
        if self.from < to && to <= self.every {
            return Ok(());
        }
        Err(EngineError::Script(format!(
            "turns {} to {to} of each {} are none; write `from` < `to` <= `every`",
            self.from, self.every
        )))
    }
}

impl Stall {
    fn is_possible(self) -> bool {
        self.for_ms > 0.0 && self.for_ms < self.every_s * 1000.0 && self.every_s <= 86_400.0
    }
}

impl Queue {
    /// How long request `number` is served.
    pub fn service_ns(&self, number: u64) -> u64 {
        let unit = random::unit(random::bits(self.seed, number, SERVICE));
        (-unit.ln() * self.mean_us * 1000.0) as u64
    }
}

impl Deed {
    /// The steps of this answer to such a request.
    pub fn acts(&self, manner: Manner) -> Vec<Act> {
        let mut acts = Vec::new();
        let wait = |ms: f64| Act::Wait((ms * 1e6) as u64);
        if self.delay_ms > 0.0 {
            acts.push(wait(self.delay_ms));
        }
        let bytes = self.bytes(manner);
        for piece in 0..self.pieces {
            let (start, end) = (
                bytes.len() * piece / self.pieces,
                bytes.len() * (piece + 1) / self.pieces,
            );
            if piece > 0 && self.gap_ms > 0.0 {
                acts.push(wait(self.gap_ms));
            }
            if start < end {
                acts.push(Act::Send(bytes[start..end].to_vec()));
            }
        }
        let ends =
            self.then == Then::Keep && (!manner.keep_alive || self.framing == Framing::Close);
        acts.push(Act::End(if ends { Then::Close } else { self.then }));
        acts
    }

    fn bytes(&self, manner: Manner) -> Vec<u8> {
        let mut bytes = match &self.raw {
            Some(raw) => raw.clone().into_bytes(),
            None => self.answer(manner).into_bytes(),
        };
        bytes.truncate(self.cut.unwrap_or(usize::MAX));
        bytes
    }

    fn answer(&self, manner: Manner) -> String {
        let mut text = String::new();
        for status in &self.informational {
            text += &format!("HTTP/1.1 {status} {}\r\n\r\n", phrase(*status));
        }
        text += &format!("HTTP/1.1 {} {}\r\n", self.status, phrase(self.status));
        text += &format!("Content-Type: {}\r\n", self.content_type);
        for header in &self.headers {
            text += &format!("{header}\r\n");
        }
        if !self
            .headers
            .iter()
            .any(|header| header.to_ascii_lowercase().starts_with("connection:"))
        {
            let keeps = manner.keep_alive && self.framing != Framing::Close;
            text += if keeps {
                "Connection: keep-alive\r\n"
            } else {
                "Connection: close\r\n"
            };
        }
        match self.framing {
            _ if self.status < 200 || self.status == 204 => {}
            Framing::Length => {
                let length = self.length.unwrap_or(self.body.len());
                text += &format!("Content-Length: {length}\r\n");
            }
            Framing::Chunked => text += "Transfer-Encoding: chunked\r\n",
            Framing::Close => {}
        }
        text += "\r\n";
        match self.framing {
            _ if manner.to_head || self.is_bodyless() => text,
            Framing::Chunked => text + &chunks(&self.body),
            Framing::Length | Framing::Close => text + &self.body,
        }
    }

    /// Whatever its header says, such an answer ends with it.
    fn is_bodyless(&self) -> bool {
        self.status < 200 || self.status == 204 || self.status == 304
    }

    fn check(&self) -> Result<(), EngineError> {
        self.on.check()?;
        let times = [self.delay_ms, self.gap_ms];
        if times.iter().any(|ms| !(0.0..=600_000.0).contains(ms)) {
            return Err(EngineError::Script(
                "a time is not between 0 and 600000 ms".to_string(),
            ));
        }
        if !(1..=10_000).contains(&self.pieces) {
            return Err(EngineError::Script(format!(
                "`pieces` is {}; write 1 to 10000",
                self.pieces
            )));
        }
        if !(100..=999).contains(&self.status) {
            return Err(EngineError::Script(format!(
                "`status` is {}; write 100 to 999",
                self.status
            )));
        }
        if !self.body.is_ascii() || self.raw.as_ref().is_some_and(|raw| !raw.is_ascii()) {
            return Err(EngineError::Script(
                "`body` and `raw` hold more than ASCII".to_string(),
            ));
        }
        Ok(())
    }
}

fn chunks(body: &str) -> String {
    let mut text = String::new();
    for start in (0..body.len()).step_by(CHUNK_BYTES) {
        let chunk = &body[start..body.len().min(start + CHUNK_BYTES)];
        text += &format!("{:x}\r\n{chunk}\r\n", chunk.len());
    }
    text + "0\r\n\r\n"
}

fn phrase(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        103 => "Early Hints",
        200 => "OK",
        503 => "Service Unavailable",
        _ => "Scripted",
    }
}

impl Default for Turns {
    fn default() -> Turns {
        Turns {
            every: 1,
            from: 0,
            to: None,
        }
    }
}

impl Default for Client {
    fn default() -> Client {
        Client {
            method: "GET".to_string(),
            connections: 4,
            timeout_ms: 5000,
            keep_alive: true,
            seconds: 0.3,
        }
    }
}

impl Default for Deed {
    fn default() -> Deed {
        Deed {
            on: Turns::default(),
            outcome: "ok".to_string(),
            status: 200,
            body: "good".to_string(),
            content_type: "text/plain".to_string(),
            headers: Vec::new(),
            framing: Framing::Length,
            length: None,
            informational: Vec::new(),
            raw: None,
            cut: None,
            delay_ms: 0.0,
            pieces: 1,
            gap_ms: 0.0,
            then: Then::Keep,
        }
    }
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
