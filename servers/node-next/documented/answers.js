// Answers in the form of the contract.
import { Busy } from './database.js'

export class HttpError extends Error {
  constructor (status, message) {
    super(message)
    this.status = status
  }
}

// `text` is JSON already.
export const jsonText = text => new Response(text, { headers: { 'content-type': 'application/json' } })

// A route handler whose errors get the contract's object.
export function route (handler) {
  return async request => {
    try {
      return await handler(request)
    } catch (error) {
      if (error instanceof Busy) return Response.json({ ok: false, message: error.message }, { status: 503, headers: { 'retry-after': '1' } })
      const { status = 500 } = error
      return Response.json({ ok: false, message: status < 500 ? error.message : 'the database failed' }, { status })
    }
  }
}

// Next's own 405 has no body.
export const notAllowed = () => Response.json({ ok: false, message: 'this route does not answer this method' }, { status: 405 })

const INT4_MAX = 2147483647

export function integer (request, name, least = 1) {
  const text = request.nextUrl.searchParams.get(name)
  const value = Number(text)
  if (!/^-?[0-9]+$/.test(text) || value < least || value > INT4_MAX) throw new HttpError(400, `\`${name}\` must be an integer in range`)
  return value
}
