// The routes of the contract.
import Router from '@koa/router'
import Koa from 'koa'
import getRawBody from 'raw-body'
import { Unavailable } from './store.js'

const INT4_MAX = 2147483647
const DECIMAL = /^-?[0-9]+$/
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const MAX_BODY_BYTES = 65536

// `accounts` is the map from account id to row; `isReady` says whether all workers listen.
export function createApp (store, accounts, isReady) {
  const app = new Koa()
  // Koa would print what `answerErrors` has answered, and every client that hangs up.
  app.silent = true
  const router = new Router()
  readRoutes(router, store, isReady)
  writeRoutes(router, store)
  router.post('/lookup', async ctx => {
    const body = await getRawBody(ctx.req, { length: ctx.length, limit: MAX_BODY_BYTES })
    const account = accounts.get(parseAccountId(ctx, body))
    ctx.assert(account, 404, 'no such account')
    ctx.body = account
  })
  app.use(answerErrors)
  app.use(router.routes())
  return app
}

function readRoutes (router, store, isReady) {
  router.get('/ready', async ctx => {
    if (!isReady()) throw new Unavailable('not all workers listen yet')
    await store.ready()
    ctx.status = 204
  })
  router.get('/ping', ctx => { ctx.body = { ok: true, message: 'OK' } })
  router.get('/time', ctx => { ctx.body = { serverTime: Math.floor(Date.now() / 1000) } })
  router.get('/db/ping', async ctx =>
    sendText(ctx, await store.text('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text")))
  router.get('/db/time', async ctx =>
    sendText(ctx, await store.text('time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")))
  router.get('/users', async ctx => {
    const rows = await store.arrays('users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id')
    ctx.body = rows.map(([id, username, name, sex, address, mail, birthdate]) =>
      ({ id, username, name, sex, address: caesar(address), mail, birthdate }))
  })
}

function writeRoutes (router, store) {
  router.post('/tx', async ctx => {
    const values = ['aid', 'tid', 'bid'].map(name => parseId(ctx, name))
    values.push(parseInteger(ctx, 'delta', -INT4_MAX - 1))
    await store.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', values)
    ctx.body = { ok: true }
  })
  router.post('/transfer', async ctx => {
    const [from, to, amount] = ['from', 'to', 'amount'].map(name => parseId(ctx, name))
    ctx.assert(from !== to, 400, '`from` and `to` must differ')
    ctx.assert(await store.transfer(from, to, amount), 404, 'no such account')
    ctx.body = { ok: true }
  })
}

async function answerErrors (ctx, next) {
  try {
    await next()
    if (ctx.status === 404) fail(ctx, 404, 'no such route')
  } catch (error) {
    if (error instanceof Unavailable) {
      ctx.set('retry-after', '1')
      return fail(ctx, 503, error.message)
    }
    // Refused here, or by the reader of bodies (too large).
    const { status = 500 } = error
    fail(ctx, status, status < 500 ? error.message : 'the database failed')
  }
}

function fail (ctx, status, message) {
  ctx.status = status
  ctx.body = { ok: false, message }
}

// `text` is JSON already.
function sendText (ctx, text) {
  ctx.type = 'json'
  ctx.body = text
}

function parseAccountId (ctx, body) {
  let value
  try {
    value = JSON.parse(UTF8.decode(body))
  } catch {
    ctx.throw(400, 'the body is not JSON')
  }
  ctx.assert(typeof value?.account_id === 'string', 400, '`account_id` must be a string in a JSON object')
  return value.account_id
}

function parseId (ctx, name) {
  return parseInteger(ctx, name, 1)
}

function parseInteger (ctx, name, min) {
  const text = ctx.query[name]
  ctx.assert(typeof text === 'string' && DECIMAL.test(text), 400, `\`${name}\` must be a decimal integer`)
  const value = Number(text)
  ctx.assert(value >= min && value <= INT4_MAX, 400, `\`${name}\` is out of range`)
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
