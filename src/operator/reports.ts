/** The reports for operators of the service, and the redrive of one actor. No report contains a stored value. */
import { findActor } from '../actor/actor-store.ts'
import type { ActorPlace, ListedActor } from '../actor/actor-store.ts'
import { isOfPerson } from '../actor/all-actors.ts'
import { parseActorId } from '../actor/actor.ts'
import type { AuditLog } from '../audit-log/audit-log.ts'
import { ServiceError } from '../errors.ts'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { WithTables } from '../table/table.ts'
import { actEntryOf, type OperatorAct } from './act-entry.ts'
import { type ActorFacts, actorFacts } from './actor-facts.ts'
import { findActorsBefore, findActorsByCreator, findListedFacts, type ListedFacts } from './actor-list.ts'
import { type ActorOrder, listRanked, type Rankings } from './actor-ranking.ts'
import { type ConnectedProgram, findConnectedPrograms } from './app-list.ts'
import { type FailingDelivery, findFailingDeliveries, findStoppedWork, type StoppedWork } from './delivery-list.ts'
import { resumeActor, signOutEverywhere, suspendActor, type SuspensionDeps } from './suspension.ts'
import { redriveAll, type RedrivenWork } from './redrive.ts'
import type { ServiceStateReport } from './service-state.ts'

export interface ReportsDeps extends WithTables {
  readonly store: CatchUpStore
  readonly auditLog: Pick<AuditLog, 'record'>
  readonly now: () => number
  /** Counts the subscriptions with pending deliveries. */
  readonly backlog: () => Promise<number>
  /** Makes the workers look for due work. */
  readonly wake: () => void
  readonly suspension: Omit<SuspensionDeps, 'store'>
  readonly state: () => Promise<ServiceStateReport>
  readonly rankings: Pick<Rankings, 'find'>
}

export interface ReportedActor extends ListedActor {
  /** Null: the actor was deleted meanwhile. */
  readonly facts: ListedFacts | null
}

export interface ActorReport {
  readonly actors: readonly ReportedActor[]
  /** Place for the next page; null on the last page, and for a search. */
  readonly next: ActorPlace | null
  /** True when a search found more actors than the report has. */
  readonly isCut: boolean
}

export interface RankingReport {
  readonly actors: readonly (ReportedActor & { readonly amount: number })[]
  /** When the amounts were counted, in Unix milliseconds. Null: they were never. */
  readonly countedAt: number | null
  /** True while the amounts are counted again. */
  readonly isCounting: boolean
}

export interface FailureReport {
  readonly deliveries: readonly FailingDelivery[]
  readonly work: readonly StoppedWork[]
  /** True when more exist than the report has. */
  readonly isCut: boolean
}

export interface ProgramReport {
  readonly programs: readonly ConnectedProgram[]
  /** Client id after which the next page begins; null on the last page. */
  readonly next: string | null
}

const actorsOnAPage = 25
const maxFound = 50
const maxFailing = 100
const programsOnAPage = 50
const newest: ActorPlace = { createdAt: Number.MAX_SAFE_INTEGER, id: '' }

export class Reports {
  readonly #deps: ReportsDeps

  constructor(deps: ReportsDeps) {
    this.#deps = deps
  }

  /** The kind of the database. */
  get database(): Pick<CatchUpStore, 'dialect' | 'isSharded'> {
    return this.#deps.store
  }

