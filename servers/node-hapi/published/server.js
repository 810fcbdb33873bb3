import { users } from './users.js'
import { createApp } from '../documented/app.js'
import { start } from '../documented/cluster.js'
import { accounts } from '../documented/database.js'

start(async () => {
  const app = createApp(await accounts(), users)
  await app.start()
  app.listener.listen({ host: process.env.HOST, port: Number(process.env.PORT), backlog: 4096 })
  app.listener.keepAliveTimeout = 75_000
  return done => app.stop({ timeout: 1500 }).then(done)
})
