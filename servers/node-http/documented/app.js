// The routes of the contract, as Node's documentation writes a listener of node:http.
import { text } from 'node:stream/consumers'
import * as database from './database.js'

const INT4_MAX = 2147483647

class HttpError extends Error {
  constructor (status, message) {
    super(message)
    this.status = status
  }
}

export function createListener (accounts, users = database.users) {
  const routes = {
    'GET /ready': async (request, response) => {
      await database.query('ready', 'SELECT 1')
      response.statusCode = 204
      response.end()
    },

    'GET /ping': (request, response) => send(response, 200, { ok: true, message: 'OK' }),

    'GET /time': (request, response) => send(response, 200, { serverTime: Math.floor(Date.now() / 1000) }),

    'GET /db/ping': async (request, response) => {
      const { rows } = await database.query('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text")
      sendText(response, 200, rows[0].text)
    },

    'GET /db/time': async (request, response) => {
      const { rows } = await database.query(
        'time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")
      sendText(response, 200, rows[0].text)
    },

    'GET /users': async (request, response) => {
      send(response, 200, await users())
    },

    'POST /tx': async (request, response, { searchParams }) => {
      const ids = ['aid', 'tid', 'bid'].map(name => integer(searchParams, name, 1))
      await database.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', [...ids, integer(searchParams, 'delta', -INT4_MAX - 1)])
      send(response, 200, { ok: true })
    },

    'POST /transfer': async (request, response, { searchParams }) => {
      const [from, to, amount] = ['from', 'to', 'amount'].map(name => integer(searchParams, name, 1))
      if (from === to) throw new HttpError(400, '`from` and `to` must differ')
      if (!await database.transfer(from, to, amount)) throw new HttpError(404, 'no such account')
      send(response, 200, { ok: true })
    },

    'POST /lookup': async (request, response) => {
      const account = accounts.get(accountId(await text(request)))
      if (!account) throw new HttpError(404, 'no such account')
      send(response, 200, account)
    }
  }

  return async (request, response) => {
    try {
      const url = new URL(`http://${process.env.HOST}${request.url}`)
      const route = routes[`${request.method} ${url.pathname}`]
      if (!route) throw new HttpError(404, 'no such route')
      await route(request, response, url)
    } catch (error) {
      answerError(response, error)
    }
  }
}

function answerError (response, error) {
  if (error instanceof database.Busy) response.setHeader('Retry-After', '1')
  const status = error instanceof database.Busy ? 503 : error.status ?? (error.code === 'ERR_INVALID_URL' ? 400 : 500)
  send(response, status, { ok: false, message: status === 500 ? 'the database failed' : error.message })
}

function send (response, status, value) {
  sendText(response, status, JSON.stringify(value))
}

function sendText (response, status, body) {
  response.statusCode = status
  response.setHeader('Content-Type', 'application/json')
  response.end(body)
}

function accountId (body) {
  let value
  try {
    value = JSON.parse(body)
  } catch {
    throw new HttpError(400, 'the body is not JSON')
  }
  if (typeof value?.account_id !== 'string') throw new HttpError(400, '`account_id` must be a string in a JSON object')
  return value.account_id
}

function integer (parameters, name, least) {
  const text = parameters.get(name)
  const value = Number(text)
  if (!/^-?[0-9]+$/.test(text) || value < least || value > INT4_MAX) throw new HttpError(400, `\`${name}\` must be an integer in range`)
  return value
}
