import { json, route } from '../../lib/answers.js'
import { parseId, parseInteger } from '../../lib/parameters.js'
import { service } from '../../lib/service.js'
export { notAllowed as GET, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../lib/answers.js'

export const dynamic = 'force-dynamic'

export const POST = route(async request => {
  const { searchParams } = request.nextUrl
  const [aid, tid, bid] = ['aid', 'tid', 'bid'].map(name => parseId(searchParams, name))
  await service.store.tx(aid, tid, bid, parseInteger(searchParams, 'delta'))
  return json({ ok: true })
})
