//! What the answers say about a row.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use sqlx::{Row, postgres::PgRow};

use crate::store::Result;

/// Each byte rotated by 14 inside its case; what is no ASCII letter stays, and so UTF-8 stays UTF-8.
const CAESAR: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            letter @ b'a'..=b'z' => (letter - b'a' + 14) % 26 + b'a',
            letter @ b'A'..=b'Z' => (letter - b'A' + 14) % 26 + b'A',
            other => other,
        };
        byte += 1;
    }
    table
};

/// One object of `/users`; its texts are those of the row, uncopied.
#[derive(Serialize)]
pub struct User<'row> {
    id: i32,
    username: &'row str,
    name: &'row str,
    sex: &'row str,
    address: String,
    mail: &'row str,
    birthdate: String,
}

impl<'row> User<'row> {
    pub fn read(row: &'row PgRow) -> Result<Self> {
        Ok(Self {
            id: row.try_get(0)?,
            username: row.try_get(1)?,
            name: row.try_get(2)?,
            sex: row.try_get(3)?,
            address: caesar(row.try_get(4)?),
            mail: row.try_get(5)?,
            birthdate: row.try_get::<DateTime<Utc>, _>(6)?.to_rfc3339_opts(SecondsFormat::Millis, true),
        })
    }
}

#[derive(Serialize)]
pub struct Account {
    pub account_id: String,
    name: String,
    email: String,
    plan: String,
    currency: String,
    balance_cents: i64,
    active: bool,
    created_at: String,
    region: String,
    note: String,
}

impl Account {
    pub fn read(row: &PgRow) -> Result<Self> {
        Ok(Self {
            account_id: row.try_get(0)?,
            name: row.try_get(1)?,
            email: row.try_get(2)?,
            plan: row.try_get(3)?,
            currency: row.try_get(4)?,
            balance_cents: row.try_get(5)?,
            active: row.try_get(6)?,
            created_at: row.try_get(7)?,
            region: row.try_get(8)?,
            note: row.try_get(9)?,
        })
    }
}

fn caesar(text: &str) -> String {
    let rotated = text.bytes().map(|byte| CAESAR[byte as usize]).collect();
    String::from_utf8(rotated).expect("letters stay ASCII letters")
}
