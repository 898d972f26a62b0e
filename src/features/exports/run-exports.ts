/**
 * One run of the scheduled exports: the archive of each actor, and then a file that says that the run is complete. A run that
 * broke off continues with the actors whose archives are missing.
 */
import { findActor } from '../../actor/actor-store.ts'
import type { Actor } from '../../actor/actor.ts'
import { allActors } from '../../actor/all-actors.ts'
import { isTemporary, ServiceError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import { release } from '../../release.ts'
import { exportActor, type ExportDeps, wholeView } from '../../archive/export-actor.ts'
import { zippedArchive } from '../../archive/gzip.ts'
import { runOf } from '../../job/runs.ts'
import { completeFile, type ExportPlace, fileOfActor } from './export-place.ts'

export interface ExportRunDeps extends ExportDeps {
  readonly place: ExportPlace
  readonly log: Log
}

export interface ExportRun {
  readonly scheduledAt: Date
  readonly hasSecrets: boolean
  /** Complete runs that stay. Older ones are deleted. */
  readonly kept: number
  readonly signal: AbortSignal
}

/** Actors that are exported at the same time. */
const atOnce = 2
/** Ids in the file that completes the run. Beyond them, only the number grows. */
const maxNamed = 1000
/** An export fails when a list of the actor is removed meanwhile. */
const maxAttempts = 3

interface Totals {
  exported: number
  failed: number
  readonly failedActors: string[]
}

/** @throws ServiceError when the store or the place cannot be used now. The next attempt continues the run. */
export async function runExports(
  deps: ExportRunDeps,
  { scheduledAt, hasSecrets, kept, signal }: ExportRun,
): Promise<void> {
  const { place, log, now } = deps
  const run = runOf(scheduledAt)
  const startedAt = now()
  const totals: Totals = { exported: 0, failed: 0, failedActors: [] }
  const actors = allActors(deps, { pageSize: 1000 })
  const work = async (): Promise<void> => {
    for (let next = await actors.next(); next.done !== true; next = await actors.next()) {
      signal.throwIfAborted()
      await exportOne(deps, { run, actorId: next.value.id, hasSecrets, signal }, totals)
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
  } finally {
    await actors.return()
  }
  const { exported, failed, failedActors } = totals
  const facts = {
    release,
    started_at: iso(startedAt),
    ended_at: iso(now()),
    exported,
    failed,
    failed_actors: failedActors,
  }
  await place.put(run, completeFile, textOf([`${JSON.stringify(facts)}\n`]))
  if (failed > 0) log.error({ run, exported, failed }, 'Some actors could not be exported; complete.json names them')
  else log.info({ run, exported }, 'Exported all actors')
  await removeOld(place, kept, signal)
}

async function exportOne(
  deps: ExportRunDeps,
  of: { readonly run: string; readonly actorId: string; readonly hasSecrets: boolean; readonly signal: AbortSignal },
  totals: Totals,
): Promise<void> {
  const { store, place, log } = deps
  const { run, actorId, hasSecrets, signal } = of
  const file = fileOfActor(actorId)
  if (await place.has(run, file)) return void (totals.exported += 1)
  for (let attempt = 1; ; attempt += 1) {
    const actor: Actor | null = await store.read((q) => findActor(q, actorId))
    // It was deleted meanwhile.
    if (actor === null) return
    try {
      await place.put(run, file, zippedArchive(textOf(exportActor(deps, actor, { view: wholeView, hasSecrets }))))
      totals.exported += 1
      return
    } catch (error) {
      signal.throwIfAborted()
      if (isTemporary(error) || (error instanceof ServiceError && error.code === 'insufficient_storage')) throw error
      if (attempt < maxAttempts) continue
      totals.failed += 1
      if (totals.failedActors.length < maxNamed) totals.failedActors.push(actorId)
      log.error({ error, actorId, run }, 'Cannot export an actor; the run goes on')
      return
    }
  }
}

async function removeOld(place: ExportPlace, kept: number, signal: AbortSignal): Promise<void> {
  let complete = 0
  for (const run of (await place.runs()).toReversed()) {
    signal.throwIfAborted()
    if (complete >= kept) await place.remove(run, signal)
    else if (await place.has(run, completeFile)) complete += 1
  }
}

async function* textOf(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Uint8Array, void> {
  for await (const line of lines) yield Buffer.from(line)
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
