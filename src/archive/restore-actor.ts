/**
 * Creates an actor from its archive, with its id, for an operator. Until the last transaction the actor has no creator and no
 * account, so no one can sign in to it. An import that breaks off leaves an unfinished actor; the next attempt deletes it.
 */
import { creatorOfKind, normalizeCreator } from '../actor/actor.ts'
import { isDeclaredKind, undeclaredKind } from '../actor/declared-kinds.ts'
import { personKind } from '../app/kinds/person.ts'
import {
  clearDeletionMarker,
  deleteActor,
  type Deletion,
  insertActor,
  isCreatorFree,
  lockActor,
  lockResident,
  setCreator,
  setTrusteeRoot,
} from '../actor/actor-store.ts'
import { replaceLookups } from '../actor/lookup.ts'
import { quoted, ServiceError } from '../errors.ts'
import type { FileBytes } from '../object/file-bytes.ts'
import { insertObject, keepObject } from '../object/object-store.ts'
import { objectLeaseMs } from '../object/unused-objects.ts'
import { type JsonText, known, stringValue } from '../json/json.ts'
import { type ArchivedItem, beginList, endList, returnItems } from '../list/list.ts'
import { putValues } from '../property/property-store.ts'
import { forgetBounds } from '../quota/bounds.ts'
import type { KeyRing } from '../secret/key-ring.ts'
import { randomId, randomPassphrase } from '../secret/random.ts'
import { accountTokens, actorPassphrase, bindingOf } from '../secret/sealed-columns.ts'
import { seal } from '../secret/sealed.ts'
import { type AccountFields, insertAccount, updateAccount, findAccount } from '../sign-in/account-store.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import { readRecords, RecordReader } from './archive-reader.ts'
import {
  type ArchiveHeader,
  ArrivedContent,
  contentAfter,
  contentRowOf,
  headerOf,
  itemOf,
  listOf,
  requireNoMore,
  unusableArchive,
  archivedValue,
  archivedVersion,
} from './archived-content.ts'
import { unzippedArchive } from './gzip.ts'
import { count } from './merge-report.ts'
import type { ContentKind, RecordKind } from '../table/record-kind.ts'
import { contentKindsOf, type WithTables } from '../table/table.ts'
import { account, needsSecrets, recordKindsWith } from './record-kinds.ts'
import { type ArchiveMembers, recordInteger, rowOf, recordText } from './record-rows.ts'
import { type ArrivingActor, insertKind } from './restored-rows.ts'

export interface RestoreDeps extends WithTables {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly bytes: Pick<FileBytes, 'put'>
  readonly uniqueCreator: boolean
  /** Deletes the rows that removed lists of an earlier actor with this id left behind. */
  readonly deleteRemoved: (actorId: string) => Promise<void>
  /** Called after each transaction, with the number of records so far. */
  readonly progress?: (records: number) => void
  /** Default: a new one, because an archive of the service has none. */
  readonly passphrase?: string
  /** Whether peers may have missed changes since the archive was written, and get a resync. Default: true. */
  readonly hasMissedChanges?: boolean
  /**
   * The actor that moves here from another service. It stays out of reach, its owner has no account, and its secrets are
   * replaced. Default: any actor, which is here at once.
   */
  readonly arriving?: ArrivingActor
  /** Stores more of the actor, in the transaction that completes it. */
  readonly completing?: (tx: Transaction, header: ArchiveHeader) => Promise<void>
  /** Imports the content alone, into an actor that is closed. Default: everything, into a new actor. */
  readonly content?: ContentImport
}

/** An import of the content of an archive into an actor that is closed (`replace-actor.ts`). A failed one leaves it as it is. */
export interface ContentImport {
  readonly actorId: string
  /** Which records belong to the content. Others are left out. */
  readonly takes: (kind: string, record: ArchiveMembers) => boolean
  /** Whether the actor is found by its properties. */
  readonly isIndexed: boolean
  /** Runs in the first transaction, with the actor locked unless it does not exist. */
  readonly begin: (tx: Transaction) => Promise<void>
  /** Runs in the transaction that completes the content. */
  readonly complete: (tx: Transaction) => Promise<void>
}

