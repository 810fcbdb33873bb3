import { json } from '../../lib/answers.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../lib/answers.js'

export const dynamic = 'force-dynamic'

export function GET () {
  return json({ serverTime: Math.floor(Date.now() / 1000) })
}
