import { route } from '../../answers.js'
import { query } from '../../database.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

// Each ASCII letter rotated by 14 inside its case: one loop over a text's codes, and one string made of them.
const rotate = (code, first) => (code - first + 14) % 26 + first

function caesar (text) {
  const codes = new Array(text.length)
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const first = code < 97 ? 65 : 97
    codes[index] = code >= first && code < first + 26 ? rotate(code, first) : code
  }
  return String.fromCharCode(...codes)
}

export const GET = route(async () => {
  const { rows } = await query('users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id')
  return Response.json(rows.map(user => ({ ...user, address: caesar(user.address) })))
})
