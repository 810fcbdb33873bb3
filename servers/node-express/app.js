// The routes of the contract.
import express from 'express'
import { Unavailable } from './slots.js'

const JSON_TYPE = 'application/json; charset=utf-8'
const DONE = '{"ok":true}'
const INT4_MAX = 2147483647
const DECIMAL = /^-?[0-9]+$/
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

// `accounts` is the map from account id to row; `isReady` says whether all workers listen.
export function createApp (store, accounts, isReady) {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  // Express tries its routes in their order.
  writeRoutes(app, store)
  readRoutes(app, store, isReady)
  app.post('/lookup', express.raw({ type: () => true, limit: '64kb' }), (request, response) => {
    const account = accounts.get(parseAccountId(request.body))
    if (account === undefined) throw new Refused(404, 'no such account')
    response.json(account)
  })
  app.use((request, response) => fail(response, 404, 'no such route'))
  app.use(answerError)
  return app
}

function readRoutes (app, store, isReady) {
  app.get('/ready', async (request, response) => {
    if (!isReady()) throw new Unavailable('not all workers listen yet')
    await store.ready()
    response.status(204).end()
  })
  app.get('/ping', (request, response) => response.json({ ok: true, message: 'OK' }))
  app.get('/time', (request, response) => response.json({ serverTime: Math.floor(Date.now() / 1000) }))
  app.get('/db/ping', async (request, response) => sendText(response, await store.ping()))
  app.get('/db/time', async (request, response) => sendText(response, await store.time()))
  app.get('/users', async (request, response) => {
    const rows = await store.users()
    response.json(rows.map(([id, username, name, sex, address, mail, birthdate]) =>
      ({ id, username, name, sex, address: caesar(address), mail, birthdate })))
  })
}

function writeRoutes (app, store) {
  app.post('/tx', async (request, response) => {
    // Each look at `request.query` parses it.
    const { query } = request
    const aid = parseId(query, 'aid')
    const tid = parseId(query, 'tid')
    const bid = parseId(query, 'bid')
    await store.tx(aid, tid, bid, parseInteger(query, 'delta', -INT4_MAX - 1))
    sendText(response, DONE)
  })
  app.post('/transfer', async (request, response) => {
    const { query } = request
    const from = parseId(query, 'from')
    const to = parseId(query, 'to')
    const amount = parseId(query, 'amount')
    if (from === to) throw new Refused(400, '`from` and `to` must differ')
    if (!await store.transfer(from, to, amount)) throw new Refused(404, 'no such account')
    sendText(response, DONE)
  })
}

class Refused extends Error {
  constructor (status, message) {
    super(message)
    this.status = status
  }
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

function parseId (query, name) {
  return parseInteger(query, name, 1)
}

function parseInteger (query, name, min) {
  const text = query[name]
  if (typeof text !== 'string' || !DECIMAL.test(text)) throw new Refused(400, `\`${name}\` must be a decimal integer`)
  const value = Number(text)
  if (value < min || value > INT4_MAX) throw new Refused(400, `\`${name}\` is out of range`)
  return value
}

// Express knows a handler of errors by its four parameters.
function answerError (error, request, response, next) {
  if (error instanceof Unavailable) return fail(response.set('retry-after', '1'), 503, error.message)
  // Refused here, or by the reader of bodies (too large, broken compression).
  const { status = 500 } = error
  fail(response, status, status < 500 ? error.message : 'the database failed')
}

function fail (response, status, message) {
  response.status(status).json({ ok: false, message })
}

// `text` is JSON already.
function sendText (response, text) {
  response.set('content-type', JSON_TYPE).send(text)
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
