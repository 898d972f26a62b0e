/** An application mounted at a path of an Express server, behind the server's own body parsers. */
import express from 'express'
import { toNodeHandler, troupe } from 'troupe'

const port = Number(process.env['PORT'] ?? 3000)

const app = troupe({
  type: 'urn:actingweb:example.com:express',
  name: 'express',
  mode: 'development',
  // The base URL includes the path at which Express mounts the application.
  baseUrl: `http://localhost:${port}/actors`,
})
app.method('hello', ({ actor }) => ({ hello: actor.creator }))

await app.start()

const site = express()
site.use(express.json())
site.use(express.urlencoded())
site.get('/', (_request, response) => void response.send('The rest of the site'))
site.post('/echo', (request, response) => void response.json(request.body))
site.use('/actors', toNodeHandler(app))

const server = site.listen(port, 'localhost', () => console.log(`Ready at http://localhost:${port}/actors`))

process.once('SIGTERM', () => server.close(() => void app.close()))
