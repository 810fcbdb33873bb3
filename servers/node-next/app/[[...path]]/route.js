// All paths that no other route has.
import { fail } from '../../lib/answers.js'

export const dynamic = 'force-dynamic'

export function GET () {
  return fail(404, 'no such route')
}

export { GET as POST, GET as PUT, GET as PATCH, GET as DELETE, GET as OPTIONS }
