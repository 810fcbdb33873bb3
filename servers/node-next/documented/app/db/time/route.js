import { jsonText, route } from '../../../answers.js'
import { query } from '../../../database.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../../answers.js'

export const GET = route(async () => {
  const { rows } = await query(
    'time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")
  return jsonText(rows[0].text)
})
