import { createApp } from './app.js'
import { start } from './cluster.js'
import { accounts } from './database.js'

start(async () => {
  const app = createApp(await accounts())
  await app.start()
  app.listener.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
  app.listener.keepAliveTimeout = 75_000
  return done => app.stop({ timeout: 1500 }).then(done)
})
