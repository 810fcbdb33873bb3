import { json, Refused, route } from '../../lib/answers.js'
import { service } from '../../lib/service.js'
export { notAllowed as GET, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../lib/answers.js'

export const dynamic = 'force-dynamic'

export const POST = route(async request => {
  const body = await request.json().catch(() => { throw new Refused(400, 'the body is not JSON') })
  if (typeof body?.account_id !== 'string') throw new Refused(400, '`account_id` must be a string in a JSON object')
  const account = service.accounts.get(body.account_id)
  if (account === undefined) throw new Refused(404, 'no such account')
  return json(account)
})
