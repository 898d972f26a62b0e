/** The measured application. Separate from `subject.ts`, which the bare server imports without the service. */
import type { DeclaredSchema } from '../src/app/schema.ts'
import { createLog } from '../src/observe/log.ts'
import { App } from '../src/troupe.ts'
import { indexedLists, type Subject } from './subject.ts'

export const subject = JSON.parse(process.argv[2] ?? '{}') as Subject

export async function subjectApp(level: 'info' | 'warn'): Promise<App> {
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
      // No rate limits: a refused request would cost less than the measured one.
      rateLimits: { '*': null },
      ...(subject.historyDays === undefined ? {} : { historyDays: subject.historyDays }),
    },
    { log: createLog(level) },
  )
  if (subject.declares === false) return app
  app.property('declared', { schema: await declaredSchema() })
  app.action('spend', async ({ actor }) => ({ spent: await actor.update('spent', (spent) => Number(spent ?? 0) + 1) }))
  for (const list of indexedLists) app.list(list, { item: { type: 'object' }, indexes: ['done', 'due'] })
  return app
}

/** Loads `zod` only here, because its 5 MB would count as memory of the service. */
async function declaredSchema(): Promise<DeclaredSchema> {
  const { z } = await import('zod')
  return z.object({
    limit: z.number().min(0),
    spent: z.number().default(0),
    currency: z.enum(['EUR', 'USD']),
    tags: z.array(z.string().max(40)),
  })
}