  /**
   * Reports a page of actors, newest first.
   *
   * @param search Beginning of a creator, or the id of one actor. Empty: all actors.
   */
  async actors(search: string, before: ActorPlace | null): Promise<ActorReport> {
    if (search !== '') return this.#found(search)
    const { store } = this.#deps
    // One more row shows whether there is another page.
    const found = await findActorsBefore(store, before ?? newest, actorsOnAPage + 1)
    const shown = found.slice(0, actorsOnAPage)
    const last = shown.at(-1)
    const next = found.length > actorsOnAPage && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null
    return { actors: await this.#withFacts(shown), next, isCut: false }
  }

  /** Reports the largest or the busiest actors. */
  async ranked(order: ActorOrder): Promise<RankingReport> {
    const { store, rankings } = this.#deps
    const { actors: ranked, ...counted } = await rankings.find(order, maxFound)
    const amounts = new Map(ranked.map(({ id, amount }) => [id, amount]))
    const actors = await this.#withFacts(await listRanked(store, ranked))
    return { ...counted, actors: actors.map((actor) => ({ ...actor, amount: amounts.get(actor.id) ?? 0 })) }
  }

  async #found(search: string): Promise<ActorReport> {
    const { store } = this.#deps
    const [named, byId] = await Promise.all([
      findActorsByCreator(store, search, maxFound + 1),
      parseActorId(search) === null ? null : store.read((q) => findActor(q, search)),
    ])
    const others = named.filter(({ id }) => id !== byId?.id)
    const all = byId === null ? others : [byId, ...others]
    return { actors: await this.#withFacts(all.slice(0, maxFound)), next: null, isCut: all.length > maxFound }
  }

  async #withFacts(actors: readonly ListedActor[]): Promise<readonly ReportedActor[]> {
    const shown = actors.filter(isOfPerson)
    const facts = await this.#deps.store.read((q) =>
      findListedFacts(
        q,
        this.#deps.tables,
        shown.map(({ id }) => id),
      ),
    )
    return shown.map(({ id, creator, createdAt, kind }) => ({
      id,
      creator,
      createdAt,
      kind,
      facts: facts.get(id) ?? null,
    }))
  }

  /** Reports facts about one actor. Its audit log shows that. @throws ServiceError `not_found` */
  async actor(id: string, act: OperatorAct): Promise<ActorFacts> {
    const { store, auditLog } = this.#deps
    const facts = parseActorId(id) === null ? null : await store.read((q) => actorFacts(q, id))
    if (facts === null) throw unknownActor()
    auditLog.record({ ...actEntryOf(id, act), method: 'GET', path: '/admin', isRead: true })
    return facts
  }

  /** @throws ServiceError `not_found`, `conflict` for the operator's own actor and for one that moves. */
  async suspend(id: string, act: OperatorAct, own: string): Promise<void> {
    if (id === own) throw new ServiceError('conflict', 'Cannot suspend your own account')
    await suspendActor({ ...this.#deps.suspension, store: this.#deps.store }, known(id), act)
  }

  /** @throws ServiceError `not_found`, `conflict` */
  async resume(id: string, act: OperatorAct): Promise<void> {
    const { store, suspension, wake } = this.#deps
    await resumeActor({ ...suspension, store }, known(id), act)
    wake()
  }

  /** @throws ServiceError `not_found` */
  async signOut(id: string, act: OperatorAct): Promise<void> {
    await signOutEverywhere(this.#deps, known(id), act)
  }

  /** Reports the state of the whole service. */
  state(): Promise<ServiceStateReport> {
    return this.#deps.state()
  }

  /** Counts the subscriptions with pending deliveries, of all actors. */
  backlog(): Promise<number> {
    return this.#deps.backlog()
  }

  /** @param most Deliveries, and works in the background. Default: 100. */
  async failures(most = maxFailing): Promise<FailureReport> {
    const { store } = this.#deps
    const [deliveries, work] = await Promise.all([
      findFailingDeliveries(store, most + 1),
      findStoppedWork(store, most + 1),
    ])
    const isCut = deliveries.length > most || work.length > most
    return { deliveries: deliveries.slice(0, most), work: work.slice(0, most), isCut }
  }

  async programs(after: string): Promise<ProgramReport> {
    const found = await findConnectedPrograms(this.#deps.store, after, programsOnAPage + 1)
    const programs = found.slice(0, programsOnAPage)
    return { programs, next: found.length > programsOnAPage ? (programs.at(-1)?.clientId ?? null) : null }
  }

  /**
   * Makes the failed deliveries and the failed background work of an actor due now. Its audit log shows that.
   *
   * @throws ServiceError `not_found`
   */
  async redrive(id: string, act: OperatorAct): Promise<RedrivenWork> {
    const { store, auditLog, now, wake } = this.#deps
    if (parseActorId(id) === null || (await store.read((q) => findActor(q, id))) === null) throw unknownActor()
    const redriven = await store.write(async (tx) => {
      store.afterCommit(tx, wake)
      return redriveAll(tx, { actorId: id }, now())
    })
    auditLog.record({ ...actEntryOf(id, act), method: 'POST', path: '/admin/redrive' })
    return redriven
  }
}

function unknownActor(): ServiceError {
  return new ServiceError('not_found', 'This actor does not exist')
}

function known(id: string): string {
  if (parseActorId(id) === null) throw unknownActor()
  return id
}
