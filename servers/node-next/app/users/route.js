import { json, route } from '../../lib/answers.js'
import { caesar } from '../../lib/caesar.js'
import { service } from '../../lib/service.js'
export { notAllowed as POST, notAllowed as PUT, notAllowed as PATCH, notAllowed as DELETE } from '../../lib/answers.js'

export const dynamic = 'force-dynamic'

export const GET = route(async () => {
  const rows = await service.store.users()
  return json(rows.map(([id, username, name, sex, address, mail, birthdate]) =>
    ({ id, username, name, sex, address: caesar(address), mail, birthdate })))
})
