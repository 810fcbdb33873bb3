// Answers in the form of the contract.
export class Refused extends Error {
  constructor (status, message) {
    super(message)
    this.status = status
  }
}

// A route handler that answers errors as the contract says.
export function route (handler) {
  return async (request, context) => {
    try {
      return await handler(request, context)
    } catch (error) {
      return answerError(error)
    }
  }
}

// `body` is JSON already.
export function text (body, status = 200, headers) {
  return new Response(body, { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers } })
}

export function json (value) {
  return text(JSON.stringify(value))
}

export function fail (status, message, headers) {
  return text(JSON.stringify({ ok: false, message }), status, headers)
}

// Next's own 405 has no body.
export function notAllowed () {
  return fail(405, 'this route does not answer this method')
}

function answerError (error) {
  const { status = 500 } = error
  if (status === 503) return fail(503, error.message, { 'retry-after': '1' })
  return fail(status, status < 500 ? error.message : 'the database failed')
}
