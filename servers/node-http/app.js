// The routes of the contract, as a listener of node:http.
import { parse } from 'node:querystring'
import { Unavailable } from './store.js'

const INT4_MAX = 2147483647
const DECIMAL = /^-?[0-9]+$/
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const MAX_BODY_BYTES = 65536

// `accounts` is the map from account id to row; `isReady` says whether all workers listen.
export function createApp (store, accounts, isReady) {
  const routes = new Map(Object.entries({
    ...readRoutes(store, isReady),
    ...writeRoutes(store),
    '/lookup': { method: 'POST', answer: lookup(accounts) }
  }))
  return (request, response) => {
    const [path, query] = split(request.url)
    const route = routes.get(path)
    if (route === undefined) return fail(response, 404, 'no such route')
    // The answer to HEAD is that to GET: node leaves out the body.
    if (request.method !== route.method && !(request.method === 'HEAD' && route.method === 'GET')) {
      return fail(response, 405, `this route answers ${route.method}`, { allow: route.method })
    }
    route.answer(request, response, query)
  }
}

function readRoutes (store, isReady) {
  const text = (name, sql) => guarded(async (request, response) => sendText(response, 200, await store.text(name, sql)))
  return {
    '/ready': { method: 'GET', answer: ready(store, isReady) },
    '/ping': { method: 'GET', answer: (request, response) => sendText(response, 200, '{"ok":true,"message":"OK"}') },
    '/time': {
      method: 'GET',
      answer: (request, response) => sendText(response, 200, `{"serverTime":${Math.floor(Date.now() / 1000)}}`)
    },
    '/db/ping': { method: 'GET', answer: text('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text") },
    '/db/time': {
      method: 'GET',
      answer: text('time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")
    },
    '/users': { method: 'GET', answer: users(store) }
  }
}

function writeRoutes (store) {
  return { '/tx': { method: 'POST', answer: tx(store) }, '/transfer': { method: 'POST', answer: transfer(store) } }
}

function ready (store, isReady) {
  return guarded(async (request, response) => {
    if (!isReady()) throw new Unavailable('not all workers listen yet')
    await store.ready()
    response.writeHead(204).end()
  })
}

function users (store) {
  return guarded(async (request, response) => {
    const rows = await store.arrays('users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id')
    sendJson(response, rows.map(([id, username, name, sex, address, mail, birthdate]) =>
      ({ id, username, name, sex, address: caesar(address), mail, birthdate })))
  })
}

function tx (store) {
  return guarded(async (request, response, query) => {
    const parameters = parse(query)
    const values = ['aid', 'tid', 'bid'].map(name => parseId(parameters, name))
    values.push(parseInteger(parameters, 'delta', -INT4_MAX - 1))
    await store.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', values)
    sendText(response, 200, '{"ok":true}')
  })
}

function transfer (store) {
  return guarded(async (request, response, query) => {
    const parameters = parse(query)
    const [from, to, amount] = ['from', 'to', 'amount'].map(name => parseId(parameters, name))
    if (from === to) throw new Refused(400, '`from` and `to` must differ')
    if (!await store.transfer(from, to, amount)) throw new Refused(404, 'no such account')
    sendText(response, 200, '{"ok":true}')
  })
}

function lookup (accounts) {
  return guarded(async (request, response) => {
    const account = accounts.get(parseAccountId(await readBody(request)))
    if (account === undefined) throw new Refused(404, 'no such account')
    sendJson(response, account)
  })
}

class Refused extends Error {
  constructor (status, message) {
    super(message)
    this.status = status
  }
}

function guarded (answer) {
  return (request, response, query) => {
    answer(request, response, query).catch(error => answerError(response, error))
  }
}

function answerError (response, error) {
  if (error instanceof Unavailable) return fail(response, 503, error.message, { 'retry-after': '1' })
  if (!(error instanceof Refused)) return fail(response, 500, 'the database failed')
  // What is left of a body that is too large is not read, so the connection cannot be used again.
  return fail(response, error.status, error.message, error.status === 413 ? { connection: 'close' } : {})
}

// A client that hangs up within its body leaves the promise behind, and the garbage collector takes both.
function readBody (request) {
  return new Promise((resolve, reject) => {
    const chunks = []
    let bytes = 0
    request.on('data', chunk => {
      bytes += chunk.length
      if (bytes > MAX_BODY_BYTES) return reject(new Refused(413, 'the body is larger than 64 KiB'))
      chunks.push(chunk)
    })
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
  })
}

function parseAccountId (body) {
  let value
  try {
    value = JSON.parse(UTF8.decode(body))
  } catch {
    throw new Refused(400, 'the body is not JSON')
  }
  if (typeof value?.account_id !== 'string') throw new Refused(400, '`account_id` must be a string in a JSON object')
  return value.account_id
}

function parseId (parameters, name) {
  return parseInteger(parameters, name, 1)
}

function parseInteger (parameters, name, min) {
  const text = parameters[name]
  if (typeof text !== 'string' || !DECIMAL.test(text)) throw new Refused(400, `\`${name}\` must be a decimal integer`)
  const value = Number(text)
  if (value < min || value > INT4_MAX) throw new Refused(400, `\`${name}\` is out of range`)
  return value
}

function split (url) {
  const mark = url.indexOf('?')
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)]
}

function fail (response, status, message, headers) {
  sendText(response, status, JSON.stringify({ ok: false, message }), headers)
}

function sendJson (response, value) {
  sendText(response, 200, JSON.stringify(value))
}

function sendText (response, status, text, headers) {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...headers
  })
  response.end(text)
}

// The Caesar cipher on UTF-8, whose bytes above 127 are never letters: A–Z and a–z rotated by 14 inside their case.
const ROTATED = Uint8Array.from({ length: 256 }, (_, byte) => {
  const first = byte < 97 ? 65 : 97
  return byte >= first && byte < first + 26 ? first + (byte - first + 14) % 26 : byte
})

function caesar (text) {
  const bytes = Buffer.from(text)
  for (let index = 0; index < bytes.length; index++) bytes[index] = ROTATED[bytes[index]]
  return bytes.toString()
}
