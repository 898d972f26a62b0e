/** Stops a running move, so that the actor stays. */
import { lockResident, type Resident, setResidence } from '../actor/actor-store.ts'
import type { Transaction } from '../store/store.ts'
import { beginWork } from './arrival-store.ts'
import { deleteDeparture, deleteMoveJob, type Departure, findDeparture } from './departure-store.ts'

export interface StoppedMove {
  readonly actor: Resident
  readonly departure: Departure
}

/** Returns the move that was stopped. Null: the actor does not move, or has moved already. */
export async function stopMove(tx: Transaction, actorId: string, now: number): Promise<StoppedMove | null> {
  const actor = await lockResident(tx, actorId)
  const departure = await findDeparture(tx, actorId)
  if (actor?.residence !== 'moving' || departure?.state !== 'moving') return null
  await deleteDeparture(tx, actorId)
  await deleteMoveJob(tx, actorId)
  await setResidence(tx, actorId, 'here')
  await beginWork(tx, actorId, now)
  return { actor, departure }
}
