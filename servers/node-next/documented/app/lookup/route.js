import { HttpError, route } from '../../answers.js'
export { notAllowed as GET, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

export const POST = route(async request => {
  const body = await request.json().catch(() => { throw new HttpError(400, 'the body is not JSON') })
  if (typeof body?.account_id !== 'string') throw new HttpError(400, '`account_id` must be a string in a JSON object')
  const account = globalThis.accounts.get(body.account_id)
  if (!account) throw new HttpError(404, 'no such account')
  return Response.json(account)
})
