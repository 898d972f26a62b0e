/** Takes over the actors of a database of the Python library, each one whole or not at all. */
import { readRecords, RecordReader } from '../archive/archive-reader.ts'
import type { Table } from '../table/table.ts'
import { checkArchive } from '../archive/check-archive.ts'
import { count } from '../archive/merge-report.ts'
import { isComplete, progressOf, restoreActor, type RestoreDeps } from '../archive/restore-actor.ts'
import { lockActor } from '../actor/actor-store.ts'
import { ensureSystemActor } from '../actor/system-actor.ts'
import { systemActorId, systemCreator } from '../authorization-server/client.ts'
import { findClient, insertClient } from '../authorization-server/client-store.ts'
import { quoted, ServiceError } from '../errors.ts'
import { archiveOf, type ArchivePlan, nothingLeft, refusalOf } from './actor-archive.ts'
import { appsOf, completeActor, type CompleteDeps, type Completion } from './complete-actor.ts'
import { decideCreators, type SharedCreator } from './shared-creators.ts'
import { clientBucket, clientOf, sessionBucket, sessionOf, sharedOwner, type SourceSession } from './source-apps.ts'
import type { SourceDatabase, SourceActor } from './source.ts'

export interface ImportDeps
  extends CompleteDeps,
    Pick<RestoreDeps, 'store' | 'bytes' | 'tables' | 'uniqueCreator' | 'deleteRemoved'> {
  readonly source: SourceDatabase
  /** The name that the application gives companions of a type. */
  readonly companions: ReadonlyMap<string, string>
  /** The actor that gets the sign-in of a creator with several actors, by the creator in lower case. */
  readonly signIns: ReadonlyMap<string, string>
  /** True: nothing is written. */
  readonly isDryRun: boolean
  /** Actors that come in at the same time. */
  readonly lanes: number
  /** Called after each page of actors, with the number of actors so far and of all. */
  readonly progress?: (actors: number, total: number) => void
}

export interface ImportProblem {
  readonly actor: string
  readonly problem: string
}

export interface ImportReport {
  /** Actors of the source. */
  readonly actors: number
  readonly imported: number
  /** Actors that the service has already. They stay as they are. */
  readonly existing: number
  /** Actors that cannot come in. */
  readonly failed: number
  /** The number of records that came in, by kind. */
  readonly counts: Readonly<Record<string, number>>
  /** Relationships by their trust type. */
  readonly trustTypes: Readonly<Record<string, number>>
  /** Creators with several actors, of which one gets the sign-in. Undecided ones come first. */
  readonly sharedCreators: readonly SharedCreator[]
  /** How many things stay behind or failed. */
  readonly problems: number
  /** The first of them. */
  readonly first: readonly ImportProblem[]
}

/** Actors of one page. One statement finds their sessions. */
const pageActors = 1000
const maxNamed = 100

export async function importActors(deps: ImportDeps): Promise<ImportReport> {
  return new ActorImport(deps).run()
}

class ActorImport {
  readonly #deps: ImportDeps
  readonly #counts: Record<string, number> = {}
  readonly #trustTypes: Record<string, number> = {}
  readonly #first: ImportProblem[] = []
  #problems = 0
  #actors = 0
  #imported = 0
  #existing = 0
  #failed = 0
  /** Actors that another import took over from this one. */
  readonly #lost: { readonly actor: SourceActor; readonly reason: string }[] = []
  #plan: ArchivePlan | null = null
  #sharedCreators: readonly SharedCreator[] = []

  constructor(deps: ImportDeps) {
    this.#deps = deps
  }

