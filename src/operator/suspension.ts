/**
 * Suspended actors: every request is refused, sessions have ended, and deliveries and background work pause. The data, the
 * relationships and the credentials of programs stay (docs/decisions/226).
 */
import { lockResident, type Resident, setResidence } from '../actor/actor-store.ts'
import { putEntries } from '../audit-log/audit-log-store.ts'
import { ServiceError } from '../errors.ts'
import { randomId } from '../secret/random.ts'
import type { Store, Transaction } from '../store/store.ts'
import { deletePurposeOf } from '../token/one-time-store.ts'
import { deleteSessionsExcept } from '../token/token-store.ts'
import { actEntryOf, type OperatorAct } from './act-entry.ts'

export interface SuspensionDeps {
  readonly store: Pick<Store, 'write' | 'now'>
  /** Stops the deliveries and the background work of the actor. */
  readonly holdWork: (tx: Transaction, actorId: string) => Promise<void>
  /** Makes them due again. */
  readonly resumeWork: (tx: Transaction, actorId: string, now: number) => Promise<void>
}

/** @throws ServiceError `not_found`; `conflict` while the actor moves or its content is replaced. */
export async function suspendActor({ store, holdWork }: SuspensionDeps, id: string, act: OperatorAct): Promise<void> {
  await store.write(async (tx) => {
    const actor = await lockKnown(tx, id)
    if (actor.residence !== 'here' && actor.residence !== 'suspended')
      throw new ServiceError('conflict', 'Cannot suspend the actor: it is moving, or its content is being replaced')
    await setResidence(tx, id, 'suspended')
    await holdWork(tx, id)
    await endSessions(tx, id)
    await record(tx, store.now(), { id, act, path: '/admin/suspend' })
  })
}

/** @throws ServiceError `not_found`; `conflict` when the actor is not suspended. */
export async function resumeActor({ store, resumeWork }: SuspensionDeps, id: string, act: OperatorAct): Promise<void> {
  await store.write(async (tx) => {
    const actor = await lockKnown(tx, id)
    if (actor.residence !== 'suspended')
      throw new ServiceError('conflict', 'Cannot resume the actor: it is not suspended')
    await setResidence(tx, id, 'here')
    await resumeWork(tx, id, store.now())
    await record(tx, store.now(), { id, act, path: '/admin/resume' })
  })
}

/** Ends all sessions of the owner, and the link for another one. Apps and API keys stay. @returns their number. @throws ServiceError `not_found` */
export async function signOutEverywhere(
  { store }: Pick<SuspensionDeps, 'store'>,
  id: string,
  act: OperatorAct,
): Promise<number> {
  return store.write(async (tx) => {
    await lockKnown(tx, id)
    const ended = await endSessions(tx, id)
    await record(tx, store.now(), { id, act, path: '/admin/sign-out' })
    return ended
  })
}

/** Returns the number of sessions. */
async function endSessions(tx: Transaction, id: string): Promise<number> {
  await deletePurposeOf(tx, id, 'owner_link')
  return deleteSessionsExcept(tx, id, '')
}

async function lockKnown(tx: Transaction, id: string): Promise<Resident> {
  const actor = await lockResident(tx, id)
  if (actor === null) throw new ServiceError('not_found', 'This actor does not exist')
  return actor
}

/** Writes the entry of an act of an operator in the transaction of the act. */
export function record(
  tx: Transaction,
  now: number,
  { id, act, path }: { readonly id: string; readonly act: OperatorAct; readonly path: string },
): Promise<unknown> {
  const about = { at: now, id: randomId(), callerName: '', times: 1, method: 'POST', path, device: act.device }
  const entry = { ...actEntryOf(id, act), ...about }
  return putEntries(tx, [entry])
}
