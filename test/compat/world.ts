/** Runs rows of the table of compatibility as tests, at one service. */
import { after, before, describe, it } from 'node:test'
import { z } from 'zod'
import type { App } from '../../src/troupe.ts'
import { sqliteService } from '../support/service.ts'
import { sharedProvider, signInAt } from '../support/sign-in.ts'
import { type CompatRow, World } from './row.ts'

function notes(app: App): void {
  app.trustType({
    name: 'mcp_client',
    display_name: 'Assistant',
    description: 'Adds notes',
    permissions: { tools: { allowed: ['*'] } },
  })
  app.action(
    'add_note',
    {
      description: 'Adds a note',
      input: z.object({ text: z.string() }),
      mcp: { output: z.object({ index: z.number() }) },
    },
    async ({ actor, input }) => ({ index: await actor.list('notes').append(input.text) }),
  )
}

/** Declares a test for each row. `missing` names the program that the machine does not have. */
export function testRows(
  rows: readonly CompatRow[],
  missing: (row: CompatRow) => string | undefined = () => undefined,
): void {
  const provider = sharedProvider()
  const start = sqliteService()
  describe('the service', () => {
    let world: World
    const ends: (() => Promise<void>)[] = []
    before(async () => {
      const identity = await provider()
      const settings = { ...signInAt(identity), declare: notes, listen: true }
      world = new World({
        service: await start(settings),
        provider: identity,
        start: (more) => start({ ...settings, ...more }),
        atEnd: (end) => void ends.push(end),
      })
    })
    after(async () => {
      for (const end of ends) await end()
    })
    for (const row of rows) {
      const program = missing(row)
      const title = `works with ${row.client} ${row.version}, ${row.flow}: ${row.expected}`
      it(title, { skip: program === undefined ? false : `the machine has no ${program}` }, () => row.run(world))
    }
  })
}
