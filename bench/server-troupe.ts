/** The service under measurement, in a process of its own. */
import { App } from '../src/troupe.ts'
import { createLog } from '../src/observe/log.ts'
import { serveMeasurements, type Subject } from './subject.ts'

const subject = JSON.parse(process.argv[2] ?? '{}') as Subject
const app = new App(
  {
    type: 'urn:actingweb:example.com:bench',
    name: 'bench',
    mode: 'development',
    database: subject.database,
    secretKeys: subject.keys,
    host: '127.0.0.1',
    port: 0,
    env: {},
    // What is measured is work, not refusals.
    rateLimits: { '*': null },
  },
  { log: createLog('info') },
)
app.action('echo', ({ input }) => ({ echo: input }) as object)
for (let index = 0; index < 50; index += 1) {
  app.action(
    `get_${index}`,
    {
      description: `The tool number ${index}`,
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      mcp: true,
    },
    ({ input }) => ({ echo: input }) as object,
  )
}
const listening = await app.listen()
serveMeasurements(Number(new URL(listening.url).port), async () => listening.stop())
