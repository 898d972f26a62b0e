/** An application mounted at a path of a Hono server, by `app.fetch`. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { troupe } from 'troupe'

const port = Number(process.env['PORT'] ?? 3000)

const app = troupe({
  type: 'urn:actingweb:example.com:hono',
  name: 'hono',
  mode: 'development',
  baseUrl: `http://localhost:${port}/actors`,
})
app.method('hello', ({ actor }) => ({ hello: actor.creator }))

await app.start()

const site = new Hono()
site.get('/', (context) => context.text('The rest of the site'))
site.post('/echo', async (context) => context.json(await context.req.json()))
site.all('/actors/*', (context) => app.fetch(context.req.raw))

const server = serve({ fetch: site.fetch, port, hostname: 'localhost', overrideGlobalObjects: false }, () =>
  console.log(`Ready at http://localhost:${port}/actors`),
)

process.once('SIGTERM', () => server.close(() => void app.close()))
