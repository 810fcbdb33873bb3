import { json } from '../../answers.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../answers.js'

export const GET = () => json({ serverTime: Math.floor(Date.now() / 1000) })
