// The routes of the contract, as Koa's guide and those of its router and its reader of bodies write them.
import { bodyParser } from '@koa/bodyparser'
import Router from '@koa/router'
import Koa from 'koa'
import * as database from './database.js'

const INT4_MAX = 2147483647

export function createApp (accounts, users = database.users) {
  const app = new Koa()
  // Koa would print clients that hang up.
  app.silent = true
  const router = new Router()

  router.get('/ready', async ctx => {
    await database.query('ready', 'SELECT 1')
    ctx.status = 204
  })

  router.get('/ping', ctx => {
    ctx.body = { ok: true, message: 'OK' }
  })

  router.get('/time', ctx => {
    ctx.body = { serverTime: Math.floor(Date.now() / 1000) }
  })

  router.get('/db/ping', async ctx => {
    const { rows } = await database.query('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text")
    ctx.type = 'json'
    ctx.body = rows[0].text
  })

  router.get('/db/time', async ctx => {
    const { rows } = await database.query(
      'time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")
    ctx.type = 'json'
    ctx.body = rows[0].text
  })

  router.get('/users', async ctx => {
    ctx.body = await users()
  })

  router.post('/tx', async ctx => {
    const ids = ['aid', 'tid', 'bid'].map(name => integer(ctx, name, 1))
    await database.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', [...ids, integer(ctx, 'delta', -INT4_MAX - 1)])
    ctx.body = { ok: true }
  })

  router.post('/transfer', async ctx => {
    const [from, to, amount] = ['from', 'to', 'amount'].map(name => integer(ctx, name, 1))
    ctx.assert(from !== to, 400, '`from` and `to` must differ')
    ctx.assert(await database.transfer(from, to, amount), 404, 'no such account')
    ctx.body = { ok: true }
  })

  router.post('/lookup', ctx => {
    const id = ctx.request.body?.account_id
    ctx.assert(typeof id === 'string', 400, '`account_id` must be a string in a JSON object')
    const account = accounts.get(id)
    ctx.assert(account, 404, 'no such account')
    ctx.body = account
  })

  app.use(answerErrors)
  app.use(bodyParser())
  app.use(router.routes())
  app.use(router.allowedMethods({ throw: true }))
  return app
}

// The first middleware, so that it has the errors of all others.
async function answerErrors (ctx, next) {
  try {
    await next()
    if (ctx.status === 404) ctx.throw(404, 'no such route')
  } catch (error) {
    if (error instanceof database.Busy) ctx.set('retry-after', '1')
    ctx.status = error instanceof database.Busy ? 503 : error.status ?? 500
    ctx.body = { ok: false, message: ctx.status === 500 ? 'the database failed' : error.message }
  }
}

function integer (ctx, name, least) {
  const text = ctx.query[name]
  const value = Number(text)
  ctx.assert(/^-?[0-9]+$/.test(text) && value >= least && value <= INT4_MAX, 400, `\`${name}\` must be an integer in range`)
  return value
}
