// Prisma Client on node-postgres.
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './client/client.js'

const { DATABASE_URL, POOL_SIZE, POOL_SHARE = POOL_SIZE, POOL_WAIT_MS } = process.env

export async function open () {
  const adapter = new PrismaPg({
    connectionString: DATABASE_URL,
    max: Number(POOL_SHARE),
    // 0 waits without a limit.
    connectionTimeoutMillis: POOL_WAIT_MS ? Math.max(1, Number(POOL_WAIT_MS)) : 0
  })
  const prisma = new PrismaClient({ adapter })
  return {
    // `findUnique` would make one statement of all calls of one moment, also of different requests.
    world: id => prisma.world.findFirst({ where: { id } }),
    fortunes: () => prisma.fortune.findMany(),
    update: (ids, randomNumber) => prisma.$transaction(async tx => {
      const updated = []
      for (const id of ids) {
        const world = await tx.world.findFirst({ where: { id } })
        updated.push(await tx.world.update({ where: { id: world.id }, data: { randomNumber: randomNumber() } }))
      }
      return updated
    })
  }
}
