// The routes of the contract, as Express' guide writes them.
import express from 'express'
import * as database from './database.js'

const INT4_MAX = 2147483647

class HttpError extends Error {
  constructor (status, message) {
    super(message)
    this.status = status
  }
}

export function createApp (accounts, users = database.users) {
  const app = express()
  app.disable('x-powered-by')

  app.get('/ready', async (req, res) => {
    await database.query('ready', 'SELECT 1')
    res.sendStatus(204)
  })

  app.get('/ping', (req, res) => res.json({ ok: true, message: 'OK' }))

  app.get('/time', (req, res) => res.json({ serverTime: Math.floor(Date.now() / 1000) }))

  app.get('/db/ping', async (req, res) => {
    const { rows } = await database.query('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text AS text")
    res.type('json').send(rows[0].text)
  })

  app.get('/db/time', async (req, res) => {
    const { rows } = await database.query(
      'time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text AS text")
    res.type('json').send(rows[0].text)
  })

  app.get('/users', async (req, res) => {
    res.json(await users())
  })

  app.post('/tx', async (req, res) => {
    const { query } = req
    const ids = ['aid', 'tid', 'bid'].map(name => integer(query, name, 1))
    await database.query('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', [...ids, integer(query, 'delta', -INT4_MAX - 1)])
    res.json({ ok: true })
  })

  app.post('/transfer', async (req, res) => {
    const { query } = req
    const [from, to, amount] = ['from', 'to', 'amount'].map(name => integer(query, name, 1))
    if (from === to) throw new HttpError(400, '`from` and `to` must differ')
    if (!await database.transfer(from, to, amount)) throw new HttpError(404, 'no such account')
    res.json({ ok: true })
  })

  app.post('/lookup', express.json(), (req, res) => {
    const id = req.body?.account_id
    if (typeof id !== 'string') throw new HttpError(400, '`account_id` must be a string in a JSON object')
    const account = accounts.get(id)
    if (!account) throw new HttpError(404, 'no such account')
    res.json(account)
  })

  app.use(() => { throw new HttpError(404, 'no such route') })

  // Express knows a handler of errors by its four parameters.
  app.use((error, req, res, next) => {
    if (error instanceof database.Busy) return res.status(503).set('retry-after', '1').json({ ok: false, message: error.message })
    res.status(error.status ?? 500).json({ ok: false, message: error.status ? error.message : 'the database failed' })
  })
  return app
}

function integer (query, name, least) {
  const text = query[name]
  const value = Number(text)
  if (!/^-?[0-9]+$/.test(text) || value < least || value > INT4_MAX) throw new HttpError(400, `\`${name}\` must be an integer in range`)
  return value
}
