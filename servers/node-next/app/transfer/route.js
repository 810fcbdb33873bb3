import { json, Refused, route } from '../../lib/answers.js'
import { parseId } from '../../lib/parameters.js'
import { service } from '../../lib/service.js'
export { notAllowed as GET, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../lib/answers.js'

export const dynamic = 'force-dynamic'

export const POST = route(async request => {
  const { searchParams } = request.nextUrl
  const [from, to, amount] = ['from', 'to', 'amount'].map(name => parseId(searchParams, name))
  if (from === to) throw new Refused(400, '`from` and `to` must differ')
  if (!await service.store.transfer(from, to, amount)) throw new Refused(404, 'no such account')
  return json({ ok: true })
})
