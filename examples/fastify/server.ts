/** An application mounted at a path of a Fastify server. */
import fastify from 'fastify'
import { toNodeHandler, troupe } from 'troupe'

const port = Number(process.env['PORT'] ?? 3000)

const app = troupe({
  type: 'urn:actingweb:example.com:fastify',
  name: 'fastify',
  mode: 'development',
  baseUrl: `http://localhost:${port}/actors`,
})
app.method('hello', ({ actor }) => ({ hello: actor.creator }))

await app.start()

const site = fastify()
site.get('/', () => 'The rest of the site')
site.post('/echo', (request) => request.body)
site.register((scope, _options, done) => {
  const actors = toNodeHandler(app)
  // In this scope, Fastify must not read the body, because the application reads it.
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
  for (const path of ['/actors', '/actors/*']) {
    scope.all(path, (request, reply) => {
      reply.hijack()
      actors(request.raw, reply.raw)
    })
  }
  done()
})

await site.listen({ port, host: 'localhost' })
console.log(`Ready at http://localhost:${port}/actors`)

process.once('SIGTERM', () => void site.close().then(() => app.close()))
