/**
 * The files of actors. Their bytes are objects that never change (docs/decisions/072): an upload writes a new object, commits
 * the row that names it, and leaves the old object to `UnusedObjects`. A crash at any step keeps one version of the file.
 */
import { createHash, hash } from 'node:crypto'
import { type Caller, callerName } from '../../caller.ts'
import { DomainEvent } from '../../domain-event.ts'
import { ServiceError } from '../../errors.ts'
import type { Live } from '../../live/live.ts'
import type { Log } from '../../observe/log.ts'
import { originText } from '../../origin.ts'
import type { Right } from '../../permission/operation.ts'
import type { Permission } from '../../permission/permission.ts'
import { quotaExceeded } from '../../quota/quota.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { randomId } from '../../secret/random.ts'
import { open, seal, type Sealed } from '../../secret/sealed.ts'
import type { CatchUpStore } from '../../store/catch-up-store.ts'
import type { LockedActor, Transaction } from '../../store/store.ts'
import type { Timers } from '../../timers.ts'
import { abandon } from '../../object/abandon-object.ts'
import { Arriving } from '../../object/arriving.ts'
import type { ByteRange, FileBytes, OpenObject } from '../../object/file-bytes.ts'
import { checkFileName } from './file-name.ts'
import {
  deleteFile,
  type FileFacts,
  findFile,
  findFiles,
  findUsage,
  putFile,
  putUsage,
  type StoredFile,
} from './file-store.ts'
import { insertObject, keepObject, releaseObject } from '../../object/object-store.ts'
import { checkedType } from './media-type.ts'
import { leased } from '../../object/object-lease.ts'
import type { FileSettings } from './options.ts'
import { fileBytesQuota, filesQuota } from './quotas.ts'
import { objectLeaseMs } from '../../object/unused-objects.ts'

export interface FileAccess {
  readonly actorId: string
  readonly caller: Caller
}

/** Decides about the stored file in the transaction of a change. Null: the name has no file. It throws to refuse. */
export type FileCondition = (stored: FileFacts | null) => void

export interface NewFile {
  readonly type?: string | undefined
  /** Size of the content, when it is known before. A file that does not fit is then refused before its bytes are read. */
  readonly size?: number | undefined
  /** The SHA-256 that the content must have, as hexadecimal digits. */
  readonly hash?: string | undefined
  readonly condition?: FileCondition | undefined
}

export interface StoredResult {
  readonly facts: FileFacts
  /** False: the file replaced another one. */
  readonly isNew: boolean
}

/** A change of a file, in its transaction. Null: the file is deleted. */
export interface FileChange {
  readonly name: string
  readonly file: FileFacts | null
}

export interface FilesDeps {
  readonly store: CatchUpStore
  readonly permission: Permission
  readonly bytes: FileBytes
  readonly keyRing: KeyRing
  readonly timers: Timers
  readonly now: () => number
  readonly log: Log
  readonly live: Pick<Live, 'record'>
  readonly limits: FileSettings
  /** Starts the deletion of the actor's unused objects. */
  readonly wake: (actorId: string) => void
}

/** Limit of a page of files. */
export const maxFilesListed = 1000
/** Begins a sealed cursor. No name begins with a slash. */
const sealedCursor = '//'
/** A file may be replaced between the read of its row and of its bytes, so the row is read again. */
const maxReads = 5
/** Files of an actor that one caller sends at the same time. */
const maxArriving = 8

export class Files {
  readonly #deps: FilesDeps
  /** Runs in the transaction of each change. */
  readonly changed = new DomainEvent<[tx: Transaction, actor: LockedActor, change: FileChange]>()
  readonly #arriving = new Arriving(maxArriving, 'This caller', 'uploads')

  constructor(deps: FilesDeps) {
    this.#deps = deps
  }

  /** Stores a file that arrives in a request. @throws ServiceError `too_many_requests` while others arrive; as `put` */
  async upload(...put: Parameters<Files['put']>): Promise<StoredResult> {
    const [{ actorId, caller }] = put
    return this.#arriving.take(`${actorId} ${callerName(caller)}`, () => this.put(...put))
  }

