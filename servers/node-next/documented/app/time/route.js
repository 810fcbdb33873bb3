export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

export const GET = () => Response.json({ serverTime: Math.floor(Date.now() / 1000) })
