import { integer, route } from '../../answers.js'
import { query } from '../../database.js'
export { notAllowed as GET, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

const INT4_MIN = -2147483648

export const POST = route(async request => {
  const ids = ['aid', 'tid', 'bid'].map(name => integer(request, name))
  await query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', [...ids, integer(request, 'delta', INT4_MIN)])
  return Response.json({ ok: true })
})
