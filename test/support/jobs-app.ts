/** An application with background work whose handlers hang in a process with JOBS_HANG, so that a test can kill it. */
import { troupe } from '../../src/troupe.ts'
import type { ActorHandle } from '../../src/app/actor-handle.ts'

const { JOBS_HANG: hangs = '', JOBS_NAME: name = '' } = process.env

const app = troupe({ type: 'urn:actingweb:example.com:jobs', name: 'jobs' })

/** Notes which process began and ended the work. */
async function work(actor: ActorHandle | undefined, what: string): Promise<void> {
  await actor?.list('began').append(`${what} ${name}`)
  if (hangs !== '') await new Promise(() => {})
  await actor?.list('ended').append(`${what} ${name}`)
}

const remind = app.alarm('remind', ({ actor, key }) => work(actor, `alarm ${key}`))
app.on('property_changed', ({ actor, name: property }) => work(actor, `event ${property}`))
app.schedule('tidy', { every: '1s' }, async ({ actors, scheduledAt }) => {
  const actor = await actors.findByCreator('schedule@example.com')
  if (actor !== undefined) await work(actor, `schedule ${scheduledAt.getTime()}`)
})
app.action('remind', async ({ actor, input }) => {
  const { inMs, keys } = input as { readonly inMs: number; readonly keys: readonly string[] }
  await actor.transaction(async (tx) => {
    for (const key of keys) await tx.alarm(Date.now() + inMs, remind, undefined, { key })
  })
})

export default app
