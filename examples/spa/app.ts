/** A service with a single-page application, whose files in `public` the service itself serves. */
import { join } from 'node:path'
import { troupe } from 'troupe'

const app = troupe({
  type: 'urn:actingweb:example.com:tasks',
  name: 'Tasks',
  description: 'What waits to be done.',
  webUi: false,
  singlePage: join(import.meta.dirname, 'public'),
})

app.on('actor_created', async ({ actor }) => {
  await actor.list('tasks').create({ description: 'What waits to be done' })
})

export default app
