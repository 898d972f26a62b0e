/**
 * The storage for the bytes of files: objects under random keys. An object is written once and never changed, so a reader
 * never meets a mix of two versions.
 */

/** A part of an object: its first byte, and the byte after its last one. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface OpenObject {
  /** Size of the object, not of the range. */
  readonly size: number
  /** The bytes of the range. Ending it early releases the object. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** Releases an object whose bytes are not read. */
  close(): Promise<void>
}

export interface FileBytes {
  /**
   * Writes an object completely and durably. An attempt that fails may leave a part of it, or all: the caller deletes it.
   *
   * @throws ServiceError `insufficient_storage` when the storage is full, `store_unavailable` when it cannot be used. An error
   *   of `chunks` is passed on.
   */
  put(key: string, chunks: AsyncIterable<Uint8Array>): Promise<void>
  /** Opens an object, or a part of it. Null: it does not exist. @throws ServiceError `store_unavailable` */
  open(key: string, range: ByteRange | null): Promise<OpenObject | null>
  /** Deletes an object. Succeeds also when the object does not exist. @throws ServiceError `store_unavailable` */
  delete(key: string): Promise<void>
  /**
   * Yields the keys of the objects that begin with one hexadecimal digit, a page at a time. Other names are left out.
   *
   * @throws ServiceError `store_unavailable`
   */
  list(digit: string): AsyncIterable<readonly string[]>
  close(): Promise<void>
}

export function isObjectKey(name: string): boolean {
  return /^[0-9a-f]{32}$/.test(name)
}

/** The keys are those of `randomId`. */
export function requireKey(key: string): void {
  if (!isObjectKey(key)) throw new Error('The key of an object must be 32 hexadecimal digits')
}
