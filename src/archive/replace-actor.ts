/**
 * Replaces the content of an actor by that of an archive (docs/decisions/117). The archive is first imported into an actor
 * that no one can reach, so a bad one changes nothing. Then the actor is closed until its content is complete. What others
 * rely on stays: its id, credentials, relationships and subscriptions. A run after a crash begins from the start.
 */
import { findActor, insertActor, lockResident, setResidence } from '../actor/actor-store.ts'
import { type Quota, quotaExceeded } from '../quota/quota.ts'
import { quoted, ServiceError } from '../errors.ts'
import { hashSecret } from '../secret/hash.ts'
import { randomPassphrase } from '../secret/random.ts'
import { actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import type { Transaction } from '../store/store.ts'
import { readRecords, RecordReader } from './archive-reader.ts'
import { type ArchiveHeader, headerOf } from './archived-content.ts'
import { type ChangeCounts, compareContents } from './compare-contents.ts'
import { unzippedArchive } from './gzip.ts'
import type { ArchiveMembers } from './record-rows.ts'
import { recordText } from './record-rows.ts'
import { contentKindsOf, type WithTables } from '../table/table.ts'
import {
  clearAttributes,
  clearOthers,
  clearProperties,
  discardObjects,
  findUnrelated,
  hasRunningImport,
  isOfPeers,
  type ReplacedValue,
  resyncSubscribers,
  stayingAttributes,
} from './replaced-rows.ts'
import { deleteArriving, type RestoreDeps, restoreActor } from './restore-actor.ts'

/** The steps around the content, in rooms that archives do not know. */
export interface AroundReplacement {
  /** Begins no further deliveries and background work of the actor. False while some runs. */
  readonly pauseWork: (tx: Transaction, actorId: string, now: number) => Promise<boolean>
  readonly beginWork: (tx: Transaction, actorId: string, now: number) => Promise<void>
  /** Adds the values that are about to be replaced to the history. */
  readonly keepValues: (
    tx: Transaction,
    actorId: string,
    values: readonly ReplacedValue[],
    now: number,
  ) => Promise<void>
  /** Records the replacement in the audit log, and for pages and clients that watch the actor. */
  readonly record: (tx: Transaction, actorId: string, now: number) => Promise<void>
}

export interface ReplaceDeps
  extends Pick<RestoreDeps, 'store' | 'keyRing' | 'bytes' | 'deleteRemoved' | 'progress' | 'tables'> {
  /** Opens the archive from its start. */
  readonly open: () => AsyncIterable<Uint8Array>
  /** The public URL of the service, without a trailing slash. */
  readonly baseUrl: string
  readonly quotas: readonly { readonly quota: Quota; readonly limit: number }[]
  readonly around: AroundReplacement
  /** Waits before the work of the actor is looked at again. */
  readonly pause: () => Promise<void>
}

/** The changes that a replacement would make. */
export interface ReplacementPlan {
  readonly actorId: string
  readonly creator: string
  /** Whether a replacement of the actor has begun and is not complete. */
  readonly isBegun: boolean
  readonly changes: Readonly<Record<string, ChangeCounts>>
  /** Number of records of each kind that stay out. */
  readonly leftOut: Readonly<Record<string, number>>
  /** Peers with a relationship in the archive, and none now. */
  readonly unrelated: readonly string[]
  /** Whether the archive has attributes and alarms. */
  readonly hasSecrets: boolean
}

/** Peers of an archive that are compared with the relationships of the actor. */
const maxPeers = 100_000
const always: ReadonlySet<string> = new Set(['property', 'list', 'item', 'bytes'])

/**
 * Imports the archive into an actor that no one can reach, and compares it with the actor that it is to replace.
 *
 * @param as The actor whose content is replaced. Default: that of the archive, which must be the same actor.
 * @throws ServiceError as `restoreActor`; `not_found` when the actor does not exist; `conflict` when the archive is of
 *   another actor; `quota_exceeded`. The actor is as it was.
 */
export async function planReplacement(deps: ReplaceDeps, as: string | null): Promise<ReplacementPlan> {
  const { store } = deps
  const { header, hasSecrets, url } = await headOf(deps)
  const actorId = as ?? header.id
  const actor = await store.read((q) => findActor(q, actorId))
  if (actor === null) throw new ServiceError('not_found', `Cannot replace actor ${quoted(actorId)}: it does not exist`)
  if (as === null) requireSame(header, url, { ...actor, url: `${deps.baseUrl}/${actorId}` })
  if (header.kind !== actor.kind)
    throw new ServiceError(
      'conflict',
      `Cannot replace actor ${quoted(actorId)}, which is of the kind ${quoted(actor.kind)}: the archive is of the kind ${quoted(header.kind)}`,
    )
  requireOpen(actorId, actor.residence)
  const peers = new Set<string>()
  const takes = (kind: string, record: ArchiveMembers): boolean => {
    if (kind === 'relationship' && peers.size < maxPeers) peers.add(recordText(record, kind, 'peer_id'))
    return isContent(deps, kind, record, hasSecrets)
  }
  const trial = trialOf(actorId)
  try {
    const { leftOut } = await importTrial(deps, { kind: actor.kind, trial, takes })
    await requireRoom(deps, { actorId, trial, hasSecrets })
    const isBegun = actor.residence === 'replacing'
    return {
      actorId,
      creator: actor.creator,
      isBegun,
      changes: await compareContents(store, { actorId, trial, hasSecrets, tables: deps.tables }),
      leftOut,
      unrelated: await store.read((q) => findUnrelated(q, actorId, [...peers])),
      hasSecrets,
    }
  } catch (error) {
    await deleteTrial(deps, trial)
    throw error
  }
}

/** Ends a plan that is not carried out, and deletes what the replacement has left otherwise. */
export async function endReplacement(deps: ReplaceDeps, { actorId }: ReplacementPlan): Promise<void> {
  await deleteTrial(deps, trialOf(actorId))
}

/**
 * Carries out a plan.
 *
 * @throws ServiceError `conflict` when an import of the owner or a move runs; `unavailable` when another replacement of the
 *   actor has begun. After another error, the actor may be closed, until a replacement succeeds.
 */
export async function replaceActor(deps: ReplaceDeps, { actorId, hasSecrets }: ReplacementPlan): Promise<void> {
  const { store, around } = deps
  await close(deps, actorId)
  await clear(deps, actorId, hasSecrets)
  const complete = async (tx: Transaction): Promise<void> => {
    const now = store.now()
    await setResidence(tx, actorId, 'here')
    await resyncSubscribers(tx, actorId, now)
    await around.beginWork(tx, actorId, now)
    await around.record(tx, actorId, now)
  }
  const content = {
    actorId,
    takes: (kind: string, record: ArchiveMembers) => isContent(deps, kind, record, hasSecrets),
    isIndexed: true,
    begin: (tx: Transaction) => requireClosed(tx, actorId),
    complete,
  }
  await restoreActor({ ...deps, uniqueCreator: false, content }, deps.open())
}

interface ArchiveHead {
  readonly header: ArchiveHeader
  readonly hasSecrets: boolean
  readonly url: string
}

async function headOf({ open }: ReplaceDeps): Promise<ArchiveHead> {
  const records = new RecordReader(readRecords(unzippedArchive(open())))
  try {
    const first = await records.next()
    const header = headerOf(first)
    const members: ArchiveMembers = first?.members ?? new Map()
    return { header, hasSecrets: members.get('secrets') === 'true', url: recordText(members, 'archive', 'url') }
  } finally {
    await records.close()
  }
}

/** An id proves nothing: another service, or an actor that was deleted here, may have had it. */
function requireSame(
  header: ArchiveHeader,
  url: string,
  actor: { readonly id: string; readonly url: string; readonly createdAt: number },
): void {
  const why =
    url !== actor.url
      ? `it is of ${url}, and the actor is ${actor.url}`
      : header.createdAt !== actor.createdAt
        ? 'its actor was created at another time'
        : null
  if (why === null) return
  throw new ServiceError(
    'conflict',
    `The archive is of another actor: ${why}. To replace the content of the actor nevertheless, add --as ${actor.id}`,
  )
}

function requireOpen(actorId: string, residence: string): void {
  if (residence === 'here' || residence === 'replacing') return
  if (residence === 'suspended')
    throw new ServiceError('conflict', `Cannot replace actor ${quoted(actorId)}: it is suspended`)
  throw new ServiceError('conflict', `Cannot replace actor ${quoted(actorId)} while it moves between services`)
}

function isContent({ tables }: WithTables, kind: string, record: ArchiveMembers, hasSecrets: boolean): boolean {
  if (always.has(kind) || contentKindsOf(tables).some((one) => one.kind === kind)) return true
  if (!hasSecrets) return false
  return kind === 'alarm' || (kind === 'attribute' && !isOfPeers(recordText(record, kind, 'bucket')))
}

/** The actor that has the content before the actor itself. A later run finds what an earlier one left. */
function trialOf(actorId: string): string {
  return hashSecret(`replacement of ${actorId}`).slice(0, 32)
}

async function importTrial(
  deps: ReplaceDeps,
  { kind, trial, takes }: { kind: string; trial: string; takes: (kind: string, record: ArchiveMembers) => boolean },
): Promise<{ readonly leftOut: Readonly<Record<string, number>> }> {
  const { store, keyRing } = deps
  await deleteTrial(deps, trial)
  const begin = async (tx: Transaction): Promise<void> => {
    const passphrase = seal(keyRing, randomPassphrase(), bindingOf(actorPassphrase, trial))
    const actor = { id: trial, creator: `importing:${trial}`, passphrase, trusteeRoot: null, createdAt: store.now() }
    if (!(await insertActor(tx, { ...actor, guardedUntil: 0, kind })))
      throw new ServiceError('unavailable', 'Cannot import the archive: another import of this actor has begun')
    await setResidence(tx, trial, 'arriving')
  }
  const content = { actorId: trial, takes, isIndexed: false, begin, complete: () => Promise.resolve() }
  // The bytes are compared with their digest, and stored only once, with the actor itself.
  const bytes = { put: (_key: string, chunks: AsyncIterable<Uint8Array>) => drain(chunks) }
  return restoreActor({ ...deps, bytes, uniqueCreator: false, content }, deps.open())
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) void chunk
}

