// The database as the routes see it, with Postgres.js: connections of this worker's share, and the statements of the contract.
import postgres from 'postgres'
import { Slots, Unavailable } from './slots.js'

const CONNECT_TIMEOUT_S = 3
const RECONNECT_S = 0.2

// Moments are handed out as ISO 8601. Postgres.js would make a Date of each; in a session in UTC the text of a full second is that
// of ISO 8601 but for three letters.
const TIMESTAMPTZ = 1184
const MOMENT = {
  to: TIMESTAMPTZ,
  from: [TIMESTAMPTZ],
  serialize: text => text,
  parse: text =>
    text.length === 22 && text.endsWith('+00') ? `${text.slice(0, 10)}T${text.slice(11, 19)}.000Z` : new Date(text).toISOString()
}

export class Store {
  #sql
  #slots

  // `poolWaitMs`: longest wait for a connection; null waits without a limit, 0 does not wait.
  constructor ({ databaseUrl, poolSize, poolWaitMs, prepared }) {
    this.#sql = postgres(databaseUrl, {
      max: poolSize,
      prepare: prepared && process.env.STATEMENTS !== 'unnamed',
      fetch_types: false,
      types: { moment: MOMENT },
      connect_timeout: CONNECT_TIMEOUT_S,
      backoff: () => RECONNECT_S,
      max_lifetime: null
    })
    this.#slots = new Slots(poolSize, poolWaitMs)
  }

  accounts () {
    return this.#once(sql => sql`SELECT * FROM accounts`)
  }

  async ready () {
    await this.#once(sql => sql`SELECT 1`)
  }

  async ping () {
    return (await this.#once(sql => sql`SELECT json_build_object('ok', true, 'message', 'OK')::text`.values()))[0][0]
  }

  async time () {
    return (await this.#once(sql =>
      sql`SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text`.values()))[0][0]
  }

  users () {
    return this.#once(sql => sql`SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id`.values())
  }

  async tx (aid, tid, bid, delta) {
    await this.#once(sql => sql`SELECT pgbench_tx(${aid}, ${tid}, ${bid}, ${delta})`)
  }

  // False when one of the two accounts does not exist; nothing is changed then.
  async transfer (from, to, amount) {
    try {
      await this.#once(sql => sql.begin(sql => move(sql, from, to, amount).catch(unlessLost)))
      return true
    } catch (error) {
      if (error instanceof NoAccount) return false
      throw error
    }
  }

  async #once (use) {
    await this.#slots.take()
    try {
      return await use(this.#sql)
    } catch (error) {
      throw isAway(error) ? new Unavailable('the database is away', { cause: error }) : error
    } finally {
      this.#slots.release()
    }
  }
}

async function move (sql, from, to, amount) {
  const debit = await sql`UPDATE web_users SET credits = credits - ${amount} WHERE id = ${from}`
  if (debit.count === 0) throw new NoAccount()
  const credit = await sql`UPDATE web_users SET credits = credits + ${amount} WHERE id = ${to}`
  if (credit.count === 0) throw new NoAccount()
}

// Thrown inside `begin`, which then rolls back.
class NoAccount extends Error {}

// `begin` answers an error with ROLLBACK, and on a connection that is gone that write ends the process (Postgres.js 3.4.9). So
// such an error is kept from it: `begin` fails by itself when the connection closes.
function unlessLost (error) {
  if (isAway(error)) return new Promise(() => {})
  throw error
}

// Refused, lost or shutting down (SQLSTATE classes 08 and 57P), as opposed to a statement that failed.
function isAway (error) {
  return /^(CONNECT|ECONN|EPIPE|ETIMEDOUT|08|57P)/.test(error.code ?? '')
}