  async run(): Promise<ImportReport> {
    const { source, companions, signIns, now, progress } = this.#deps
    const sharedCreators = decideCreators(await source.rivalActors(), signIns)
    this.#sharedCreators = sharedCreators
    const signInOf = new Map(
      sharedCreators.flatMap(({ actors }) => actors.map(({ id }) => [id, actors[0]?.id ?? id] as const)),
    )
    this.#plan = { companions, otherSignIn: ({ id }) => otherThan(id, signInOf.get(id)), now: now() }
    await this.#sharedClients()
    for (const { id, rows } of await source.repeatedActors())
      this.#report(id, `the database has ${rows} rows of this actor, and the oldest one counts`)
    const total = await source.countActors()
    for (let after = ''; ; ) {
      const page = await source.actorsAfter(after, pageActors)
      await this.#page(page.filter(({ id }, index) => !id.startsWith('_') && id !== page[index - 1]?.id))
      progress?.(this.#actors, total)
      if (page.length < pageActors) break
      after = page.at(-1)?.id ?? ''
    }
    for (const { actor, reason } of this.#lost) {
      if (await this.#isHere(actor)) this.#existing += 1
      else this.#fail(actor, reason)
    }
    return {
      actors: this.#actors,
      imported: this.#imported,
      existing: this.#existing,
      failed: this.#failed,
      counts: this.#counts,
      trustTypes: this.#trustTypes,
      sharedCreators: this.#sharedCreators,
      problems: this.#problems,
      first: this.#first,
    }
  }

  #report(actor: string, problem: string): void {
    this.#problems += 1
    if (this.#first.length < maxNamed) this.#first.push({ actor, problem })
  }

  /** Clients that registered themselves belong to no single actor. */
  async #sharedClients(): Promise<void> {
    const { source, store, isDryRun } = this.#deps
    if (!isDryRun) await ensureSystemActor(this.#deps, systemActorId, systemCreator)
    for (let after = ''; ; ) {
      const page = await source.attributesAfter(sharedOwner, clientBucket, after, pageActors)
      for (const attribute of page) {
        const client = clientOf(systemActorId, attribute)
        if (client === null) {
          this.#report(sharedOwner, `the client ${attribute.name} cannot be read`)
          continue
        }
        count(this.#counts, 'client')
        if (isDryRun) continue
        await store.write(async (tx) => {
          // Another import may store the client at the same time.
          await lockActor(tx, systemActorId)
          if ((await findClient(tx, client.clientId)) === null) await insertClient(tx, client)
        })
      }
      if (page.length < pageActors) return
      after = page.at(-1)?.name ?? ''
    }
  }

  async #page(actors: readonly SourceActor[]): Promise<void> {
    const { source, now } = this.#deps
    const ids = actors.map(({ id }) => id)
    const stored = await source.attributesNaming(sharedOwner, sessionBucket, ids)
    const sessions = stored.map((attribute) => sessionOf(attribute, now())).filter((session) => session !== null)
    const byActor = Map.groupBy(sessions, ({ actorId }) => actorId)
    this.#actors += actors.length
    const held: SourceActor[] = []
    await this.#inLanes(actors, async (actor) => {
      if ((await this.#one(actor, byActor.get(actor.id) ?? [], 'leave')) !== null) held.push(actor)
    })
    // Two imports could otherwise take an actor from each other without end. Each one takes it over once at most, and the last
    // one that does completes it.
    await this.#inLanes(held, async (actor) => {
      const reason = await this.#one(actor, byActor.get(actor.id) ?? [], 'take over')
      if (reason !== null) this.#lost.push({ actor, reason })
    })
  }

