//! Files of lines for `{file:PATH}`: read once, when the plan is, and never while it runs.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

/// A whole file may hold so much: it lies in memory, as it is and as it is sent.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

pub type Lines = Arc<[String]>;

/// Reads a file; the error is one sentence for a person.
pub fn read(path: &str) -> Result<Lines, String> {
    let failed = |error: std::io::Error| format!("file `{path}` cannot be read: {error}");
    let file = File::open(path).map_err(failed)?;
    // A pipe or a device may never end.
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(format!("file `{path}` is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("file `{path}` is larger than 16 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| format!("file `{path}` is not UTF-8"))?;
    split(&text).map_err(|error| format!("file `{path}`: {error}"))
}

/// The lines of a text, without their ends. There must be one, and none may be empty.
pub fn split(text: &str) -> Result<Lines, String> {
    let lines: Lines = text.lines().map(str::to_string).collect();
    if lines.is_empty() {
        return Err("it has no line".to_string());
    }
    match lines.iter().position(String::is_empty) {
        Some(index) => Err(format!("line {} is empty", index + 1)),
        None => Ok(lines),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines end with or without a carriage return, the last one with or without any end.
    #[test]
    fn splits() {
        for text in ["a b\nü", "a b\nü\n", "a b\r\nü\r\n"] {
            assert_eq!(&*split(text).unwrap(), ["a b", "ü"], "{text:?}");
        }
        assert_eq!(split("").unwrap_err(), "it has no line");
        assert_eq!(split("a\n\nb").unwrap_err(), "line 2 is empty");
    }

    /// What cannot be read, or must not, is named with its reason.
    #[test]
    fn mistakes_have_sentences() {
        let folder = std::env::temp_dir().join(format!("fairload-lines-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, bytes).unwrap();
            path.to_str().unwrap().to_string()
        };
        let large = vec![b'a'; MAX_FILE_BYTES as usize + 1];
        let rows = [
            ("/dev/zero".to_string(), "is no regular file"),
            (file("large", &large), "is larger than 16 MiB"),
            (file("latin", b"\xff"), "is not UTF-8"),
            (
                folder.join("none").to_str().unwrap().to_string(),
                "cannot be read: No such file or directory (os error 2)",
            ),
        ];
        for (path, rest) in rows {
            assert_eq!(read(&path).unwrap_err(), format!("file `{path}` {rest}"));
        }
        let path = file("empty", b"");
        assert_eq!(
            read(&path).unwrap_err(),
            format!("file `{path}`: it has no line")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