export interface Restored {
  readonly actorId: string
  readonly passphrase: string
  /** Number of records of each kind that are back. */
  readonly restored: Readonly<Record<string, number>>
  /** Number of records of each kind that the archive has without what they need. */
  readonly leftOut: Readonly<Record<string, number>>
}

/**
 * @throws ServiceError `invalid_value` for an archive that cannot be read or is incomplete, `conflict` when the actor exists, or
 *   another one has its creator or account; `unavailable` when another import of the actor has begun. Then nothing is left.
 */
export async function restoreActor(deps: RestoreDeps, archive: AsyncIterable<Uint8Array>): Promise<Restored> {
  const records = new RecordReader(readRecords(unzippedArchive(archive)))
  const restore = new Restore(deps, records, headerOf(await records.next()))
  return restore.run()
}

/** Whether the actor exists, and its import, if it had one, is complete. */
export async function isComplete(q: Queries, id: string): Promise<boolean> {
  return (await progressOf(q, id)) === 'complete'
}

/** How far an actor is. `begun`: an import has begun the actor, and runs or broke off. */
export async function progressOf(q: Queries, id: string): Promise<'absent' | 'begun' | 'complete'> {
  // One statement: between two, another import could delete the marker together with the actor.
  const actor = await q.get<{ residence: string; marker: string | null }>(
    `SELECT actor.residence, a.data AS marker FROM actor
     LEFT JOIN attribute AS a ON a.actor_id = actor.id AND a.bucket = $2 AND a.name = $3 WHERE actor.id = $1`,
    id,
    marker.bucket,
    marker.name,
  )
  if (actor === undefined) return 'absent'
  return actor.residence === 'arriving' || actor.marker !== null ? 'begun' : 'complete'
}

/** Deletes an actor that has begun to arrive and is not here. False: no such actor exists. */
export async function deleteArriving(tx: Transaction, id: string, { now, tables }: Deletion): Promise<boolean> {
  if ((await lockResident(tx, id))?.residence !== 'arriving') return false
  await tx.run(`UPDATE file_object SET state = 'unused', due_at = $2 WHERE actor_id = $1`, id, now)
  await deleteActor(tx, id, { now, tables })
  await clearDeletionMarker(tx, id)
  return true
}

/** Marks an actor whose import is not complete. */
const marker = { bucket: '_archive', name: 'importing' } as const

class Restore {
  readonly #deps: RestoreDeps
  readonly #records: RecordReader
  readonly #header: ArchiveHeader
  /** The actor that gets the content. */
  readonly #id: string
  readonly #passphrase: string
  /** Tells this import from others of the same actor. */
  readonly #import = randomId()
  readonly #restored: Record<string, number> = {}
  readonly #leftOut: Record<string, number> = {}
  #account: ArchiveMembers | null = null
  /** Relationships that are back. Records about others are left out. */
  readonly #peers = new Set<string>()
  #indexed: ReadonlySet<string> = new Set()

  constructor(deps: RestoreDeps, records: RecordReader, header: ArchiveHeader) {
    this.#deps = deps
    this.#records = records
    this.#header = header
    this.#id = deps.content?.actorId ?? header.id
    this.#passphrase = deps.passphrase ?? randomPassphrase()
  }

  async run(): Promise<Restored> {
    await this.#begin()
    try {
      await this.#readAll()
      await this.#complete()
    } catch (error) {
      // The move of an arriving actor continues or refuses it, and an operator completes a closed one.
      if (this.#deps.arriving === undefined && this.#deps.content === undefined) {
        await this.#deleteUnfinished(this.#import)
        await this.#deps.deleteRemoved(this.#id)
      }
      throw error
    }
    return {
      actorId: this.#id,
      passphrase: this.#passphrase,
      restored: this.#restored,
      leftOut: this.#leftOut,
    }
  }

