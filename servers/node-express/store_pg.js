// The database as the routes see it, with node-postgres: a pool of this worker's share, and the statements of the contract.
import pg from 'pg'
import { Slots, Unavailable } from './slots.js'

const CONNECT_TIMEOUT_MS = 3000

// Moments are handed out as ISO 8601. pg would make a Date of each, which costs more than the rest of a row; in a session in UTC
// the text of a full second is that of ISO 8601 but for three letters.
const { TIMESTAMPTZ } = pg.types.builtins
const toDate = pg.types.getTypeParser(TIMESTAMPTZ)
pg.types.setTypeParser(TIMESTAMPTZ, text =>
  text.length === 22 && text.endsWith('+00') ? `${text.slice(0, 10)}T${text.slice(11, 19)}.000Z` : toDate(text).toISOString())

export class Store {
  #pool
  #slots
  #named

  // `poolWaitMs`: longest wait for a connection; null waits without a limit, 0 does not wait.
  constructor ({ databaseUrl, poolSize, poolWaitMs, prepared }) {
    this.#pool = new pg.Pool({
      connectionString: databaseUrl,
      max: poolSize,
      idleTimeoutMillis: 0,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS
    })
    // A connection that breaks emits 'error' on the pool when idle and on itself when taken; unheard, either ends the process.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', client => client.on('error', () => {}))
    this.#slots = new Slots(poolSize, poolWaitMs)
    this.#named = prepared
  }

  accounts () {
    return this.#rows({ text: 'SELECT * FROM accounts' })
  }

  async ready () {
    await this.#rows({ text: 'SELECT 1' })
  }

  ping () {
    return this.#text('ping', "SELECT json_build_object('ok', true, 'message', 'OK')::text")
  }

  time () {
    return this.#text('time', "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")
  }

  users () {
    return this.#rows(this.#statement(
      'users', 'SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id', undefined, 'array'))
  }

  async tx (aid, tid, bid, delta) {
    await this.#rows(this.#statement('tx', 'SELECT pgbench_tx($1, $2, $3, $4)', [aid, tid, bid, delta]))
  }

  // False when one of the two accounts does not exist; nothing is changed then.
  transfer (from, to, amount) {
    return this.#withClient(async client => {
      await client.query('BEGIN')
      try {
        const done = await this.#move(client, from, to, amount)
        await client.query(done ? 'COMMIT' : 'ROLLBACK')
        return done
      } catch (error) {
        await client.query('ROLLBACK').catch(() => {})
        throw error
      }
    })
  }

  async #move (client, from, to, amount) {
    const debit = await client.query(
      this.#statement('debit', 'UPDATE web_users SET credits = credits - $1 WHERE id = $2', [amount, from]))
    if (debit.rowCount === 0) return false
    const credit = await client.query(
      this.#statement('credit', 'UPDATE web_users SET credits = credits + $1 WHERE id = $2', [amount, to]))
    return credit.rowCount !== 0
  }

  async #text (name, sql) {
    return (await this.#rows(this.#statement(name, sql, undefined, 'array')))[0][0]
  }

  async #rows (statement) {
    return (await this.#withClient(client => client.query(statement))).rows
  }

  // Not `pool.query`: that one drops the connection when a statement fails, and opens the next before the old is gone.
  async #withClient (use) {
    await this.#slots.take()
    let client
    try {
      client = await this.#pool.connect()
      return await use(client)
    } catch (error) {
      throw isAway(error) ? new Unavailable('the database is away', { cause: error }) : error
    } finally {
      // A connection left inside a transaction is dropped; one that broke the pool drops by itself.
      client?.release(client.getTransactionStatus() !== 'I')
      this.#slots.release()
    }
  }

  #statement (name, text, values, rowMode) {
    return { name: this.#named ? name : undefined, text, values, rowMode }
  }
}

// Refused, lost or shutting down (SQLSTATE classes 08 and 57P), as opposed to a statement that failed.
function isAway (error) {
  return /^(ECONN|EPIPE|ETIMEDOUT|08|57P)/.test(error.code ?? '') || (error.code === undefined && /connect/i.test(error.message))
}
