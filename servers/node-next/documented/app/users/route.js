import { route } from '../../answers.js'
import { users } from '../../database.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

export const GET = route(async () => Response.json(await users()))
