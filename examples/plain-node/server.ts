/** An application at the root of a plain node:http server that also has an endpoint of its own. */
import { createServer } from 'node:http'
import { toNodeHandler, troupe } from 'troupe'

const port = Number(process.env['PORT'] ?? 3000)

const app = troupe({
  type: 'urn:actingweb:example.com:plain-node',
  name: 'plain-node',
  mode: 'development',
  baseUrl: `http://localhost:${port}`,
})
app.method('hello', ({ actor }) => ({ hello: actor.creator }))

// Opens the database now, so that an invalid setting fails here and not at the first request.
await app.start()
const actors = toNodeHandler(app)

const server = createServer((request, response) => {
  if (request.url === '/status') response.end('fine\n')
  else actors(request, response)
})
server.listen(port, 'localhost', () => console.log(`Ready at http://localhost:${port}`))

process.once('SIGTERM', () => server.close(() => void app.close()))
