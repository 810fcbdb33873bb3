// The routes of the contract.
import Fastify from 'fastify'
import { Unavailable } from './store.js'

const JSON_TYPE = 'application/json; charset=utf-8'
const INT4_MAX = 2147483647
const DECIMAL = /^-?[0-9]+$/
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const strings = (...names) => Object.fromEntries(names.map(name => [name, { type: 'string' }]))
const ACCOUNT = {
  type: 'object',
  properties: {
    ...strings('account_id', 'name', 'email', 'plan', 'currency'),
    balance_cents: { type: 'integer' },
    active: { type: 'boolean' },
    ...strings('created_at', 'region', 'note')
  }
}

// `accounts` is the map from account id to row; `isReady` says whether all workers listen.
export function createApp (store, accounts, isReady) {
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: true,
    maxRequestsPerSocket: 0,
    requestTimeout: 0,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    http: { noDelay: true },
    frameworkErrors: (error, request, reply) => fail(reply, error.statusCode ?? 400, error.message)
  })
  // Idle connections are kept: Fastify's own option takes 0 for its default, with which Node sets timers for each answer.
  app.server.keepAliveTimeout = 0
  app.setNotFoundHandler((request, reply) => fail(reply, 404, 'no such route'))
  app.setErrorHandler(answerError)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => done(null, body))
  readRoutes(app, store, isReady)
  writeRoutes(app, store)
  lookupRoute(app, accounts)
  return app
}

function readRoutes (app, store, isReady) {
  app.get('/ready', async (request, reply) => {
    if (!isReady()) throw new Unavailable('not all workers listen yet')
    await store.ready()
    return reply.code(204).send()
  })
  app.get('/ping', (request, reply) => sendText(reply, '{"ok":true,"message":"OK"}'))
  app.get('/time', (request, reply) => sendText(reply, `{"serverTime":${Math.floor(Date.now() / 1000)}}`))
  app.get('/db/ping', async (request, reply) =>
    sendText(reply, await store.text('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text")))
  app.get('/db/time', async (request, reply) =>
    sendText(reply, await store.text('time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")))
  // Without a schema: on many rows of text `JSON.stringify` is the faster one.
  app.get('/users', async () => {
    const rows = await store.arrays('users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id')
    return rows.map(([id, username, name, sex, address, mail, birthdate]) =>
      ({ id, username, name, sex, address: caesar(address), mail, birthdate }))
  })
}

function writeRoutes (app, store) {
  app.post('/tx', { onRequest: ignoreContentType }, async (request, reply) => {
    const { query } = request
    const ids = ['aid', 'tid', 'bid'].map(name => parseId(query, name))
    const values = [...ids, parseInteger(query, 'delta', -INT4_MAX - 1)]
    await store.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', values)
    return sendText(reply, '{"ok":true}')
  })
  app.post('/transfer', { onRequest: ignoreContentType }, async (request, reply) => {
    const { query } = request
    const from = parseId(query, 'from')
    const to = parseId(query, 'to')
    const amount = parseId(query, 'amount')
    if (from === to) throw new BadRequest('`from` and `to` must differ')
    if (!await store.transfer(from, to, amount)) return fail(reply, 404, 'no such account')
    return sendText(reply, '{"ok":true}')
  })
}

function lookupRoute (app, accounts) {
  const options = { onRequest: ignoreContentType, schema: { response: { 200: ACCOUNT } } }
  app.post('/lookup', options, (request, reply) => {
    const id = parseAccountId(request.body)
    const account = accounts.get(id)
    return account === undefined ? fail(reply, 404, 'no such account') : reply.send(account)
  })
}

class BadRequest extends Error {
  statusCode = 400
}

function parseAccountId (body) {
  let value
  try {
    value = JSON.parse(UTF8.decode(body))
  } catch {
    throw new BadRequest('the body is not JSON')
  }
  if (typeof value?.account_id !== 'string') throw new BadRequest('`account_id` must be a string in a JSON object')
  return value.account_id
}

function parseId (query, name) {
  return parseInteger(query, name, 1)
}

function parseInteger (query, name, min) {
  const text = query[name]
  if (typeof text !== 'string' || !DECIMAL.test(text)) throw new BadRequest(`\`${name}\` must be a decimal integer`)
  const value = Number(text)
  if (value < min || value > INT4_MAX) throw new BadRequest(`\`${name}\` is out of range`)
  return value
}

// Every content type is welcome, also one that fastify would refuse with 415 because it is not well formed.
function ignoreContentType (request, reply, done) {
  delete request.raw.headers['content-type']
  done()
}

function answerError (error, request, reply) {
  if (error instanceof Unavailable) return fail(reply.header('retry-after', '1'), 503, error.message)
  const { statusCode = 500 } = error
  return fail(reply, statusCode, statusCode < 500 ? error.message : 'the database failed')
}

function fail (reply, status, message) {
  return sendText(reply.code(status), JSON.stringify({ ok: false, message }))
}

// `text` is JSON already, so no serialiser is run.
function sendText (reply, text) {
  return reply.header('content-type', JSON_TYPE).send(text)
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
