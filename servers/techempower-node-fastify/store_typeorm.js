// TypeORM: entities are found by their key, changed, and saved together.
import { DataSource, EntitySchema } from 'typeorm'
import { size, waitMs } from './pool.js'

const World = new EntitySchema({
  name: 'world',
  columns: { id: { type: 'int', primary: true }, randomNumber: { type: 'int', name: 'randomnumber' } }
})
const Fortune = new EntitySchema({
  name: 'fortune',
  columns: { id: { type: 'int', primary: true }, message: { type: 'varchar', length: 2048 } }
})

export async function open () {
  const source = new DataSource({
    type: 'postgres',
    url: process.env.DATABASE_URL,
    poolSize: size,
    extra: { connectionTimeoutMillis: waitMs },
    entities: [World, Fortune]
  })
  await source.initialize()
  return {
    world: id => source.manager.findOneBy(World, { id }),
    fortunes: () => source.manager.find(Fortune),
    update: (ids, randomNumber) => source.transaction(async manager => {
      const updated = []
      for (const id of ids) {
        const world = await manager.findOneBy(World, { id })
        world.randomNumber = randomNumber()
        updated.push(world)
      }
      return manager.save(World, updated)
    })
  }
}
