// node-postgres' pool, with this process's share of the connections.
import pg from 'pg'

const { DATABASE_URL, POOL_SIZE, POOL_SHARE = POOL_SIZE, POOL_WAIT_MS } = process.env

export const size = Number(POOL_SHARE)
// Longest wait for a connection, which also covers the making of one; 0 waits without a limit.
export const waitMs = POOL_WAIT_MS ? Math.max(1, Number(POOL_WAIT_MS)) : 0

export function openPool () {
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: size, connectionTimeoutMillis: waitMs })
  // Without listeners, a connection that breaks would end the process.
  pool.on('error', () => {})
  pool.on('connect', client => client.on('error', () => {}))
  return pool
}
