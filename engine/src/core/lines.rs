//! The lines of a file for `{file:PATH}`.

use crate::core::error::EngineError;
use std::sync::Arc;

pub type Lines = Arc<[String]>;

/// The text of a file, without the byte order mark that some editors put before it.
pub fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The lines of a text, without their ends. There must be one, and none may be empty.
pub fn split(text: &str) -> Result<Lines, EngineError> {
    let lines: Lines = unmarked(text).lines().map(str::to_string).collect();
    if lines.is_empty() {
        return Err(EngineError::File("it has no line".to_string()));
    }
    match lines.iter().position(String::is_empty) {
        Some(index) => Err(EngineError::File(format!("line {} is empty", index + 1))),
        None => Ok(lines),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines end with or without a carriage return, the last one with or without any end.
    #[test]
    fn splits() {
        for text in ["a b\nü", "a b\nü\n", "a b\r\nü\r\n", "\u{feff}a b\nü"] {
            assert_eq!(&*split(text).unwrap(), ["a b", "ü"], "{text:?}");
        }
        assert_eq!(split("").unwrap_err().to_string(), "it has no line");
        assert_eq!(split("a\n\nb").unwrap_err().to_string(), "line 2 is empty");
    }
}
