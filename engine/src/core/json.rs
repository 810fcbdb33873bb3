//! JSON, read in one pass: nothing is built, and what `serde_json` would refuse is refused.

use std::borrow::Cow;
use std::ops::Range;

/// As deep as `serde_json` reads.
const MOST_DEPTH: usize = 127;
/// A shorter number without an exponent is never beyond an `f64`.
const PLAIN_DIGITS: usize = 300;

/// Why bytes are not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub at: usize,
    pub why: &'static str,
}

/// A scalar, or the beginning of a list or an object.
#[derive(Debug, Clone, Copy)]
pub enum Token<'a> {
    Null,
    Boolean(bool),
    Number(Number<'a>),
    Text(Text<'a>),
    List,
    Object,
}

/// A number as it is written.
#[derive(Debug, Clone, Copy)]
pub struct Number<'a> {
    raw: &'a [u8],
    is_whole: bool,
}

/// A text as it is written between its quotes.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    raw: &'a [u8],
    has_escapes: bool,
}

#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Number<'a> {
    pub fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// The value of a number without fraction and exponent; one of very many digits has none.
    pub fn whole(&self) -> Option<i128> {
        if !self.is_whole {
            return None;
        }
        let (sign, digits) = match self.raw {
            [b'-', digits @ ..] => (-1, digits),
            digits => (1, digits),
        };
        if digits.len() > 18 {
            return digits_of(self.raw).parse().ok();
        }
        let value = digits
            .iter()
            .fold(0, |sum: i64, byte| sum * 10 + i64::from(byte - b'0'));
        Some(i128::from(sign * value))
    }

    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub fn value(&self) -> f64 {
        match self.whole() {
            Some(whole) if self.raw.len() <= 15 => whole as f64,
            _ => digits_of(self.raw).parse().unwrap_or(f64::NAN),
        }
    }
}

/// Digits, signs, points and exponents are ASCII.
fn digits_of(raw: &[u8]) -> &str {
    std::str::from_utf8(raw).unwrap_or_default()
}

impl<'a> Text<'a> {
    pub fn is(&self, text: &[u8]) -> bool {
        match self.has_escapes {
            false => self.raw == text,
            true => self.decoded().as_bytes() == text,
        }
    }

    /// The bytes of a text without escapes.
    pub fn plain(&self) -> Option<&'a [u8]> {
        (!self.has_escapes).then_some(self.raw)
    }

    /// Whether it is the text where no letter has a case.
    pub fn is_in_any_case(&self, text: &str) -> bool {
        if !self.has_escapes && self.raw.is_ascii() && text.is_ascii() {
            return self.raw.eq_ignore_ascii_case(text.as_bytes());
        }
        self.decoded().to_lowercase() == text.to_lowercase()
    }

    pub fn characters(&self) -> usize {
        if self.has_escapes {
            return self.decoded().chars().count();
        }
        let is_first = |byte: &&u8| (**byte as i8) >= -0x40;
        self.raw.iter().filter(is_first).count()
    }

    pub fn decoded(&self) -> Cow<'a, str> {
        let raw = std::str::from_utf8(self.raw).unwrap_or_default();
        if !self.has_escapes {
            return Cow::Borrowed(raw);
        }
        let mut text = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(at) = rest.find('\\') {
            text.push_str(&rest[..at]);
            let (letter, length) = escape(&rest.as_bytes()[at..]).unwrap_or(('?', 2));
            text.push(letter);
            rest = &rest[at + length..];
        }
        text.push_str(rest);
        Cow::Owned(text)
    }
}