  async #begin(): Promise<void> {
    const { store } = this.#deps
    const { id } = this.#header
    if (this.#deps.content !== undefined) return this.#beginContent(this.#deps.content)
    if (this.#deps.arriving !== undefined && this.#deps.arriving.actorId !== id)
      throw unusableArchive('it is the archive of another actor')
    const { arriving } = this.#deps
    await this.#requireFree()
    if (arriving === undefined) {
      await this.#deleteUnfinished(null)
      await this.#deleteRemoved()
    }
    this.#indexed = new Set(await store.read(indexedNames))
    await store.write(async (tx) => {
      const insert = (): Promise<boolean> => this.#insert(tx)
      await this.#requireKind(tx)
      // Another import of the actor began at the same time, or the actor was created meanwhile.
      if (!(await (arriving === undefined ? insert() : arriving.begin(tx, insert))))
        throw (await isComplete(tx, id)) ? this.#exists() : replaced()
      await clearDeletionMarker(tx, id)
      await this.#mark(tx)
    })
    // The transaction has deleted an earlier attempt, and its lists.
    if (arriving !== undefined) await this.#deleteRemoved()
  }

  async #beginContent({ isIndexed, begin }: ContentImport): Promise<void> {
    const { store } = this.#deps
    await this.#deleteRemoved()
    if (isIndexed) this.#indexed = new Set(await store.read(indexedNames))
    await store.write(async (tx) => {
      await lockActor(tx, this.#id)
      await begin(tx)
      await this.#mark(tx)
    })
  }

  async #mark(tx: Transaction): Promise<void> {
    await tx.run(
      `INSERT INTO attribute (actor_id, bucket, name, data, timestamp) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (actor_id, bucket, name) DO UPDATE SET data = excluded.data`,
      this.#id,
      marker.bucket,
      marker.name,
      JSON.stringify(this.#import),
      this.#deps.store.now(),
    )
  }

  /** @throws ServiceError `invalid_value` for an archive of a kind that the application does not declare. */
  async #requireKind(tx: Transaction): Promise<void> {
    const { kind } = this.#header
    if (!(await isDeclaredKind(tx, kind))) throw unusableArchive(undeclaredKind(kind))
  }

  #insert(tx: Transaction): Promise<boolean> {
    const { id, createdAt, kind } = this.#header
    const passphrase = seal(this.#deps.keyRing, this.#passphrase, bindingOf(actorPassphrase, id))
    return insertActor(tx, {
      id,
      creator: `importing:${id}`,
      passphrase,
      trusteeRoot: null,
      createdAt,
      guardedUntil: 0,
      kind,
    })
  }

