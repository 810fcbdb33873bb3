use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

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
    assert!(Coding::of(Some(b"br")).decode(b"any", 100).is_err());
}
