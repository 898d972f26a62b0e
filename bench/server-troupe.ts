/** The measured service, in a separate process. */
import { serveMeasurements } from './subject.ts'
import { subject, subjectApp } from './subject-app.ts'

const app = await subjectApp('info')
app.action('echo', ({ input }) => ({ echo: input }) as object)
for (let index = 0; index < (subject.tools ?? 50); index += 1) {
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
