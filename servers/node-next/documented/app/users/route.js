import { json, route } from '../../answers.js'
import { query } from '../../database.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
const rotate = (letter, first) => String.fromCharCode((letter.charCodeAt(0) - first + 14) % 26 + first)
const caesar = text => text.replace(/[A-Za-z]/g, letter => rotate(letter, UPPER.includes(letter) ? 65 : 97))

export const GET = route(async () => {
  const { rows } = await query('users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id')
  return json(rows.map(user => ({ ...user, address: caesar(user.address) })))
})
