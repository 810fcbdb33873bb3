import { createApp } from './app.js'
import { start } from './cluster.js'
import { accounts } from './database.js'

start(async () => {
  const app = createApp(await accounts())
  await app.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
  return done => app.close().then(done)
})
