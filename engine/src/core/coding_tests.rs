use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

/// The line of `decodes`, as other programs compress it.
const BROTLI: &[u8] = &[
    27, 27, 0, 248, 141, 211, 101, 246, 211, 9, 109, 13, 194, 226, 246, 38, 203, 210, 216, 98, 168,
    80, 0, 14, 23, 1,
];
/// The same with less effort.
const BROTLI_FAST: &[u8] = &[
    139, 13, 128, 111, 110, 101, 32, 108, 105, 110, 101, 44, 32, 111, 110, 101, 32, 108, 105, 110,
    101, 44, 32, 111, 110, 101, 32, 108, 105, 110, 101, 3,
];
/// The same, with a checksum and a length.
const ZSTANDARD: &[u8] = &[
    40, 181, 47, 253, 4, 88, 133, 0, 0, 80, 111, 110, 101, 32, 108, 105, 110, 101, 44, 32, 1, 0,
    245, 10, 18, 228, 72, 24, 14,
];
/// The same as a stream: its frame says no length.
const ZSTANDARD_STREAM: &[u8] = &[
    40, 181, 47, 253, 0, 88, 133, 0, 0, 80, 111, 110, 101, 32, 108, 105, 110, 101, 44, 32, 1, 0,
    245, 10, 18,
];

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Each coding gives the text back; `deflate` with zlib's frame and without it.
#[test]
fn decodes() {
    let text = b"one line, one line, one line";
    let mut framed = ZlibEncoder::new(Vec::new(), Compression::best());
    framed.write_all(text).unwrap();
    let mut bare = DeflateEncoder::new(Vec::new(), Compression::best());
    bare.write_all(text).unwrap();
    let bodies = [
        (None, text.to_vec()),
        (Some(&b"GZip "[..]), gzip(text)),
        (Some(b"deflate"), framed.finish().unwrap()),
        (Some(b"deflate"), bare.finish().unwrap()),
        (Some(b"br"), BROTLI.to_vec()),
        (Some(b"BR"), BROTLI_FAST.to_vec()),
        (Some(b"zstd"), ZSTANDARD.to_vec()),
        (Some(b"zstd"), ZSTANDARD_STREAM.to_vec()),
    ];
    for (header, body) in bodies {
        assert_eq!(Coding::of(header).decode(&body, 1000).unwrap(), text);
    }
}

/// What ends early, is spoiled or is of another coding is an error; no more is read than is asked for.
#[test]
fn spoiled() {
    let text = [b'x'; 10_000];
    let mut body = gzip(&text);
    assert_eq!(Coding::Gzip.decode(&body, 100).unwrap().len(), 100);
    assert!(
        Coding::Gzip
            .decode(&body[..body.len() - 4], 20_000)
            .is_err()
    );
    let last = body.len() - 6;
    body[last] ^= 1;
    assert!(Coding::Gzip.decode(&body, 20_000).is_err());
    assert!(Coding::Deflate.decode(b"no stream", 100).is_err());
    assert!(Coding::of(Some(b"compress")).decode(b"any", 100).is_err());
    for (coding, body) in [(Coding::Brotli, BROTLI), (Coding::Zstandard, ZSTANDARD)] {
        assert_eq!(coding.decode(body, 8).unwrap(), b"one line");
        for length in 0..body.len() {
            assert_ne!(
                coding.decode(&body[..length], 100).ok().as_deref(),
                Some(&b"one line, one line, one line"[..]),
                "{coding:?} of {length} bytes"
            );
        }
        assert!(coding.decode(b"no stream", 100).is_err());
    }
}
