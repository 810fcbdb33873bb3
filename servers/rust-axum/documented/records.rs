//! What is read from the database and answered as JSON.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Serialize, Serializer};

/// One object of `/users`.
#[derive(Serialize)]
pub struct User {
    pub id: i32,
    pub username: String,
    pub name: String,
    pub sex: String,
    #[serde(serialize_with = "ciphered")]
    pub address: String,
    pub mail: String,
    #[serde(serialize_with = "with_milliseconds")]
    pub birthdate: DateTime<Utc>,
}

#[derive(Serialize)]
pub struct Account {
    pub account_id: String,
    pub name: String,
    pub email: String,
    pub plan: String,
    pub currency: String,
    pub balance_cents: i64,
    pub active: bool,
    pub created_at: String,
    pub region: String,
    pub note: String,
}

fn with_milliseconds<S: Serializer>(moment: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&moment.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// Each ASCII letter rotated by 14 inside its case.
fn ciphered<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let rotated = |letter: char, first: u8| char::from((letter as u8 - first + 14) % 26 + first);
    let letters = text.chars().map(|letter| match letter {
        'a'..='z' => rotated(letter, b'a'),
        'A'..='Z' => rotated(letter, b'A'),
        other => other,
    });
    serializer.serialize_str(&letters.collect::<String>())
}

/// A record from the columns of a row, of either driver, that have the names of its fields.
macro_rules! read {
    ($row:ident => $record:ident { $($field:ident),* }) => {
        Ok($record { $($field: $row.try_get(stringify!($field))?),* })
    };
}

pub(crate) use read;