  async #inLanes(actors: readonly SourceActor[], work: (actor: SourceActor) => Promise<void>): Promise<void> {
    const next = each(actors)
    const lane = async (): Promise<void> => {
      for (const actor of next) await work(actor)
    }
    // A lane that fails closes the generator, so no lane begins another actor. The others end theirs, or take it back.
    const ends = await Promise.allSettled(Array.from({ length: this.#deps.lanes }, lane))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  /**
   * @param begun Whether to take over an actor that another import has begun. That import may still run.
   * @returns why another import has the actor. Null: the outcome is counted.
   */
  async #one(
    actor: SourceActor,
    sessions: readonly SourceSession[],
    begun: 'leave' | 'take over',
  ): Promise<string | null> {
    const refusal = refusalOf(actor)
    const progress = refusal === null ? await this.#deps.store.read((q) => progressOf(q, actor.id)) : 'absent'
    if (progress === 'begun' && begun === 'leave') return 'another import has begun this actor'
    const reason = refusal ?? this.#creatorProblem(actor)
    try {
      if (progress === 'complete') this.#existing += 1
      else if (reason !== null) this.#fail(actor, reason)
      else await this.#take(actor, sessions)
      return null
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'store_unavailable') throw error
      if (error.code === 'unavailable') return error.message
      // Another import was faster.
      if (error.code === 'conflict' && (await this.#isHere(actor))) this.#existing += 1
      else this.#fail(actor, error.message)
      return null
    }
  }

  /** Actors come in side by side, so without this rule the faster of two actors would get their creator. */
  #creatorProblem(actor: SourceActor): string | null {
    const other = this.#deps.uniqueCreator ? (this.#plan?.otherSignIn(actor) ?? null) : null
    return other === null ? null : `the actor ${quoted(other)} gets the creator ${quoted(actor.creator)}`
  }

  #isHere({ id }: SourceActor): Promise<boolean> {
    return this.#deps.store.read((q) => isComplete(q, id))
  }

  #fail({ id }: SourceActor, reason: string): void {
    this.#failed += 1
    this.#report(id, reason)
  }

  async #take(actor: SourceActor, sessions: readonly SourceSession[]): Promise<void> {
    const { source, isDryRun, now } = this.#deps
    const attributes = await source.attributes(actor.id)
    const left = nothingLeft()
    const plan = this.#plan
    if (plan === null) throw new Error('The import has no plan')
    const archive = archiveOf(source, actor, attributes, plan, left)
    const completion: Completion = { actor, attributes, sessions, left }
    const counts = isDryRun ? await countRecords(archive, this.#deps.tables) : await this.#restore(archive, completion)
    this.#imported += 1
    const { clients, grants, orphans } = appsOf(completion, now())
    for (const [kind, number] of Object.entries(counts)) count(this.#counts, kind, number)
    count(this.#counts, 'client', clients.length)
    count(this.#counts, 'app', left.programs.length)
    count(this.#counts, 'rights', left.programRights.length)
    count(
      this.#counts,
      'token',
      grants.reduce((sum, { tokens }) => sum + tokens.length, 0),
    )
    count(this.#counts, 'session', sessions.length)
    count(this.#counts, 'diff', left.diffs.length)
    for (const trustType of left.trustTypes) count(this.#trustTypes, trustType)
    for (const problem of left.problems) this.#report(actor.id, problem)
    if (orphans > 0) this.#report(actor.id, `tokens of ${orphans} grants: the client has no relationship`)
  }

  async #restore(
    archive: AsyncIterable<Uint8Array>,
    completion: Completion,
  ): Promise<Readonly<Record<string, number>>> {
    const { passphrase } = completion.actor
    // The progress of an import counts actors, not the records of one.
    const { progress: _progress, ...deps } = this.#deps
    const { restored } = await restoreActor(
      {
        ...deps,
        ...(passphrase === '' ? {} : { passphrase }),
        hasMissedChanges: false,
        completing: (tx) => completeActor(tx, this.#deps, completion),
      },
      archive,
    )
    return restored
  }
}

function otherThan(id: string, other: string | undefined): string | null {
  return other === undefined || other === id ? null : other
}

function* each<T>(all: readonly T[]): Generator<T, void> {
  yield* all
}

/** Reads an archive without importing it. @throws ServiceError `invalid_value` for one that could not be imported. */
async function countRecords(
  archive: AsyncIterable<Uint8Array>,
  tables: readonly Table[],
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {}
  async function* counted(): ReturnType<typeof readRecords> {
    for await (const record of readRecords(archive)) {
      count(counts, record.kind)
      yield record
    }
  }
  await checkArchive(new RecordReader(counted()), tables)
  const { archive: _header, end: _end, ...rest } = counts
  return rest
}
