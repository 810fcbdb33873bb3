// `GET /users` as the author of the benchmark with the Caesar cipher wrote it: an object of a class for each row, and his loop.
import './choices.js'
import { query } from '../documented/database.js'

class User {
  constructor (row) {
    this.id = row.id
    this.username = row.username
    this.name = row.name
    this.sex = row.sex
    this.address = row.address
    this.mail = row.mail
    this.birthdate = row.birthdate.toISOString()
  }
}

// One letter after the other into a buffer. His shift leaves the letters, and the contract's stays in them; his buffer has a byte for
// each character, and the contract's towns have an Å.
function cipher (text) {
  const bytes = Buffer.from(text)
  for (let index = 0; index < bytes.length; index++) {
    const code = bytes[index]
    if (code >= 97 && code <= 122) bytes[index] = (code - 97 + 14) % 26 + 97
    else if (code >= 65 && code <= 90) bytes[index] = (code - 65 + 14) % 26 + 65
  }
  return bytes.toString()
}

export async function users () {
  const { rows } = await query('users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id')
  return rows.map(row => {
    row.address = cipher(row.address)
    return new User(row)
  })
}
