// The routes of the contract.
import Boom from '@hapi/boom'
import Hapi from '@hapi/hapi'
import { Unavailable } from './store.js'

const INT4_MAX = 2147483647
const DECIMAL = /^-?[0-9]+$/
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const MAX_BODY_BYTES = 65536
// Bodies are read by no route but `/lookup`, and by that one whatever their content type.
const UNREAD = { parse: false, output: 'stream', override: 'application/octet-stream' }

// `accounts` is the map from account id to row; `isReady` says whether all workers listen.
export function createApp (listener, store, accounts, isReady) {
  const app = Hapi.server({
    listener,
    autoListen: false,
    compression: false,
    debug: false,
    operations: { cleanStop: false },
    routes: { cache: false, state: { parse: false } }
  })
  // To bytes that are not HTTP hapi would answer a head that says neither its length nor `connection: close`; node says it.
  listener.removeAllListeners('clientError')
  app.route([...readRoutes(store, isReady), ...writeRoutes(store), lookupRoute(accounts)])
  app.ext('onPreResponse', answerErrors)
  return app
}

function readRoutes (store, isReady) {
  const get = (path, handler) => ({ method: 'GET', path, handler })
  return [
    get('/ready', async (request, h) => {
      if (!isReady()) throw new Unavailable('not all workers listen yet')
      await store.ready()
      return h.response().code(204)
    }),
    get('/ping', () => ({ ok: true, message: 'OK' })),
    get('/time', () => ({ serverTime: Math.floor(Date.now() / 1000) })),
    get('/db/ping', async (request, h) =>
      jsonText(h, await store.text('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text"))),
    get('/db/time', async (request, h) =>
      jsonText(h, await store.text('time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text"))),
    get('/users', async () => {
      const rows = await store.arrays('users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id')
      return rows.map(([id, username, name, sex, address, mail, birthdate]) =>
        ({ id, username, name, sex, address: caesar(address), mail, birthdate }))
    })
  ]
}

function writeRoutes (store) {
  const post = (path, handler) => ({ method: 'POST', path, handler, options: { payload: UNREAD } })
  return [
    post('/tx', async ({ query }) => {
      const values = ['aid', 'tid', 'bid'].map(name => parseId(query, name))
      values.push(parseInteger(query, 'delta', -INT4_MAX - 1))
      await store.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', values)
      return { ok: true }
    }),
    post('/transfer', async ({ query }) => {
      const [from, to, amount] = ['from', 'to', 'amount'].map(name => parseId(query, name))
      if (from === to) throw Boom.badRequest('`from` and `to` must differ')
      if (!await store.transfer(from, to, amount)) throw Boom.notFound('no such account')
      return { ok: true }
    })
  ]
}

function lookupRoute (accounts) {
  return {
    method: 'POST',
    path: '/lookup',
    options: { payload: { ...UNREAD, output: 'data', maxBytes: MAX_BODY_BYTES } },
    handler: ({ payload }) => {
      const account = accounts.get(parseAccountId(payload))
      if (account === undefined) throw Boom.notFound('no such account')
      return account
    }
  }
}

// Every error comes by here as a Boom: those thrown above, those of the database, and hapi's own.
function answerErrors (request, h) {
  const { response } = request
  if (!response.isBoom) return h.continue
  if (response instanceof Unavailable) return fail(h, 503, response.message).header('retry-after', '1')
  const { statusCode } = response.output
  return fail(h, statusCode, statusCode < 500 ? response.message : 'the database failed')
}

function fail (h, status, message) {
  return h.response({ ok: false, message }).code(status)
}

// `text` is JSON already.
function jsonText (h, text) {
  return h.response(text).type('application/json')
}

function parseAccountId (body) {
  let value
  try {
    value = JSON.parse(UTF8.decode(body))
  } catch {
    throw Boom.badRequest('the body is not JSON')
  }
  if (typeof value?.account_id !== 'string') throw Boom.badRequest('`account_id` must be a string in a JSON object')
  return value.account_id
}

function parseId (query, name) {
  return parseInteger(query, name, 1)
}

function parseInteger (query, name, min) {
  const text = query[name]
  if (typeof text !== 'string' || !DECIMAL.test(text)) throw Boom.badRequest(`\`${name}\` must be a decimal integer`)
  const value = Number(text)
  if (value < min || value > INT4_MAX) throw Boom.badRequest(`\`${name}\` is out of range`)
  return value
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
