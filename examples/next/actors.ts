/** The application of a Next.js project. Route handlers and server components import it. */
import { troupe } from 'troupe'

export const app = troupe({
  type: 'urn:actingweb:example.com:next',
  name: 'next',
  mode: 'development',
  // The base URL includes the folder of the route handler.
  baseUrl: 'http://localhost:3000/actors',
})
app.method('hello', ({ actor }) => ({ hello: actor.creator }))
