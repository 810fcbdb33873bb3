import { createRequire } from 'node:module'
import { createApp } from './app.js'
import { start } from './cluster.js'

const STORES = { pg: './store_pg.js', drizzle: './store_drizzle.js', typeorm: './store_typeorm.js' }

if (process.argv[2] === '--version') {
  const require = createRequire(import.meta.url)
  const versions = ['fastify', 'pg', 'drizzle-orm', 'typeorm'].map(name => {
    const lock = require('./package-lock.json').packages[`node_modules/${name}`]
    return `${name} ${lock.version}`
  })
  console.log([`node ${process.version}`, ...versions].join(', '))
} else {
  start(async () => {
    const { open } = await import(STORES[process.env.MAPPER])
    const app = createApp(await open())
    await app.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
    return done => app.close().then(done)
  })
}
