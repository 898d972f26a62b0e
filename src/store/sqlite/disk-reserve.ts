/**
 * A file beside the database that keeps some of the disk free. When the disk is full, the file is deleted, and deletions use
 * its space: SQLite writes to its log of changes before it returns a page.
 */
import { randomFillSync } from 'node:crypto'
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { StoreLog } from '../store.ts'

const pieceBytes = 1024 * 1024

export interface ReserveSettings {
  /** The size of the file. 0: the file is not made, and deletions fail on a full disk. */
  readonly bytes: number
  /** The time between two attempts to make the file again, in milliseconds. Default: 5000. */
  readonly retryMs?: number
  /** Returns the free bytes of the disk. Tests replace the disk here. */
  readonly freeBytes?: () => number
}

export interface DiskReserveOptions extends ReserveSettings {
  /** The path of the database. */
  readonly path: string
  readonly log: StoreLog
}

export class DiskReserve {
  readonly #options: DiskReserveOptions
  readonly #path: string
  readonly #retryMs: number
  #isInUse = false
  #nextTry = 0

  constructor(options: DiskReserveOptions) {
    this.#options = options
    this.#path = `${options.path}-reserve`
    this.#retryMs = options.retryMs ?? 5_000
  }

  /** Whether the disk is full, so that only deletions may make the database larger. */
  get isInUse(): boolean {
    return this.#isInUse
  }

  /** Makes the file, unless it exists. */
  open(): void {
    if (this.#options.bytes === 0 || this.#isThere() || this.#make()) return
    this.#isInUse = true
    this.#nextTry = performance.now() + this.#retryMs
    this.#options.log(
      'error',
      `The disk of ${this.#options.path} has no room for the reserve of ${this.#options.bytes} bytes: only deletions make the database larger`,
    )
  }

  /** Frees the space after a change found the disk full. False: the file is not kept, or its space is already in use. */
  use(): boolean {
    if (this.#options.bytes === 0 || this.#isInUse) return false
    this.#isInUse = true
    this.#nextTry = performance.now() + this.#retryMs
    this.#remove()
    this.#options.log(
      'error',
      `The disk of ${this.#options.path} is full: until there is room, only deletions make the database larger`,
    )
    return true
  }

  /** Makes the file again when there is room for it. */
  restore(): void {
    if (!this.#isInUse || performance.now() < this.#nextTry) return
    this.#nextTry = performance.now() + this.#retryMs
    // With room for little more than the file, the disk would be full again at once.
    if (this.#freeBytes() < 2 * this.#options.bytes || !this.#make()) return
    this.#isInUse = false
    this.#options.log('warn', `The disk of ${this.#options.path} has room again`)
  }

  #remove(): void {
    try {
      rmSync(this.#path, { force: true })
    } catch (error) {
      this.#options.log('warn', `Cannot delete ${this.#path}`, error)
    }
  }

  #isThere(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.size === this.#options.bytes
  }

  #freeBytes(): number {
    if (this.#options.freeBytes !== undefined) return this.#options.freeBytes()
    const { bavail, bsize } = statfsSync(dirname(this.#options.path))
    return bavail * bsize
  }

  /** Writes random bytes, which no file system stores in less space. False: the disk lacks the room. */
  #make(): boolean {
    try {
      const piece = randomFillSync(Buffer.allocUnsafe(Math.min(pieceBytes, this.#options.bytes)))
      const file = openSync(this.#path, 'w', 0o600)
      try {
        for (let left = this.#options.bytes; left > 0; ) left -= writeSync(file, piece, 0, Math.min(left, piece.length))
      } finally {
        closeSync(file)
      }
      return true
    } catch {
      this.#remove()
      return false
    }
  }
}
