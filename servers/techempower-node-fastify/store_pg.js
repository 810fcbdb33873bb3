// node-postgres, asked with SQL.
import { openPool } from './pool.js'

// Named statements are prepared once per connection.
const statement = (name, text, values) => process.env.PREPARED === 'off' ? { text, values } : { name, text, values }
const select = id => statement('world', 'SELECT id, randomnumber AS "randomNumber" FROM world WHERE id = $1', [id])
const update = ({ id, randomNumber }) =>
  statement('update', 'UPDATE world SET randomnumber = $1 WHERE id = $2', [randomNumber, id])

export async function open () {
  const pool = openPool()

  async function world (id) {
    const { rows } = await pool.query(select(id))
    return rows[0]
  }

  async function fortunes () {
    const { rows } = await pool.query(statement('fortunes', 'SELECT id, message FROM fortune'))
    return rows
  }

  async function updateAll (ids, randomNumber) {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const updated = []
      for (const id of ids) {
        const { rows } = await client.query(select(id))
        updated.push({ ...rows[0], randomNumber: randomNumber() })
        await client.query(update(updated.at(-1)))
      }
      await client.query('COMMIT')
      return updated
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {})
      throw error
    } finally {
      client.release()
    }
  }
  return { world, fortunes, update: updateAll }
}
