// The database as the routes see it: a pool of this worker's share, and the statements of the contract.
import pg from 'pg'

const CONNECT_TIMEOUT_MS = 3000

// Moments are handed out as ISO 8601. pg would make a Date of each, which costs more than the rest of a row; in a session in UTC
// the text of a full second is that of ISO 8601 but for three letters.
const { TIMESTAMPTZ } = pg.types.builtins
const toDate = pg.types.getTypeParser(TIMESTAMPTZ)
pg.types.setTypeParser(TIMESTAMPTZ, text =>
  text.length === 22 && text.endsWith('+00') ? `${text.slice(0, 10)}T${text.slice(11, 19)}.000Z` : toDate(text).toISOString())

// No connection for this request: the caller answers 503.
export class Unavailable extends Error {}

// Gives up a connection that is not made in time. The pool's own option of that name also sets a timer for every request.
class Client extends pg.Client {
  constructor (config) {
    super({ ...config, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  }
}

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
      Client
    })
    // A connection that breaks emits 'error' on the pool when idle and on itself when taken; unheard, either ends the process.
    this.#pool.on('error', () => {})
    this.#pool.on('connect', client => client.on('error', () => {}))
    // Whoever may wait without a limit does so in the pool's own queue.
    this.#slots = poolWaitMs === null ? null : new Slots(poolSize, poolWaitMs)
    this.#named = prepared
  }

  // Rows of one statement, as objects.
  query (name, text, values) {
    return this.#inSlot(() => this.#once(name, text, values, rows => rows))
  }

  // Rows of one statement, as arrays: cheaper where there are many.
  async arrays (name, text) {
    const statement = { name: this.#named ? name : undefined, text, rowMode: 'array' }
    return (await this.#withClient(client => client.query(statement))).rows
  }

  async ready () {
    await this.query('ready', 'SELECT 1')
  }

  // The text of a statement that returns one text, named `text`.
  text (name, sql) {
    return this.#inSlot(() => this.#once(name, sql, undefined, rows => rows[0].text))
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
    const debit = await this.#send(
      client, 'debit', 'UPDATE web_users SET credits = credits - $1 WHERE id = $2', [amount, from])
    if (debit.rowCount === 0) return false
    const credit = await this.#send(
      client, 'credit', 'UPDATE web_users SET credits = credits + $1 WHERE id = $2', [amount, to])
    return credit.rowCount !== 0
  }

  // Not `pool.query`: that one drops the connection when a statement fails, and opens the next before the old is gone.
  #withClient (use) {
    return this.#inSlot(async () => {
      let client
      try {
        client = await this.#pool.connect()
        return await use(client)
      } catch (error) {
        throw explained(error)
      } finally {
        // A connection left inside a transaction is dropped; one that broke the pool drops by itself.
        client?.release(client.getTransactionStatus() !== 'I')
      }
    })
  }

  // Where waiting has no limit there are no slots, and no promise is made for them.
  #inSlot (use) {
    return this.#slots === null ? use() : this.#slots.hold(use)
  }

  #send (client, name, text, values) {
    return new Promise((resolve, reject) => {
      client.query(this.#statement(name, text, values, (error, result) => error ? reject(error) : resolve(result)))
    })
  }

  // What `answer` makes of the rows of a statement on a connection of its own, by callbacks: one promise for all of its steps.
  #once (name, text, values, answer) {
    return new Promise((resolve, reject) => {
      this.#pool.connect((error, client, release) => {
        if (error) return reject(explained(error))
        client.query(this.#statement(name, text, values, (error, result) => {
          release()
          if (error) reject(explained(error))
          else resolve(answer(result.rows))
        }))
      })
    })
  }

  // Not by a configuration, which pg copies property by property: a twentieth of a request's time.
  #statement (name, text, values, done) {
    const query = new pg.Query(text, values, done)
    if (this.#named) query.name = name
    return query
  }
}

// Who may ask the pool for a connection where waiting has a limit. pg's own `connectionTimeoutMillis` cannot say this: its 0 means
// without a limit, and a short one also cuts off the making of a connection, so that a pool could not recover from a restart of
// the database.
class Slots {
  #waiting = new Set()

  constructor (free, waitMs) {
    this.free = free
    this.waitMs = waitMs
  }

  // What `use` promises, which has a slot until then.
  async hold (use) {
    await this.take()
    try {
      return await use()
    } finally {
      this.release()
    }
  }

  take () {
    if (this.free > 0) return void this.free--
    if (this.waitMs === 0) throw new Unavailable('no free connection')
    return new Promise((resolve, reject) => {
      const refuse = () => {
        this.#waiting.delete(waiter)
        reject(new Unavailable('no connection in time'))
      }
      const waiter = { resolve, timer: setTimeout(refuse, this.waitMs) }
      this.#waiting.add(waiter)
    })
  }

  // Hands the slot to who waits longest.
  release () {
    const [waiter] = this.#waiting
    if (waiter === undefined) return void this.free++
    this.#waiting.delete(waiter)
    clearTimeout(waiter.timer)
    waiter.resolve()
  }
}

function explained (error) {
  return isAway(error) ? new Unavailable('the database is away', { cause: error }) : error
}

// Refused, lost or shutting down (SQLSTATE classes 08 and 57P), as opposed to a statement that failed.
function isAway (error) {
  return /^(ECONN|EPIPE|ETIMEDOUT|08|57P)/.test(error.code ?? '') || (error.code === undefined && /connect/i.test(error.message))
}
