//! What becomes of a request by its whole answer.

use crate::core::config::Config;
use crate::core::expect::Judgement;
use crate::core::http1::Answer;
use crate::core::outcome::Outcome;
use crate::core::sent::Sent;
use crate::load::conn::Held;
use crate::load::counting::Counting;
use crate::sys;

/// What became of a request with a whole answer, and whether its body was compared.
#[inline]
pub fn judge(
    config: &Config,
    counting: &mut Counting,
    held: &Held,
    answer: &Answer,
    extra_bytes: usize,
) -> (Judgement, bool) {
    let kind = held.exchange.kind;
    let request = &config.requests[kind];
    let has_body = request.expect.has_body() && request.expect.is_status(answer.status);
    let checks_body = has_body && config.is_checked(kind, held.exchange.number);
    if extra_bytes > 0 {
        let reason = format!("{extra_bytes} bytes follow the end of the answer");
        let outcome = Outcome::Malformed;
        return (Judgement { outcome, reason }, checks_body);
    }
    let sent = Sent {
        slots: &request.slots,
        values: &held.values,
        kept: held.kept.as_deref(),
    };
    let known = &mut counting.known[kind];
    let unix_now = || sys::unix_us() as f64 / 1e6;
    let judgement = request
        .expect
        .judge(answer, sent, known, checks_body, unix_now);
    if judgement.outcome == Outcome::Ok
        && !request.keep.is_empty()
        && let Err(reason) = counting
            .rings
            .keep(kind, request, &held.values, answer.body)
    {
        let outcome = Outcome::WrongBody;
        return (Judgement { outcome, reason }, checks_body);
    }
    (judgement, checks_body)
}