async function deleteTrial({ store, tables, deleteRemoved }: ReplaceDeps, trial: string): Promise<void> {
  const isDeleted = await store.write(async (tx) => {
    await discardObjects(tx, trial)
    return deleteArriving(tx, trial, { now: store.now(), tables })
  })
  if (isDeleted) await deleteRemoved(trial)
}

/** @throws ServiceError `quota_exceeded` */
async function requireRoom(
  { store, quotas }: ReplaceDeps,
  { actorId, trial, hasSecrets }: { actorId: string; trial: string; hasSecrets: boolean },
): Promise<void> {
  const staying = await store.read((q) => stayingAttributes(q, actorId, hasSecrets))
  for (const { quota, limit } of quotas) {
    const found = await store.read((q) => q.get<{ used: number }>(quota.sql, trial))
    const besides = !quota.tables.includes('attribute') ? 0 : quota.isSize === true ? staying.bytes : staying.entries
    const used = (found?.used ?? 0) + besides
    if (used > limit) throw quotaExceeded({ quota, used, limit })
  }
}

/** Answers every request with 503 from now on, and waits until nothing of the actor runs. */
async function close({ store, around, pause }: ReplaceDeps, actorId: string): Promise<void> {
  const attempt = (): Promise<boolean> =>
    store.write(async (tx) => {
      const actor = await lockResident(tx, actorId)
      if (actor === null) throw new ServiceError('not_found', `Actor ${quoted(actorId)} does not exist`)
      requireOpen(actorId, actor.residence)
      if (await hasRunningImport(tx, actorId))
        throw new ServiceError(
          'conflict',
          `Cannot replace actor ${quoted(actorId)}: its owner imports an archive. Wait until the import ends, or stop it`,
        )
      await setResidence(tx, actorId, 'replacing')
      return around.pauseWork(tx, actorId, store.now())
    })
  while (!(await attempt())) await pause()
}

async function requireClosed(tx: Transaction, actorId: string): Promise<void> {
  if ((await lockResident(tx, actorId))?.residence !== 'replacing')
    throw new ServiceError('unavailable', `Cannot replace actor ${quoted(actorId)}: another replacement has ended`)
}

async function clear(deps: ReplaceDeps, actorId: string, hasSecrets: boolean): Promise<void> {
  const { store, around } = deps
  const inTurn = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> =>
    store.write(async (tx) => {
      await requireClosed(tx, actorId)
      return work(tx)
    })
  const trial = trialOf(actorId)
  const keep = (tx: Transaction, values: readonly ReplacedValue[]): Promise<void> =>
    around.keepValues(tx, actorId, values, store.now())
  while (await inTurn((tx) => clearProperties(tx, { actorId, trial, keep })));
  await inTurn((tx) => clearOthers(tx, { actorId, hasSecrets, now: store.now(), tables: deps.tables }))
  if (!hasSecrets) return
  while (await inTurn((tx) => clearAttributes(tx, actorId)));
}
