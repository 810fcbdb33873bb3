use super::*;

const MS: u64 = 1_000_000;

/// A thread that answered at these milliseconds, with requests open all the time; it watched all the time.
fn thread(answers_ms: &[u64], end_ms: u64) -> Silences {
    let mut silences = Silences::default();
    silences.begin(0, 1);
    let mut before_ms = 0;
    for at_ms in answers_ms {
        silences.watched((at_ms - before_ms) * MS);
        silences.ended(at_ms * MS, Outcome::Ok, 1);
        before_ms = *at_ms;
    }
    silences.watched((end_ms - before_ms) * MS);
    silences.end(end_ms * MS);
    silences
}

fn told(silences: &Silences) -> Vec<(u64, u64, u64)> {
    let whole = |gap: &Gap| (gap.start_ns / MS, gap.duration_ns / MS, gap.own_ns / MS);
    silences.gaps().0.iter().map(whole).collect()
}

/// Stretches without an answer are told from the least length on, at both ends of the window too; shorter ones are not.
#[test]
fn gaps_between_answers() {
    let silences = thread(&[19, 39, 58, 258, 259], 300);
    assert_eq!(told(&silences), [(19, 20, 0), (58, 200, 0), (259, 41, 0)]);
    assert_eq!(told(&thread(&[], 3000)), [(0, 3000, 0)]);
    assert_eq!(silences.gaps().1, 3);
}

/// Nothing outside of the window counts.
#[test]
fn only_the_window() {
    let mut silences = Silences::default();
    silences.ended(500 * MS, Outcome::Ok, 1);
    silences.begin(1000 * MS, 4);
    silences.ended(1030 * MS, Outcome::Ok, 3);
    silences.end(1031 * MS);
    silences.ended(2000 * MS, Outcome::Ok, 1);
    assert_eq!(told(&silences), [(1000, 30, 30)]);
}

/// The time in which no request was open is no gap: a rare request is not a slow one.
#[test]
fn nothing_was_asked() {
    let mut silences = Silences::default();
    silences.begin(0, 0);
    silences.sent(990 * MS);
    silences.ended(1000 * MS, Outcome::Ok, 0);
    silences.sent(1900 * MS);
    silences.sent(1950 * MS);
    silences.ended(2000 * MS, Outcome::Ok, 1);
    silences.end(2001 * MS);
    assert_eq!(told(&silences), [(1900, 100, 100)]);
}

/// A request that was given up is no answer. Where none is left a gap ends with it, since the next one begins anew.
#[test]
fn timeouts_are_no_answers() {
    let mut silences = Silences::default();
    silences.begin(0, 2);
    silences.ended(40 * MS, Outcome::Timeout, 1);
    silences.ended(50 * MS, Outcome::Status(500), 1);
    silences.ended(90 * MS, Outcome::Timeout, 0);
    silences.sent(90 * MS);
    silences.ended(120 * MS, Outcome::Reset, 0);
    silences.end(121 * MS);
    let starts: Vec<(u64, u64)> = told(&silences)
        .iter()
        .map(|(at, long, _)| (*at, *long))
        .collect();
    assert_eq!(starts, [(0, 50), (50, 40), (90, 30)]);
}

/// What the thread did not watch is its own: it was busy, or had no processor.
#[test]
fn own_time() {
    let mut silences = Silences::default();
    silences.begin(0, 1);
    silences.watched(5 * MS);
    silences.ended(205 * MS, Outcome::Ok, 1);
    silences.watched(195 * MS);
    silences.ended(405 * MS, Outcome::Ok, 1);
    silences.end(406 * MS);
    assert_eq!(told(&silences), [(0, 205, 200), (205, 200, 5)]);
}

/// Of several threads an answer to any ends a gap; a thread with nothing open does not hide those of the others.
#[test]
fn threads() {
    let mut all = thread(&[10, 110, 150, 400], 410);
    all.merge(&thread(&[60, 140, 350, 405], 410));
    assert_eq!(
        told(&all),
        [
            (10, 50, 0),
            (60, 50, 0),
            (110, 30, 0),
            (150, 200, 0),
            (350, 50, 0)
        ]
    );
    let mut idle = Silences::default();
    idle.begin(0, 0);
    idle.end(410 * MS);
    let mut all = thread(&[10, 110], 120);
    all.merge(&idle);
    assert_eq!(told(&all), [(10, 100, 100)]);
    let mut busy = thread(&(0..400).collect::<Vec<u64>>(), 410);
    busy.merge(&thread(&[], 410));
    assert_eq!(told(&busy), []);
}

/// Of more than can be told the longest are, in their order, and the count is of all.
#[test]
fn the_longest() {
    let (mut at_ms, mut answers) = (0, Vec::new());
    for step in 0..600 {
        at_ms += 20 + step % 30;
        answers.push(at_ms);
    }
    let (told, count) = thread(&answers, at_ms).gaps();
    assert_eq!((told.len(), count), (TOLD, 600));
    assert!(told.iter().all(|gap| gap.duration_ns >= 24 * MS));
    assert!(told.is_sorted_by_key(|gap| gap.start_ns));
}
