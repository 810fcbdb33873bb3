//! Content codings: what a compressed body holds.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ruzstd::decoding::StreamingDecoder;

/// Of a body in brotli, so many bytes are read at once.
const BUFFER: usize = 4096;

/// How a body is written; names are those of `content-encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstandard,
    /// One that is not read here, such as `compress`.
    Other,
}

impl Coding {
    pub fn of(header: Option<&[u8]>) -> Coding {
        match header.map(<[u8]>::trim_ascii) {
            None | Some(b"") => Coding::Identity,
            Some(name) if name.eq_ignore_ascii_case(b"identity") => Coding::Identity,
            Some(name) if name.eq_ignore_ascii_case(b"gzip") => Coding::Gzip,
            Some(name) if name.eq_ignore_ascii_case(b"x-gzip") => Coding::Gzip,
            Some(name) if name.eq_ignore_ascii_case(b"deflate") => Coding::Deflate,
            Some(name) if name.eq_ignore_ascii_case(b"br") => Coding::Brotli,
            Some(name) if name.eq_ignore_ascii_case(b"zstd") => Coding::Zstandard,
            Some(_) => Coding::Other,
        }
    }

    /// What a body holds, at most `most` bytes of it; the error is the reason of a judgement.
    pub fn decode(self, body: &[u8], most: usize) -> Result<Vec<u8>, String> {
        let read = match self {
            Coding::Identity => return Ok(body[..body.len().min(most)].to_vec()),
            Coding::Other => return Err("the body has a coding that is not read".to_string()),
            Coding::Gzip => whole(MultiGzDecoder::new(body), most),
            // Some servers send the bare stream under this name, without zlib's frame.
            Coding::Deflate => whole(ZlibDecoder::new(body), most)
                .or_else(|_| whole(DeflateDecoder::new(body), most)),
            Coding::Brotli => whole(Decompressor::new(body, BUFFER), most),
            Coding::Zstandard => StreamingDecoder::new(body)
                .map_err(io::Error::other)
                .and_then(|reader| whole(reader, most)),
        };
        read.map_err(|error| format!("the body cannot be decompressed: {error}"))
    }
}

/// No more than `most` bytes are read: a small body may hold any number.
fn whole(reader: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut found = Vec::new();
    reader.take(most as u64).read_to_end(&mut found)?;
    Ok(found)
}

#[cfg(test)]
#[path = "coding_tests.rs"]
mod tests;
