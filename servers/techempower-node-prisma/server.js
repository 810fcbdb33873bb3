import { createRequire } from 'node:module'
import { createApp } from './app.js'
import { start } from './cluster.js'

if (process.argv[2] === '--version') {
  const { packages } = createRequire(import.meta.url)('./package-lock.json')
  const versions = ['fastify', '@prisma/client', 'pg'].map(name => `${name} ${packages[`node_modules/${name}`].version}`)
  console.log([`node ${process.version}`, ...versions].join(', '))
} else {
  start(async () => {
    const { open } = await import('./store.js')
    const app = createApp(await open())
    await app.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
    return done => app.close().then(done)
  })
}