  /** @throws ServiceError `conflict` when a complete actor has the id. */
  async #requireFree(): Promise<void> {
    const { store } = this.#deps
    const { id } = this.#header
    const isTaken = await store.read((q) => isComplete(q, id))
    if (isTaken) throw this.#exists()
  }

  #exists(): ServiceError {
    return new ServiceError('conflict', `Cannot import the archive: actor ${quoted(this.#header.id)} exists already`)
  }

  /** @param begun Deletes only what this import has begun. Null: any unfinished actor. */
  async #deleteUnfinished(begun: string | null): Promise<void> {
    const { store, tables } = this.#deps
    const { id } = this.#header
    await store.write(async (tx) => {
      const isThere = (await lockActor(tx, id)).length > 0
      const found = isThere ? await importOf(tx, id) : null
      if (found === null || (begun !== null && found !== begun)) return
      await tx.run(`UPDATE file_object SET state = 'unused', due_at = $2 WHERE actor_id = $1`, id, store.now())
      await deleteActor(tx, id, { now: store.now(), tables })
      await clearDeletionMarker(tx, id)
    })
  }

  /** The numbers of items come back, so no row of an earlier list may have them. */
  async #deleteRemoved(): Promise<void> {
    const { store, deleteRemoved } = this.#deps
    const id = this.#id
    await deleteRemoved(id)
    const left = await store.read((q) => q.get('SELECT list FROM removed_list WHERE actor_id = $1 LIMIT 1', id))
    if (left !== undefined)
      throw new ServiceError(
        'unavailable',
        `Cannot import the archive yet: rows of an earlier actor ${quoted(id)} are still being deleted. Try again.`,
      )
  }

  async #readAll(): Promise<void> {
    for (let ahead = await this.#records.peek(); ahead !== undefined; ahead = await this.#records.peek()) {
      if (ahead.kind === 'end') {
        const stated = recordInteger(ahead.members, 'end', 'records', 1)
        if (stated !== this.#records.count)
          throw unusableArchive(`it has ${this.#records.count} records, and its end states ${stated}`)
        await this.#records.next()
        return requireNoMore(await this.#records.peek())
      }
      await this.#readKind(ahead.kind)
      this.#deps.progress?.(this.#records.count)
    }
    throw unusableArchive('its end is missing, so it is not complete')
  }

  async #readKind(kind: string): Promise<void> {
    if (kind === 'list') return this.#list()
    const withContent = contentKindsOf(this.#deps.tables).find((one) => one.kind === kind)
    if (withContent !== undefined) return this.#content(withContent)
    const given = await this.#taken(kind)
    // The content of a record that this service does not know belongs to that record.
    if (given.length === 0 || kind === 'bytes') return
    if (this.#deps.arriving !== undefined && staysBehind.has(kind)) count(this.#leftOut, kind, given.length)
    else if (kind === 'account') this.#account = given[0] ?? null
    else if (kind === 'property') await this.#values(given)
    else {
      const found = recordKindsWith(this.#deps.tables).find((one) => one.kind === kind)
      const isUnfit = found?.isOfMove === true && this.#deps.arriving === undefined
      if (found === undefined || kind === 'app' || isUnfit) count(this.#leftOut, kind, given.length)
      else await this.#rows(found, given)
    }
  }

  /** The next records of a kind that the import takes. */
  async #taken(kind: string): Promise<readonly ArchiveMembers[]> {
    const { content } = this.#deps
    const all = await this.#records.batch(kind)
    if (content === undefined) return all
    const taken = all.filter((one) => content.takes(kind, one))
    if (taken.length < all.length) count(this.#leftOut, kind, all.length - taken.length)
    return taken
  }

  async #write<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const id = this.#id
    return this.#deps.store.write(async (tx) => {
      if ((await lockActor(tx, id)).length === 0) throw replaced()
      await this.#requireOwn(tx)
      return work(tx)
    })
  }

  /** @throws ServiceError `unavailable` when another import has replaced what this one has begun. */
  async #requireOwn(tx: Transaction): Promise<void> {
    if ((await importOf(tx, this.#id)) !== this.#import) throw replaced()
  }

  async #values(given: readonly ArchiveMembers[]): Promise<void> {
    const id = this.#id
    const values = given.map((one) => ({
      name: recordText(one, 'property', 'name'),
      value: archivedValue(one, 'property'),
      version: archivedVersion(one, 'property'),
    }))
    const indexed = values.filter(({ name }) => this.#indexed.has(name))
    await this.#write(async (tx) => {
      if (!(await putValues(tx, id, values))) throw unusableArchive('a list and a property have the same name')
      await replaceLookups(tx, id, new Map(indexed.map(({ name, value }) => [name, value])))
    })
    count(this.#restored, 'property', values.length)
  }

  async #list(): Promise<void> {
    const id = this.#id
    const given = listOf((await this.#records.next())?.members ?? new Map())
    // The numbers and revisions come back. With the id of the list, handles and entity tags of later items would match again.
    const archived = this.#deps.content === undefined ? given : { ...given, id: randomId() }
    await this.#write((tx) => beginList(tx, id, archived))
    count(this.#restored, 'list', 1)
    let [oldest, last] = [Number.MAX_SAFE_INTEGER, 0]
    for (let items = await this.#items(); items.length > 0; items = await this.#items()) {
      for (const { version, item } of items) [oldest, last] = [Math.min(oldest, version), Math.max(last, item)]
      await this.#write((tx) => returnItems(tx, id, archived.list, items, this.#deps.store.now()))
      count(this.#restored, 'item', items.length)
      this.#deps.progress?.(this.#records.count)
    }
    await this.#write((tx) => endList(tx, id, archived, { oldest: last === 0 ? 1 : oldest, last }))
  }

  async #items(): Promise<ArchivedItem[]> {
    return (await this.#records.batch('item')).map(itemOf)
  }

  async #content(kind: ContentKind): Promise<void> {
    const { store, bytes } = this.#deps
    const id = this.#id
    const given = (await this.#records.next())?.members ?? new Map<string, JsonText>()
    const object = randomId()
    await store.write((tx) => insertObject(tx, { actorId: id, object }, store.now() + objectLeaseMs))
    const arrived = new ArrivedContent()
    const records = this.#records
    async function* content(): AsyncGenerator<Uint8Array, void> {
      for await (const piece of contentAfter(records)) {
        arrived.add(piece)
        yield piece
      }
    }
    await bytes.put(object, content())
    const row = contentRowOf(kind, given)
    arrived.end(kind, row)
    await this.#write(async (tx) => {
      if (!(await keepObject(tx, { actorId: id, object })))
        throw new ServiceError(
          'unavailable',
          `Cannot import the archive: storing a ${kind.kind} took too long. Try again.`,
        )
      await kind.content.put(tx, id, { ...row, object })
    })
    count(this.#restored, kind.kind, 1)
  }

  async #rows(kind: RecordKind, given: readonly ArchiveMembers[]): Promise<void> {
    const { keyRing } = this.#deps
    const id = this.#id
    const isAboutPeer = kind.kind !== 'relationship' && kind.kind !== 'companion' && kind.key[0] === 'peer_id'
    const complete = given.filter(
      (one) =>
        (!needsSecrets(kind) || hasSecrets(kind, one)) &&
        (!isAboutPeer || this.#peers.has(recordText(one, kind.kind, 'peer_id'))),
    )
    const rows = complete.map((one) => rowOf(kind, id, one, keyRing))
    if (kind.kind === 'relationship') for (const one of complete) this.#peers.add(recordText(one, kind.kind, 'peer_id'))
    const all = {
      rows,
      given: complete,
      now: this.#deps.store.now(),
      hasResync: this.#deps.hasMissedChanges !== false,
      arriving: this.#deps.arriving ?? null,
      isClosed: this.#deps.content !== undefined,
    }
    await this.#write((tx) => insertKind(tx, id, kind, all))
    count(this.#restored, kind.kind, rows.length)
    count(this.#leftOut, kind.kind, given.length - rows.length)
  }

  /** Gives the actor its counters, its creator and its account. */
  async #complete(): Promise<void> {
    const { store, uniqueCreator } = this.#deps
    const { trusteeRoot } = this.#header
    const id = this.#id
    const creator = this.#creator()
    await store.write(async (tx) => {
      await lockActor(tx, id)
      await this.#requireOwn(tx)
      if (this.#deps.content !== undefined) return this.#completeContent(tx, this.#deps.content)
      await forgetBounds(tx, id)
      if (this.#deps.arriving !== undefined) await this.#nameArriving(tx)
      else {
        if (uniqueCreator && !(await isCreatorFree(tx, creator, id)))
          throw new ServiceError(
            'conflict',
            `Cannot import the archive: another actor has the creator ${quoted(creator)}`,
          )
        await setCreator(tx, id, creator)
        await setTrusteeRoot(tx, id, trusteeRoot)
      }
      await this.#countContents(tx)
      if (this.#account !== null && this.#header.kind === personKind) await this.#restoreAccount(tx, this.#account)
      await this.#deps.completing?.(tx, this.#header)
      await this.#unmark(tx)
    })
  }

  /**
   * The old service proves nothing about a person, so actors of this name that are here are found before the arriving one. A name
   * that only one actor may have stays with the other one, and no refusal tells a stranger about it. The owner of the arriving
   * actor keeps its trustee by choice.
   */
  async #nameArriving(tx: Transaction): Promise<void> {
    const { store, uniqueCreator } = this.#deps
    const creator = normalizeCreator(this.#creator())
    if (uniqueCreator && !(await isCreatorFree(tx, creator, this.#id))) return
    await setCreator(tx, this.#id, creator, store.now())
  }

  /** An archive chooses no creator for an actor that is of no person: it could be the address of one. */
  #creator(): string {
    const { creator, kind } = this.#header
    return kind === personKind ? creator : creatorOfKind({ id: this.#id, kind })
  }

  async #completeContent(tx: Transaction, { complete }: ContentImport): Promise<void> {
    await forgetBounds(tx, this.#id)
    await this.#countContents(tx)
    await complete(tx)
    await this.#unmark(tx)
  }

  async #countContents(tx: Transaction): Promise<void> {
    for (const { content } of contentKindsOf(this.#deps.tables)) await content.count(tx, this.#id)
  }

  async #unmark(tx: Transaction): Promise<void> {
    await tx.run(
      'DELETE FROM attribute WHERE actor_id = $1 AND bucket = $2 AND name = $3',
      this.#id,
      marker.bucket,
      marker.name,
    )
  }

  async #restoreAccount(tx: Transaction, given: ArchiveMembers): Promise<void> {
    const id = this.#id
    const row = rowOf(account, id, given, this.#deps.keyRing)
    const providerTokens = seal(this.#deps.keyRing, '{}', bindingOf(accountTokens, id))
    const subject = row['subject'] ?? null
    const isInserted = await insertAccount(tx, {
      actorId: id,
      identifier: String(row['identifier']),
      verified: row['verified'] === 1,
      subject: subject === null ? null : String(subject),
      providerTokens,
    })
    if (!isInserted)
      throw new ServiceError('conflict', 'Cannot import the archive: its owner signs in to another actor already')
    const inserted = await findAccount(tx, id)
    const fields = JSON.parse(String(row['fields'] === '' ? '{}' : row['fields'])) as AccountFields
    if (inserted !== null) await updateAccount(tx, inserted, { ...inserted, fields })
    count(this.#restored, 'account', 1)
  }
}

/** Records about sign-ins and accounts at the old service, which mean nothing at another one. */
const staysBehind: ReadonlySet<string> = new Set(['account', 'passkey', 'service_connection'])

function replaced(): ServiceError {
  return new ServiceError('unavailable', 'Cannot import the archive: another import of this actor has begun')
}

function hasSecrets({ members }: RecordKind, given: ArchiveMembers): boolean {
  return members.every(({ name, type }) => type !== 'secret' || given.has(name))
}

/** The import that has begun the actor and not completed it. Null: none. */
async function importOf(q: Pick<Transaction, 'get'>, id: string): Promise<string | null> {
  const row = await q.get<{ data: string }>(
    'SELECT data FROM attribute WHERE actor_id = $1 AND bucket = $2 AND name = $3',
    id,
    marker.bucket,
    marker.name,
  )
  return row === undefined ? null : stringValue(known(row.data))
}

/** The properties by whose values actors are found. */
async function indexedNames(q: Pick<Transaction, 'get'>): Promise<readonly string[]> {
  const row = await q.get<{ value: string }>(`SELECT value FROM setting WHERE name = 'indexed_properties'`)
  return row === undefined ? [] : (JSON.parse(row.value) as string[])
}
