/** The application. `troupe dev app.ts` serves it. */
import { type App, troupe, type TroupeOptions } from 'troupe'
import { z } from 'zod'

/** Tests make the application with settings of their own. */
export function createApp(settings: Partial<TroupeOptions> = {}): App {
  const app = troupe({ type: 'urn:actingweb:example.com:notes', name: 'Notes', ...settings })
  const notes = app.list('notes', { item: z.object({ text: z.string().min(1), at: z.iso.datetime() }) })
  app.action(
    'add_note',
    { description: 'Adds a note', input: z.object({ text: z.string().min(1) }), mcp: true },
    async ({ actor, input }) => ({
      index: await actor.list(notes).append({ text: input.text, at: new Date().toISOString() }),
    }),
  )
  return app
}

export default createApp()
