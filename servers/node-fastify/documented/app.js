// The routes of the contract, as Fastify's documentation writes them: with schemas for what comes in and what goes out.
import Fastify from 'fastify'
import * as database from './database.js'
import { items } from './items.js'

const JSON_TYPE = 'application/json; charset=utf-8'
const ID = { type: 'integer', minimum: 1, maximum: 2147483647 }
const DELTA = { type: 'integer', minimum: -2147483648, maximum: 2147483647 }

const object = properties => ({ type: 'object', required: Object.keys(properties), properties })
const strings = (...names) => Object.fromEntries(names.map(name => [name, { type: 'string' }]))

const DONE = object({ ok: { type: 'boolean' } })
const OK = object({ ok: { type: 'boolean' }, message: { type: 'string' } })
const TIME = object({ serverTime: { type: 'integer' } })
const USER = object({
  id: { type: 'integer' },
  ...strings('username', 'name', 'sex', 'address', 'mail'),
  birthdate: { type: 'string', format: 'date-time' }
})
const ACCOUNT = object({
  ...strings('account_id', 'name', 'email', 'plan', 'currency'),
  balance_cents: { type: 'integer' },
  active: { type: 'boolean' },
  ...strings('created_at', 'region', 'note')
})
const answers = schema => ({ schema: { response: { 200: schema } } })

function fixedRoutes (app) {
  app.get('/ping', answers(OK), async () => ({ ok: true, message: 'OK' }))
  app.get('/time', answers(TIME), async () => ({ serverTime: Math.floor(Date.now() / 1000) }))
}

// `addFixed` adds the routes that ask no database.
export function createApp (accounts, addFixed = fixedRoutes) {
  const app = Fastify({ forceCloseConnections: 'idle', frameworkErrors: answerError })
  app.setErrorHandler(answerError)
  app.setNotFoundHandler((request, reply) => reply.code(404).send({ ok: false, message: 'no such route' }))

  app.get('/ready', async (request, reply) => {
    await database.query('ready', 'SELECT 1')
    return reply.code(204).send()
  })

  addFixed(app)

  app.get('/db/ping', async (request, reply) => {
    const { rows } = await database.query('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text")
    return reply.type(JSON_TYPE).send(rows[0].text)
  })

  app.get('/db/time', async (request, reply) => {
    const { rows } = await database.query(
      'time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")
    return reply.type(JSON_TYPE).send(rows[0].text)
  })

  app.get('/users', answers({ type: 'array', items: USER }), () => database.users())

  const tx = { schema: { querystring: object({ aid: ID, tid: ID, bid: ID, delta: DELTA }), response: { 200: DONE } } }
  app.post('/tx', tx, async ({ query: { aid, tid, bid, delta } }) => {
    await database.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', [aid, tid, bid, delta])
    return { ok: true }
  })

  const transfer = { schema: { querystring: object({ from: ID, to: ID, amount: ID }), response: { 200: DONE } } }
  app.post('/transfer', transfer, async ({ query: { from, to, amount } }) => {
    if (from === to) throw new HttpError(400, '`from` and `to` must differ')
    if (!await database.transfer(from, to, amount)) throw new HttpError(404, 'no such account')
    return { ok: true }
  })

  const lookup = { schema: { body: object(strings('account_id')), response: { 200: ACCOUNT } } }
  app.post('/lookup', lookup, async ({ body }) => {
    const account = accounts.get(body.account_id)
    if (!account) throw new HttpError(404, 'no such account')
    return account
  })

  app.register(items)
  return app
}

class HttpError extends Error {
  constructor (statusCode, message) {
    super(message)
    this.statusCode = statusCode
  }
}

function answerError (error, request, reply) {
  if (error instanceof database.Busy) return reply.code(503).header('retry-after', '1').send({ ok: false, message: error.message })
  const { statusCode = 500 } = error
  return reply.code(statusCode).send({ ok: false, message: statusCode < 500 ? error.message : 'the database failed' })
}
