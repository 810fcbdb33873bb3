//! HTTP's dates: `Sun, 06 Nov 1994 08:49:37 GMT`.

pub const LENGTH: usize = 29;

const DAYS: [&[u8]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// The last date that was read: most answers of a second have the same one.
#[derive(Debug)]
pub struct Memory {
    text: [u8; LENGTH],
    unix_s: i64,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory {
            text: *b"Thu, 01 Jan 1970 00:00:00 GMT",
            unix_s: 0,
        }
    }
}

impl Memory {
    /// Seconds since 1970 of a date in RFC 9110's preferred form, or `None`.
    pub fn read(&mut self, text: &[u8]) -> Option<i64> {
        if text != self.text {
            self.unix_s = unix_s(text)?;
            self.text.copy_from_slice(text);
        }
        Some(self.unix_s)
    }
}

fn unix_s(text: &[u8]) -> Option<i64> {
    let text: &[u8; LENGTH] = text.try_into().ok()?;
    let is_mark = |(at, mark): &(usize, u8)| text[*at] == *mark;
    let marks = [
        (3, b','),
        (4, b' '),
        (7, b' '),
        (11, b' '),
        (16, b' '),
        (19, b':'),
        (22, b':'),
    ];
    if !marks.iter().all(is_mark) || &text[25..] != b" GMT" {
        return None;
    }
    let month = MONTHS.iter().position(|name| *name == &text[8..11])? as i64 + 1;
    let [day, year] = [number(&text[5..7])?, number(&text[12..16])?];
    let [hour, minute, second] = [
        number(&text[17..19])?,
        number(&text[20..22])?,
        number(&text[23..25])?,
    ];
    let days = days_since_1970(year, month, day);
    // The 31st of a shorter month is another day, and so is one with a wrong name.
    let is_there = day >= 1 && (month == 12 || days < days_since_1970(year, month + 1, 1));
    let is_named = DAYS[days.rem_euclid(7) as usize] == &text[..3];
    // 60: a leap second.
    let is_time = hour < 24 && minute < 60 && second <= 60;
    (is_there && day <= 31 && is_named && is_time)
        .then_some(days * 86_400 + hour * 3_600 + minute * 60 + second)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, byte| {
        byte.is_ascii_digit()
            .then(|| sum * 10 + i64::from(byte - b'0'))
    })
}

/// Howard Hinnant's `days_from_civil`: years begin in March, so that a leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days of leap years, of centuries, and the ends of months are read; one memory reads one after the other.
    #[test]
    fn reads() {
        let rows: [(&[u8], i64); 6] = [
            (b"Thu, 01 Jan 1970 00:00:00 GMT", 0),
            (b"Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            (b"Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            (b"Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            (b"Thu, 31 Dec 2026 12:00:00 GMT", 1_798_718_400),
            (b"Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ];
        let mut memory = Memory::default();
        for (text, unix_s) in rows.iter().chain(&rows) {
            let shown = String::from_utf8_lossy(text);
            assert_eq!(memory.read(text), Some(*unix_s), "{shown}");
            assert_eq!(memory.read(b"yesterday"), None);
            assert_eq!(memory.read(text), Some(*unix_s), "{shown}");
        }
    }

    /// Other forms, days that are none and a wrong day's name are no dates.
    #[test]
    fn others_are_refused() {
        let rows = [
            "",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994     ",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "sun, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, +6 Nov 1994 08:49:37 GMT",
            "Wed, 30 Feb 2000 00:00:00 GMT",
            "Wed, 00 Mar 2000 00:00:00 GMT",
            "Thu, 01 Mar 2001 00:00:00 GMT ",
        ];
        for text in rows {
            assert_eq!(Memory::default().read(text.as_bytes()), None, "{text}");
        }
    }
}
