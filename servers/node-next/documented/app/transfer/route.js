import { HttpError, integer, route } from '../../answers.js'
import { transfer } from '../../database.js'
export { notAllowed as GET, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

export const POST = route(async request => {
  const [from, to, amount] = ['from', 'to', 'amount'].map(name => integer(request, name))
  if (from === to) throw new HttpError(400, '`from` and `to` must differ')
  if (!await transfer(from, to, amount)) throw new HttpError(404, 'no such account')
  return Response.json({ ok: true })
})