  /**
   * Stores a file. It replaces the file of this name when all bytes are stored. A failure changes nothing.
   *
   * @throws ServiceError `invalid_name`, `invalid_value` for the type or the digest, `unsupported_media_type`, `payload_too_large`,
   *   `quota_exceeded`, `insufficient_storage`, `forbidden`; what `content` throws.
   */
  async put(
    access: FileAccess,
    name: string,
    content: AsyncIterable<Uint8Array>,
    file: NewFile,
  ): Promise<StoredResult> {
    checkFileName(name)
    await this.#require(access, 'write', name)
    const type = checkedType(file.type, this.#deps.limits.fileTypes)
    const measured = new Measured(content, await this.#limitFor(access.actorId, name, file))
    const written = { actorId: access.actorId, object: randomId() }
    const { store, now, bytes } = this.#deps
    const origin = originText(access.caller)
    await store.write((tx) => insertObject(tx, written, now() + objectLeaseMs))
    const release = leased(this.#deps, written)
    try {
      await bytes.put(written.object, measured)
      const facts = { name, type, object: written.object, size: measured.size, hash: measured.hash() }
      if (file.hash !== undefined && file.hash !== facts.hash)
        throw new ServiceError('invalid_value', 'Cannot store the file: its content does not have the stated digest')
      return await store.changeActor(
        access.actorId,
        (tx, actor) => this.#commit(tx, actor, facts, file.condition),
        origin,
      )
    } catch (error) {
      await abandon({ ...this.#deps, wakeUnused: this.#deps.wake }, written, 'the bytes of a failed upload')
      throw error
    } finally {
      release()
    }
  }

  /** @throws ServiceError `not_found`, `forbidden`, `invalid_name` */
  async stat(access: FileAccess, name: string): Promise<FileFacts | null> {
    checkFileName(name)
    await this.#require(access, 'read', name)
    return this.#deps.store.read((q) => findFile(q, access.actorId, name))
  }

  /**
   * Opens a file. The bytes are of the version whose facts are returned. Null: the file does not exist.
   *
   * @param pick Selects the part to read, by the facts. Null: all. `none`: no bytes are read.
   * @throws ServiceError `file_missing` when the storage does not have the bytes; `forbidden`, `invalid_name`.
   */
  async open(
    access: FileAccess,
    name: string,
    pick: (facts: FileFacts) => ByteRange | 'none' | null = () => null,
  ): Promise<{ readonly facts: FileFacts; readonly bytes: OpenObject | null } | null> {
    const { store, bytes } = this.#deps
    let facts: StoredFile | null = null
    checkFileName(name)
    await this.#require(access, 'read', name)
    for (let reads = 0; reads < maxReads; reads += 1) {
      const before = facts?.object
      facts = await store.read((q) => findFile(q, access.actorId, name))
      if (facts === null) return null
      const range = pick(facts)
      if (range === 'none') return { facts, bytes: null }
      if (facts.object === before) break
      const opened = await bytes.open(facts.object, range)
      if (opened?.size === facts.size) return { facts, bytes: opened }
      await opened?.close()
      if (opened !== null) break
    }
    throw new ServiceError('file_missing', `Cannot read the file ${JSON.stringify(name)}: its content is missing`, {
      reason: `The storage for files does not have the object ${facts?.object ?? ''} with ${facts?.size ?? 0} bytes`,
    })
  }

  /**
   * Lists the files that the caller may read, by name. A page may be shorter than its limit: `next` says whether more follow.
   *
   * @throws ServiceError `forbidden`
   */
  async list(
    { actorId, caller }: FileAccess,
    { prefix, after, limit }: { readonly prefix: string; readonly after: string; readonly limit: number },
  ): Promise<{ readonly files: readonly FileFacts[]; readonly next: string | null }> {
    const { store, permission } = this.#deps
    const from = this.#afterName(actorId, after)
    const found = await store.read((q) => findFiles(q, actorId, { prefix, after: from, limit: limit + 1 }))
    const page = found.slice(0, limit)
    const operation = { category: 'files', right: 'read' } as const
    const names = page.map(({ name }) => name)
    const shown = await permission.filter(actorId, caller, operation, names)
    return {
      files: page.filter(({ name }) => shown.has(name)),
      next: found.length > limit ? this.#cursorAt(actorId, page.at(-1)?.name ?? '', shown) : null,
    }
  }

  /** The last name of a page. It is sealed when the caller may not know it. */
  #cursorAt(actorId: string, name: string, shown: ReadonlySet<string>): string {
    if (shown.has(name)) return name
    return `${sealedCursor}${seal(this.#deps.keyRing, name, [actorId, 'file_listing'])}`
  }

  /** @throws ServiceError `bad_request` for a sealed cursor that was changed, or belongs to another actor. */
  #afterName(actorId: string, after: string): string {
    if (!after.startsWith(sealedCursor)) return after
    try {
      return open(this.#deps.keyRing, after.slice(sealedCursor.length) as Sealed, [actorId, 'file_listing'])
    } catch (cause) {
      throw new ServiceError('bad_request', 'Invalid after: expected a name, or next of a page.', { cause })
    }
  }

  /** The size of all files of the actor, and what it may be. */
  async usage(actorId: string): Promise<{ readonly files: number; readonly bytes: number; readonly maxBytes: number }> {
    const { store, limits } = this.#deps
    return { ...(await store.read((q) => findUsage(q, actorId))), maxBytes: limits.maxActorFileBytes }
  }

  /** Returns whether the file existed. @throws ServiceError `invalid_name`, `forbidden`; what the condition throws. */
  async remove(access: FileAccess, name: string, condition?: FileCondition): Promise<boolean> {
    checkFileName(name)
    await this.#require(access, 'delete', name)
    const { actorId, caller } = access
    const { store, now, wake } = this.#deps
    return store.changeActor(
      actorId,
      async (tx, actor) => {
        const stored = await findFile(tx, actorId, name)
        condition?.(stored)
        if (stored === null) return false
        const { files, bytes } = await findUsage(tx, actorId)
        await deleteFile(tx, actorId, name)
        await putUsage(tx, actorId, { files: files - 1, bytes: bytes - stored.size })
        await releaseObject(tx, { actorId, object: stored.object }, now())
        await this.#record(tx, actor, { name, file: null })
        store.afterCommit(tx, () => wake(actorId))
        return true
      },
      originText(caller),
    )
  }

  /** Stores the row of written bytes. */
  async #commit(
    tx: Transaction,
    actor: LockedActor,
    written: Omit<StoredFile, 'createdAt' | 'updatedAt'>,
    condition: FileCondition | undefined,
  ): Promise<StoredResult> {
    const { store, now, wake } = this.#deps
    const actorId = actor.id
    const replaced = await findFile(tx, actorId, written.name)
    condition?.(replaced)
    const usage = await this.#usageWith(tx, actorId, { replaced, size: written.size })
    if (!(await keepObject(tx, { actorId, object: written.object })))
      throw new ServiceError('unavailable', 'Cannot store the file: the upload took too long. Try again.')
    const file = { ...written, createdAt: replaced?.createdAt ?? now(), updatedAt: now() }
    await putFile(tx, actorId, file)
    await putUsage(tx, actorId, usage)
    if (replaced !== null) await releaseObject(tx, { actorId, object: replaced.object }, now())
    await this.#record(tx, actor, { name: file.name, file })
    if (replaced !== null) store.afterCommit(tx, () => wake(actorId))
    return { facts: file, isNew: replaced === null }
  }

  async #record(tx: Transaction, actor: LockedActor, change: FileChange): Promise<void> {
    await this.changed.emit(tx, actor, change)
    await this.#deps.live.record(tx, actor, 'files', [change.name])
  }

  /**
   * Refuses a file of known size before its bytes are read, and returns the limit while they are. The transaction of the change
   * decides again.
   */
  async #limitFor(actorId: string, name: string, { size, condition }: NewFile): Promise<UploadLimit> {
    const { store, limits } = this.#deps
    const { maxFileBytes: most, maxActorFileBytes: limit } = limits
    if (size !== undefined && size > most) throw tooLarge(most)
    return store.read(async (q) => {
      const replaced = await findFile(q, actorId, name)
      condition?.(replaced)
      const { bytes } = await this.#usageWith(q, actorId, { replaced, size: size ?? 0 })
      const others = bytes - (size ?? 0)
      // A file that is not larger than the one it replaces is stored also where the limit was lowered.
      const room = Math.max(limit - others, replaced?.size ?? 0)
      const noRoom = (used: number) => quotaExceeded({ quota: fileBytesQuota, used: others + used, limit })
      return room < most ? { most: room, refusal: noRoom } : { most, refusal: () => tooLarge(most) }
    })
  }

  /** The usage after a change. @throws ServiceError `quota_exceeded` */
  async #usageWith(
    q: Pick<Transaction, 'get' | 'all' | 'isSharded'>,
    actorId: string,
    { replaced, size }: { readonly replaced: FileFacts | null; readonly size: number },
  ): Promise<{ readonly files: number; readonly bytes: number }> {
    const { maxActorFileBytes, maxFiles } = this.#deps.limits
    const usage = await findUsage(q, actorId)
    const files = usage.files + (replaced === null ? 1 : 0)
    const bytes = usage.bytes - (replaced?.size ?? 0) + size
    if (files > usage.files && files > maxFiles)
      throw quotaExceeded({ quota: filesQuota, used: files, limit: maxFiles })
    if (bytes > usage.bytes && bytes > maxActorFileBytes)
      throw quotaExceeded({ quota: fileBytesQuota, used: bytes, limit: maxActorFileBytes })
    return { files, bytes }
  }