/// The character of an escape, and how many bytes it is written with.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let letter = match bytes.get(1)? {
        b'u' => {
            let first = hexadecimal(bytes.get(2..6)?)?;
            if !(0xd800..0xdc00).contains(&first) {
                return Some((char::from_u32(first)?, 6));
            }
            let second = bytes.get(6..12)?.strip_prefix(b"\\u")?;
            let low = hexadecimal(second)?.checked_sub(0xdc00)?;
            let letter = 0x10000 + ((first - 0xd800) << 10) + low;
            return (low < 0x400).then_some((char::from_u32(letter)?, 12));
        }
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        byte @ (b'"' | b'\\' | b'/') => char::from(*byte),
        _ => return None,
    };
    Some((letter, 2))
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, byte| {
        Some(sum * 16 + char::from(*byte).to_digit(16)?)
    })
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            bytes,
            at: 0,
            depth: 0,
        }
    }

    /// Where it is: after the last token, or where `start` found the next one.
    pub fn at(&self) -> usize {
        self.at
    }

    pub fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        &self.bytes[range]
    }

    /// Where the next token begins.
    pub fn start(&mut self) -> usize {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.at
    }

    fn fault<T>(&self, why: &'static str) -> Result<T, Fault> {
        Err(Fault { at: self.at, why })
    }

    /// A scalar is read whole; of a list or an object its bracket alone.
    pub fn token(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.start();
        match self.bytes.get(start) {
            Some(b'"') => Ok(Token::Text(self.text()?)),
            Some(b'-' | b'0'..=b'9') => Ok(Token::Number(self.number()?)),
            Some(b'{') => self.open(Token::Object),
            Some(b'[') => self.open(Token::List),
            Some(b't') => self.word(b"true", Token::Boolean(true)),
            Some(b'f') => self.word(b"false", Token::Boolean(false)),
            Some(b'n') => self.word(b"null", Token::Null),
            Some(_) => self.fault("no value begins"),
            None => self.fault("it ends"),
        }
    }

    fn open(&mut self, token: Token<'a>) -> Result<Token<'a>, Fault> {
        if self.depth == MOST_DEPTH {
            return self.fault("it is too deep");
        }
        self.depth += 1;
        self.at += 1;
        Ok(token)
    }

    fn word(&mut self, word: &[u8], token: Token<'a>) -> Result<Token<'a>, Fault> {
        if !self.bytes[self.at..].starts_with(word) {
            return self.fault("no value begins");
        }
        self.at += word.len();
        Ok(token)
    }

    fn text(&mut self) -> Result<Text<'a>, Fault> {
        self.at += 1;
        let start = self.at;
        let (mut all, mut has_escapes) = (0, false);
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let Some((_, length)) = escape(&self.bytes[self.at..]) else {
                        return self.fault("an escape is none");
                    };
                    has_escapes = true;
                    self.at += length;
                }
                Some(0..0x20) => return self.fault("a text holds a control character"),
                Some(byte) => {
                    all |= byte;
                    self.at += 1;
                }
                None => return self.fault("a text does not end"),
            }
        }
        let raw = &self.bytes[start..self.at];
        if all >= 0x80 && std::str::from_utf8(raw).is_err() {
            return self.fault("a text is not UTF-8");
        }
        self.at += 1;
        Ok(Text { raw, has_escapes })
    }

    fn number(&mut self) -> Result<Number<'a>, Fault> {
        let start = self.at;
        if self.bytes[start] == b'-' {
            self.at += 1;
        }
        let first = self.at;
        self.digits()?;
        if self.bytes[first] == b'0' && self.at > first + 1 {
            return self.fault("a number begins with 0");
        }
        let mut is_whole = true;
        if self.bytes.get(self.at) == Some(&b'.') {
            is_whole = false;
            self.at += 1;
            self.digits()?;
        }
        let mut is_plain = self.at - start < PLAIN_DIGITS;
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            (is_whole, is_plain) = (false, false);
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits()?;
        }
        let raw = &self.bytes[start..self.at];
        if !is_plain && !digits_of(raw).parse::<f64>().is_ok_and(f64::is_finite) {
            return self.fault("a number is out of range");
        }
        Ok(Number { raw, is_whole })
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.bytes.get(self.at) {
            self.at += 1;
        }
        match self.at > start {
            true => Ok(()),
            false => self.fault("a number lacks a digit"),
        }
    }

    /// Whether a list goes on; what follows is then a value. `is_first` is true at its beginning.
    pub fn item(&mut self, is_first: &mut bool) -> Result<bool, Fault> {
        let start = self.start();
        match (self.bytes.get(start), std::mem::take(is_first)) {
            (Some(b']'), _) => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            (Some(_), true) => Ok(true),
            (Some(b','), false) => {
                self.at += 1;
                match self.bytes.get(self.start()) {
                    Some(b']') => self.fault("a comma ends a list"),
                    _ => Ok(true),
                }
            }
            (Some(_), false) => self.fault("a list lacks a comma"),
            (None, _) => self.fault("a list does not end"),
        }
    }

    /// The next key of an object; what follows is then its value. `is_first` is true at its beginning.
    pub fn key(&mut self, is_first: &mut bool) -> Result<Option<Text<'a>>, Fault> {
        let start = self.start();
        match (self.bytes.get(start), std::mem::take(is_first)) {
            (Some(b'}'), _) => {
                self.at += 1;
                self.depth -= 1;
                return Ok(None);
            }
            (Some(_), true) => {}
            (Some(b','), false) => {
                self.at += 1;
                self.start();
            }
            (Some(_), false) => return self.fault("an object lacks a comma"),
            (None, _) => return self.fault("an object does not end"),
        }
        if self.bytes.get(self.at) != Some(&b'"') {
            return self.fault("a key is no text");
        }
        let key = self.text()?;
        let colon = self.start();
        if self.bytes.get(colon) != Some(&b':') {
            return self.fault("a key lacks its colon");
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Reads on to the end of the value that `token` begins.
    pub fn finish(&mut self, token: Token) -> Result<(), Fault> {
        let mut is_first = true;
        match token {
            Token::List => {
                while self.item(&mut is_first)? {
                    self.skip()?;
                }
            }
            Token::Object => {
                while self.key(&mut is_first)?.is_some() {
                    self.skip()?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads over a value: where it stands.
    pub fn skip(&mut self) -> Result<Range<usize>, Fault> {
        let start = self.start();
        let token = self.token()?;
        self.finish(token)?;
        Ok(start..self.at)
    }

    /// Nothing but spaces may follow the value.
    pub fn end(&mut self) -> Result<(), Fault> {
        match self.start() == self.bytes.len() {
            true => Ok(()),
            false => self.fault("more follows its end"),
        }
    }
}

/// Where the value at `path` stands in the next one, which is read whole; parts are keys of objects or places in lists.
pub fn find(reader: &mut Reader, path: &[String]) -> Result<Option<Range<usize>>, Fault> {
    let Some((part, rest)) = path.split_first() else {
        return reader.skip().map(Some);
    };
    let (mut is_first, mut found) = (true, None);
    match reader.token()? {
        Token::Object => {
            while let Some(key) = reader.key(&mut is_first)? {
                match key.is(part.as_bytes()) {
                    true => found = find(reader, rest)?,
                    false => {
                        reader.skip()?;
                    }
                }
            }
        }
        Token::List => {
            let place: Option<usize> = part.parse().ok();
            let mut index = 0;
            while reader.item(&mut is_first)? {
                match place == Some(index) {
                    true => found = find(reader, rest)?,
                    false => {
                        reader.skip()?;
                    }
                }
                index += 1;
            }
        }
        _ => {}
    }
    Ok(found)
}

impl std::fmt::Display for Fault {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{} at byte {}", self.why, self.at)
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
