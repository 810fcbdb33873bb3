// The database as the routes see it: node-postgres with its pool, and promises.
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const RETRY_MS = 500

const { DATABASE_URL, POOL_SIZE, POOL_SHARE = POOL_SIZE, POOL_WAIT_MS, PREPARED } = process.env
const pool = new pg.Pool({
  connectionString: DATABASE_URL,
  max: Number(POOL_SHARE)
})
// Without listeners, a connection that breaks would end the process.
pool.on('error', () => {})
pool.on('connect', client => client.on('error', () => {}))

// Named statements are prepared once per connection.
const statement = (name, text, values) => PREPARED === 'off' ? { text, values } : { name, text, values }

export class Busy extends Error {}

// The pool's `connectionTimeoutMillis` has no "do not wait", and also cuts off the making of a connection: so who waits in a full
// pool is timed here.
async function connect () {
  const isFull = pool.idleCount === 0 && pool.totalCount >= pool.options.max
  if (!POOL_WAIT_MS || !isFull) return pool.connect()
  if (POOL_WAIT_MS === '0') throw new Busy('no free connection')
  const waiting = pool.connect()
  const client = await Promise.race([waiting, sleep(Number(POOL_WAIT_MS))])
  if (client) return client
  waiting.then(late => late.release(), () => {})
  throw new Busy('no connection in time')
}

export async function query (name, text, values) {
  if (!POOL_WAIT_MS) return pool.query(statement(name, text, values))
  const client = await connect()
  try {
    return await client.query(statement(name, text, values))
  } finally {
    client.release()
  }
}

// All users, as `GET /users` answers them.
export async function users () {
  const { rows } = await query('users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id')
  return rows.map(user => ({ ...user, address: caesar(user.address) }))
}

// Each ASCII letter rotated by 14 inside its case: one loop over a text's codes, and one string made of them.
const rotate = (code, first) => (code - first + 14) % 26 + first

function caesar (text) {
  const codes = new Array(text.length)
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const first = code < 97 ? 65 : 97
    codes[index] = code >= first && code < first + 26 ? rotate(code, first) : code
  }
  return String.fromCharCode(...codes)
}

// False when one of the two accounts does not exist; nothing is changed then.
export async function transfer (from, to, amount) {
  const client = await connect()
  try {
    await client.query('BEGIN')
    const debit = await client.query(
      statement('debit', 'UPDATE web_users SET credits = credits - $1 WHERE id = $2', [amount, from]))
    const credit = debit.rowCount === 0 ? debit : await client.query(
      statement('credit', 'UPDATE web_users SET credits = credits + $1 WHERE id = $2', [amount, to]))
    await client.query(credit.rowCount === 0 ? 'ROLLBACK' : 'COMMIT')
    return credit.rowCount !== 0
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

// Before anything listens, on a connection of its own. It waits for a database that is away.
export async function accounts () {
  for (;;) {
    try {
      return new Map((await load()).map(row => [row.account_id, { ...row, balance_cents: Number(row.balance_cents) }]))
    } catch (error) {
      console.error(`cannot load \`accounts\`: ${error.message || error.code}`)
      await sleep(RETRY_MS)
    }
  }
}

async function load () {
  const client = new pg.Client({ connectionString: DATABASE_URL })
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query('SELECT * FROM accounts')).rows
  } finally {
    await client.end()
  }
}
