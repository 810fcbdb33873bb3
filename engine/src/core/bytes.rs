//! A body that is right by its bytes, or by what they hold where they are compressed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::core::coding::Coding;
use crate::core::error::EngineError;
use crate::core::http1::{Answer, MAX_BODY_BYTES};
use crate::core::plan;

/// The content counts: what is compressed anew may have other bytes, such as the time in gzip's header.
#[derive(Debug)]
pub struct Bytes {
    body: Vec<u8>,
    coding: Coding,
    content: Vec<u8>,
}

impl Bytes {
    pub fn compile(plan: &plan::Bytes) -> Result<Bytes, EngineError> {
        let wrong = |why: &str| EngineError::Plan(format!("`expect.body.bytes` {why}"));
        let body = BASE64
            .decode(&plan.base64)
            .map_err(|_| wrong("is not base64"))?;
        let coding = Coding::of(plan.coding.as_deref().map(str::as_bytes));
        let content = match coding {
            // It can be known by its bytes alone.
            Coding::Other => body.clone(),
            _ => coding
                .decode(&body, MAX_BODY_BYTES)
                .map_err(|reason| wrong(&format!("cannot be read: {reason}")))?,
        };
        Ok(Bytes {
            body,
            coding,
            content,
        })
    }

    /// Bytes are compared first, with those that were right before, too: only others are decompressed.
    pub fn wrong(&self, answer: &Answer, known: &mut Vec<u8>) -> Option<String> {
        let (body, found) = (answer.body, Coding::of(answer.content_encoding));
        let is_known = self.body == body || !known.is_empty() && known == body;
        if found == self.coding && is_known {
            return None;
        }
        let wrong = match found.decode(body, self.content.len() + 1) {
            Ok(content) if content == self.content => None,
            Ok(content) => Some(difference(&self.content, &content)),
            Err(reason) => Some(reason),
        };
        if wrong.is_none() && found == self.coding {
            known.clear();
            known.extend_from_slice(body);
        }
        wrong
    }
}

/// Where two bodies part; the reason of a judgement.
pub fn difference(right: &[u8], body: &[u8]) -> String {
    let at = right
        .iter()
        .zip(body)
        .take_while(|(expected, found)| expected == found)
        .count();
    if at == right.len().min(body.len()) && right.len() != body.len() {
        return match right.len() < body.len() {
            true => format!("more than the {} bytes that are right", right.len()),
            false => format!("{} bytes instead of {}", body.len(), right.len()),
        };
    }
    format!("the body differs from byte {at} on")
}

#[cfg(test)]
#[path = "bytes_tests.rs"]
mod tests;
