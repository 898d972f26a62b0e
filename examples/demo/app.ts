/** The application that both services of the demo run. Its method returns the copy of a peer's data. */
import { troupe } from 'troupe'
import { z } from 'zod'

const app = troupe({
  type: 'urn:actingweb:example.com:demo',
  name: 'Demo',
  description: 'A notebook that shows its pages to friends.',
})

const peer = z.object({ peer: z.string() })

app.method(
  'seen_of',
  { description: 'The copy of what a peer shares', input: peer, annotations: { readOnlyHint: true } },
  async ({ actor, input }) => actor.remote(input.peer).all(),
)

export default app
