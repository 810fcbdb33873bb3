// The routes of the contract, as hapi's tutorials write them: with joi's schemas for what comes in.
import Boom from '@hapi/boom'
import Hapi from '@hapi/hapi'
import Joi from 'joi'
import * as database from './database.js'

const INT4_MAX = 2147483647
const ID = Joi.number().integer().min(1).max(INT4_MAX).required()
const DELTA = Joi.number().integer().min(-INT4_MAX - 1).max(INT4_MAX).required()

// hapi's own `start` cannot be told a backlog, so its listener is opened by who calls this.
export function createApp (accounts, users = database.users) {
  const app = Hapi.server({ autoListen: false, debug: false })
  app.ext('onPreResponse', answerErrors)

  app.route({
    method: 'GET',
    path: '/ready',
    handler: async (request, h) => {
      await database.query('ready', 'SELECT 1')
      return h.response().code(204)
    }
  })

  app.route({ method: 'GET', path: '/ping', handler: () => ({ ok: true, message: 'OK' }) })

  app.route({ method: 'GET', path: '/time', handler: () => ({ serverTime: Math.floor(Date.now() / 1000) }) })

  app.route({
    method: 'GET',
    path: '/db/ping',
    handler: async (request, h) => {
      const { rows } = await database.query('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text")
      return h.response(rows[0].text).type('application/json')
    }
  })

  app.route({
    method: 'GET',
    path: '/db/time',
    handler: async (request, h) => {
      const { rows } = await database.query(
        'time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")
      return h.response(rows[0].text).type('application/json')
    }
  })

  app.route({
    method: 'GET',
    path: '/users',
    handler: async () => {
      return await users()
    }
  })

  app.route({
    method: 'POST',
    path: '/tx',
    options: { validate: { query: Joi.object({ aid: ID, tid: ID, bid: ID, delta: DELTA }).unknown() } },
    handler: async ({ query: { aid, tid, bid, delta } }) => {
      await database.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', [aid, tid, bid, delta])
      return { ok: true }
    }
  })

  app.route({
    method: 'POST',
    path: '/transfer',
    options: { validate: { query: Joi.object({ from: ID, to: ID.invalid(Joi.ref('from')), amount: ID }).unknown() } },
    handler: async ({ query: { from, to, amount } }) => {
      if (!await database.transfer(from, to, amount)) throw Boom.notFound('no such account')
      return { ok: true }
    }
  })

  app.route({
    method: 'POST',
    path: '/lookup',
    options: { validate: { payload: Joi.object({ account_id: Joi.string().allow('').required() }).unknown() } },
    handler: ({ payload }) => {
      const account = accounts.get(payload.account_id)
      if (!account) throw Boom.notFound('no such account')
      return account
    }
  })
  return app
}

// Every error comes by here as a Boom: those thrown above, those of validation and of the database, and hapi's own.
function answerErrors ({ response }, h) {
  if (!response.isBoom) return h.continue
  if (response instanceof database.Busy) return h.response({ ok: false, message: response.message }).code(503).header('retry-after', '1')
  const { statusCode } = response.output
  return h.response({ ok: false, message: statusCode < 500 ? response.message : 'the database failed' }).code(statusCode)
}
