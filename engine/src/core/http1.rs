//! HTTP/1.1 answers, as bytes. Pure: no clock, no socket, and it may be fed split anywhere.

use std::mem::MaybeUninit;
use std::ops::Range;

pub const MAX_HEAD_BYTES: usize = 32 * 1024;
pub const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;
/// What the bodies of all connections may hold together: a server may send without end on each.
const HELD_BYTES: usize = 256 * 1024 * 1024;
const LEAST_BODY_BYTES: usize = 256 * 1024;
const MAX_HEADERS: usize = 128;
const MAX_CHUNK_LINE_BYTES: usize = 4 * 1024;
/// A chunk of one byte takes six.
const MOST_WIRE_PER_BODY: usize = 8;
const HEAD_TOO_LONG: &str = "the header is longer than 32 KiB";
const BODY_TOO_LONG: &str =
    "the body is longer than 16 MiB, or than one connection's share of 256 MiB";
const NO_CHUNK_SIZE: &str = "a chunk's size is not a hexadecimal number";
const CHUNK_LINE_TOO_LONG: &str = "a chunk's size line is too long";
const CHUNKS_TOO_LONG: &str = "the chunks take more than 8 times the longest body";
const TRAILERS_TOO_LONG: &str = "the trailers are longer than 32 KiB";

/// What is known after some more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    More,
    Done,
    Bad(&'static str),
}

/// One whole answer, in the bytes that it arrived in.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    pub status: u16,
    pub content_type: Option<&'a [u8]>,
    pub content_encoding: Option<&'a [u8]>,
    /// None, unless `Progress::with_headers` asked for them.
    pub headers: Headers<'a>,
    pub body: &'a [u8],
    /// The server will not answer again on this connection.
    pub close: bool,
    /// Bytes that follow the answer although nothing more was asked.
    pub extra_bytes: usize,
}

/// The headers of a whole answer, in their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    places: &'a [Place],
}

/// Where a header's name and value stand.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    name: Range<usize>,
    value: Range<usize>,
}

