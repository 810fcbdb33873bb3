// Drizzle on node-postgres: its SQL-like queries, and its transaction.
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, varchar } from 'drizzle-orm/pg-core'
import { openPool } from './pool.js'

const worlds = pgTable('world', { id: integer().primaryKey(), randomNumber: integer('randomnumber').notNull() })
const fortunes = pgTable('fortune', { id: integer().primaryKey(), message: varchar({ length: 2048 }).notNull() })

async function find (db, id) {
  const [world] = await db.select().from(worlds).where(eq(worlds.id, id))
  return world
}

export async function open () {
  const db = drizzle({ client: openPool() })
  return {
    world: id => find(db, id),
    fortunes: () => db.select().from(fortunes),
    update: (ids, randomNumber) => db.transaction(async tx => {
      const updated = []
      for (const id of ids) {
        const world = await find(tx, id)
        world.randomNumber = randomNumber()
        await tx.update(worlds).set({ randomNumber: world.randomNumber }).where(eq(worlds.id, id))
        updated.push(world)
      }
      return updated
    })
  }
}