  async #require({ actorId, caller }: FileAccess, right: Right, target: string): Promise<void> {
    await this.#deps.permission.require(actorId, caller, { category: 'files', right, target })
  }
}

/** The version of a file for entity tags: the bytes and the type determine it. */
export function fileVersionOf({ hash: digest, type }: Pick<FileFacts, 'hash' | 'type'>): string {
  return hash('sha256', `${digest}\n${type}`, 'base64url')
}

/** The most bytes that may arrive, and the error for more. */
interface UploadLimit {
  readonly most: number
  readonly refusal: (bytes: number) => ServiceError
}

/** Counts and hashes the content while it is read. */
class Measured implements AsyncIterable<Uint8Array> {
  size = 0
  readonly #content: AsyncIterable<Uint8Array>
  readonly #limit: UploadLimit
  readonly #hash = createHash('sha256')

  constructor(content: AsyncIterable<Uint8Array>, limit: UploadLimit) {
    this.#content = content
    this.#limit = limit
  }

  /** Call it once, at the end. */
  hash(): string {
    return this.#hash.digest('hex')
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of this.#content) {
      this.size += chunk.length
      if (this.size > this.#limit.most) throw this.#limit.refusal(this.size)
      this.#hash.update(chunk)
      yield chunk
    }
  }
}

function tooLarge(most: number): ServiceError {
  return new ServiceError('payload_too_large', `Cannot store the file: a file may have at most ${most} bytes`, {
    headers: { Connection: 'close' },
  })
}
