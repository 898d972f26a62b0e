/** `troupe actors delete`: deletes one actor, as its owner can. */
import { deleteActor, findActor, lockActor } from '../../actor/actor-store.ts'
import type { Actor } from '../../actor/actor.ts'
import { parseActorId } from '../../actor/actor.ts'
import { setDefaultMode } from '../../config/env.ts'
import { keyRingOf } from '../../open-runtime.ts'
import { Notices } from '../../outbox/notices.ts'
import type { Store } from '../../store/store.ts'
import { deletionNoticesOfActors } from '../../trust/trust-notifications.ts'
import { commandArgs } from '../command-args.ts'
import { isConfirmed as confirmed } from '../confirm.ts'
import { withExistingStore } from '../existing-store.ts'
import { loadApplication } from '../load-application.ts'
import { print, printable, printJson, timeText } from '../output.ts'
import { projectTables } from '../project/known-project.ts'
import { UsageError } from '../usage-error.ts'

export async function deleteActorByCommand(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe actors delete', args, { yes: 'boolean', json: 'boolean' })
  const [id, file, ...more] = words
  if (id === undefined || more.length > 0)
    throw new UsageError('Cannot run troupe actors delete: expected the id of one actor, and at most one module.')
  setDefaultMode('development')
  const code = await (file === undefined
    ? withExistingStore(async (store, config) => {
        const actor = await required(store, id)
        if (!(await isConfirmed(actor, options.yes))) return 1
        await deleteWithoutApplication(store, { actor, keyRing: await keyRingOf(config) })
        return 0
      })
    : deleteWithApplication(file, id, options.yes))
  if (options.json === true) printJson({ actor: id, deleted: code === 0 })
  else print(code === 0 ? `Deleted actor ${id}.` : 'Nothing was deleted.')
  return code
}

async function required(store: Pick<Store, 'read'>, id: string): Promise<Actor> {
  const actor = parseActorId(id) === null ? null : await store.read((q) => findActor(q, id))
  if (actor === null) throw new UsageError(`Cannot delete actor ${printable(id)}: it does not exist.`)
  return actor
}

/** The running service, or its next start, sends the notices to the peers and deletes the rows of long lists. */
async function deleteWithoutApplication(
  store: Store,
  { actor, keyRing }: { readonly actor: Actor; readonly keyRing: Awaited<ReturnType<typeof keyRingOf>> },
): Promise<void> {
  const { now } = store
  const notices = new Notices({ keyRing, now, afterCommit: () => {}, wake: () => {}, firstAttempts: async () => {} })
  await store.write(async (tx) => {
    const locked = await lockActor(tx, actor.id)
    await notices.replaceNotices(tx, locked, deletionNoticesOfActors(tx, keyRing, locked))
    await deleteActor(tx, actor.id, { now: now(), tables: projectTables().tables })
  })
}

/** Starts the application without a server, so that its handlers receive the events of the deletion. */
async function deleteWithApplication(file: string, id: string, isSure: boolean | undefined): Promise<number> {
  const app = await loadApplication(file)
  // Refuses a wrong DATABASE_URL before a start creates a database there.
  await withExistingStore(async (store) => required(store, id))
  try {
    const service = await app.running()
    const actor = await required(service.store, id)
    if (!(await isConfirmed(actor, isSure))) return 1
    await service.parts.actors.deleteWithEvents(actor)
    await service.settled()
    return 0
  } finally {
    await app.close()
  }
}

function isConfirmed({ id, creator, createdAt }: Actor, isSure: boolean | undefined): Promise<boolean> {
  const question = `Delete actor ${id} of ${printable(creator)}, created ${timeText(createdAt)}, with all its data? Type its id to confirm: `
  return confirmed(question, { answer: id, act: 'delete the actor', isSure })
}