impl<'a> Headers<'a> {
    /// The values of all headers of this name, whatever its case.
    pub fn named(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let is_named = move |place: &&Place| {
            place.name.len() == name.len()
                && self.bytes[place.name.clone()].eq_ignore_ascii_case(name.as_bytes())
        };
        let value = move |place: &'a Place| &self.bytes[place.value.clone()];
        self.places.iter().filter(is_named).map(value)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

#[derive(Debug)]
struct Head {
    status: u16,
    content_type: Option<Range<usize>>,
    content_encoding: Option<Range<usize>>,
    framing: Framing,
    close: bool,
    body_start: usize,
}

/// How far one answer has been read. Feed `step` all bytes since the request each time; it remembers where it was.
#[derive(Debug)]
pub struct Progress {
    most_body_bytes: usize,
    keeps_headers: bool,
    headers: Vec<Place>,
    head: Option<Head>,
    head_start: usize,
    chunk_start: usize,
    in_trailers: bool,
    decoded: Vec<u8>,
    end: usize,
}

/// The longest body that one of so many connections reads.
pub fn most_body_bytes(connections: usize) -> usize {
    (HELD_BYTES / connections.max(1)).clamp(LEAST_BODY_BYTES, MAX_BODY_BYTES)
}

impl Default for Progress {
    fn default() -> Progress {
        Progress::new(MAX_BODY_BYTES)
    }
}

impl Progress {
    /// A longer body than `most_body_bytes` is `Bad`, and read no further.
    pub fn new(most_body_bytes: usize) -> Progress {
        Progress {
            most_body_bytes,
            keeps_headers: false,
            headers: Vec::new(),
            head: None,
            head_start: 0,
            chunk_start: 0,
            in_trailers: false,
            decoded: Vec::new(),
            end: 0,
        }
    }

    /// Whether answers tell all of their headers.
    pub fn with_headers(self, keeps_headers: bool) -> Progress {
        Progress {
            keeps_headers,
            ..self
        }
    }

    /// Ready for the next answer; keeps its memory.
    pub fn reset(&mut self) {
        self.head = None;
        self.head_start = 0;
        self.in_trailers = false;
        self.decoded.clear();
    }

    /// `bytes`: everything received since the request; `to_head`: the request was HEAD; `ended`: no more will come.
    pub fn step(&mut self, bytes: &[u8], to_head: bool, ended: bool) -> Step {
        while self.head.is_none() {
            let places = self.keeps_headers.then_some(&mut self.headers);
            match parse_head(&bytes[self.head_start..], to_head, places) {
                Ok(Some(head)) if head.body_start > MAX_HEAD_BYTES => {
                    return Step::Bad(HEAD_TOO_LONG);
                }
                Ok(Some(mut head)) => {
                    shift(&mut head, &mut self.headers, self.head_start);
                    if head.status < 200 {
                        if head.status < 100 {
                            return Step::Bad("a status below 100");
                        }
                        if head.status == 101 {
                            return Step::Bad("status 101 to a request that asked for no upgrade");
                        }
                        self.head_start = head.body_start;
                        if self.head_start > MAX_HEAD_BYTES {
                            return Step::Bad("interim answers without end");
                        }
                        continue;
                    }
                    self.chunk_start = head.body_start;
                    self.head = Some(head);
                }
                Ok(None) if bytes.len() - self.head_start > MAX_HEAD_BYTES => {
                    return Step::Bad(HEAD_TOO_LONG);
                }
                Ok(None) => return Step::More,
                Err(reason) => return Step::Bad(reason),
            }
        }
        let Some(head) = &self.head else {
            return Step::More;
        };
        let body_start = head.body_start;
        match head.framing {
            Framing::Length(length) if length > self.most_body_bytes => Step::Bad(BODY_TOO_LONG),
            Framing::Length(length) if bytes.len() - body_start >= length => {
                self.end = body_start + length;
                Step::Done
            }
            Framing::Length(_) => Step::More,
            Framing::Chunked => self.step_chunks(bytes, body_start),
            Framing::UntilClose if bytes.len() - body_start > self.most_body_bytes => {
                Step::Bad(BODY_TOO_LONG)
            }
            Framing::UntilClose if ended => {
                self.end = bytes.len();
                Step::Done
            }
            Framing::UntilClose => Step::More,
        }
    }

    fn step_chunks(&mut self, bytes: &[u8], body_start: usize) -> Step {
        let most_bytes = MOST_WIRE_PER_BODY * self.most_body_bytes + MAX_HEAD_BYTES;
        while !self.in_trailers {
            let rest = &bytes[self.chunk_start..];
            // To `httparse` a line without a size is one of 0.
            if rest.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) {
                return Step::Bad(NO_CHUNK_SIZE);
            }
            let (line, size) = match httparse::parse_chunk_size(rest) {
                Ok(httparse::Status::Complete((line, _))) if line > MAX_CHUNK_LINE_BYTES => {
                    return Step::Bad(CHUNK_LINE_TOO_LONG);
                }
                Ok(httparse::Status::Complete((line, size))) => (line, size as usize),
                Ok(httparse::Status::Partial) if rest.len() > MAX_CHUNK_LINE_BYTES => {
                    return Step::Bad(CHUNK_LINE_TOO_LONG);
                }
                Ok(httparse::Status::Partial) => return Step::More,
                Err(_) => return Step::Bad(NO_CHUNK_SIZE),
            };
            if size > self.most_body_bytes || self.decoded.len() + size > self.most_body_bytes {
                return Step::Bad(BODY_TOO_LONG);
            }
            if size == 0 {
                self.chunk_start += line;
                self.in_trailers = true;
                break;
            }
            if rest.len() < line + size + 2 {
                return Step::More;
            }
            if &rest[line + size..line + size + 2] != b"\r\n" {
                return Step::Bad("a chunk is longer than its size says");
            }
            self.decoded.extend_from_slice(&rest[line..line + size]);
            self.chunk_start += line + size + 2;
            if self.chunk_start - body_start > most_bytes {
                return Step::Bad(CHUNKS_TOO_LONG);
            }
        }
        if bytes[self.chunk_start..].starts_with(b"\r\n") {
            self.end = self.chunk_start + 2;
            return Step::Done;
        }
        self.step_trailers(bytes)
    }

    /// Most answers have none, and need no room for them.
    #[cold]
    #[inline(never)]
    fn step_trailers(&mut self, bytes: &[u8]) -> Step {
        let rest = &bytes[self.chunk_start..];
        let mut trailers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        match httparse::parse_headers(rest, &mut trailers) {
            Ok(httparse::Status::Complete((length, _))) if length <= MAX_HEAD_BYTES => {
                self.end = self.chunk_start + length;
                Step::Done
            }
            Ok(httparse::Status::Partial) if rest.len() <= MAX_HEAD_BYTES => Step::More,
            Ok(_) => Step::Bad(TRAILERS_TOO_LONG),
            Err(_) => Step::Bad("the trailers are not HTTP, or more than 128"),
        }
    }

    /// The answer, after `step` said `Done` for the same `bytes`.
    #[inline(always)]
    pub fn answer<'a>(&'a self, bytes: &'a [u8]) -> Answer<'a> {
        let head = self.head.as_ref().expect("`answer` is called after `Done`");
        let body = match head.framing {
            Framing::Chunked => &self.decoded[..],
            Framing::Length(_) | Framing::UntilClose => &bytes[head.body_start..self.end],
        };
        Answer {
            status: head.status,
            content_type: head.content_type.clone().map(|range| &bytes[range]),
            content_encoding: head.content_encoding.clone().map(|range| &bytes[range]),
            headers: Headers {
                bytes,
                places: &self.headers,
            },
            body,
            close: head.close || head.framing == Framing::UntilClose,
            extra_bytes: bytes.len() - self.end,
        }
    }

    /// Where the answer ends, after `step` said `Done`.
    pub fn end(&self) -> usize {
        self.end
    }

    /// The status, once a whole header has been read.
    pub fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|head| head.status)
    }
}

