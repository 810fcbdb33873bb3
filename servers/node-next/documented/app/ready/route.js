import { route } from '../../answers.js'
import { query } from '../../database.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

export const GET = route(async () => {
  await query('ready', 'SELECT 1')
  return new Response(null, { status: 204 })
})