fn shift(head: &mut Head, headers: &mut [Place], by: usize) {
    if by == 0 {
        return;
    }
    head.body_start += by;
    for field in [&mut head.content_type, &mut head.content_encoding] {
        *field = field.take().map(|range| range.start + by..range.end + by);
    }
    for Place { name, value } in headers {
        *name = name.start + by..name.end + by;
        *value = value.start + by..value.end + by;
    }
}

/// `places`: where its headers stand, if that is asked for.
fn parse_head(
    bytes: &[u8],
    to_head: bool,
    places: Option<&mut Vec<Place>>,
) -> Result<Option<Head>, &'static str> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    );
    let body_start = match parsed {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(reason(error)),
    };
    let status = response.code.ok_or("the status line has no status")?;
    let mut fields = Fields {
        keep_alive: response.version == Some(1),
        ..Fields::default()
    };
    for header in response.headers.iter() {
        fields.read(header, bytes)?;
    }
    if let Some(places) = places {
        places.clear();
        places.extend(response.headers.iter().map(|header| Place {
            name: place(header.name.as_bytes(), bytes),
            value: place(header.value, bytes),
        }));
    }
    let framing = fields.framing(status, to_head)?;
    Ok(Some(Head {
        status,
        content_type: fields.content_type,
        content_encoding: fields.content_encoding,
        framing,
        close: fields.close | !fields.keep_alive,
        body_start,
    }))
}

#[derive(Default)]
struct Fields {
    length: Option<usize>,
    chunked: bool,
    /// Stands above `keep_alive`, whichever comes first.
    close: bool,
    keep_alive: bool,
    content_type: Option<Range<usize>>,
    content_encoding: Option<Range<usize>>,
}

impl Fields {
    /// Names are told apart by length first: most headers are none of ours.
    fn read(&mut self, header: &httparse::Header, bytes: &[u8]) -> Result<(), &'static str> {
        let (name, value) = (header.name, header.value);
        match name.len() {
            10 if name.eq_ignore_ascii_case("connection") => {
                for token in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                    if token.eq_ignore_ascii_case(b"close") {
                        self.close = true;
                    } else if token.eq_ignore_ascii_case(b"keep-alive") {
                        self.keep_alive = true;
                    }
                }
            }
            12 if name.eq_ignore_ascii_case("content-type") => {
                self.content_type = Some(place(value, bytes));
            }
            16 if name.eq_ignore_ascii_case("content-encoding") => {
                self.content_encoding = Some(place(value, bytes));
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = parse_length(value).ok_or("`content-length` is not a number")?;
                if self.length.is_some_and(|other| other != length) {
                    return Err("two different `content-length`");
                }
                self.length = Some(length);
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if !value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err("`transfer-encoding` is not `chunked`");
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn framing(&self, status: u16, to_head: bool) -> Result<Framing, &'static str> {
        if to_head || status < 200 || status == 204 || status == 304 {
            return Ok(Framing::Length(0));
        }
        match (self.chunked, self.length) {
            (true, Some(_)) => Err("both `content-length` and `transfer-encoding`"),
            (true, None) => Ok(Framing::Chunked),
            (false, Some(length)) => Ok(Framing::Length(length)),
            (false, None) => Ok(Framing::UntilClose),
        }
    }
}

/// Where a value stands in the bytes that it is a part of.
fn place(value: &[u8], bytes: &[u8]) -> Range<usize> {
    let start = value.as_ptr() as usize - bytes.as_ptr() as usize;
    start..start + value.len()
}

fn parse_length(value: &[u8]) -> Option<usize> {
    let digits = value.trim_ascii();
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0usize, |sum, byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + usize::from(byte - b'0'))
    })
}

fn reason(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::TooManyHeaders => "more than 128 headers",
        httparse::Error::Version => "the answer does not start with `HTTP/1.1` or `HTTP/1.0`",
        httparse::Error::Status => "the status line is not HTTP",
        _ => "a header is not HTTP",
    }
}

#[cfg(test)]
#[path = "http1_tests.rs"]
mod tests;
