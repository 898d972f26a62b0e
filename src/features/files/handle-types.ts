/** The handle by which applications use the files of an actor. */

/** The content of a file. A stream is read once, and never as a whole in memory. */
export type FileContent = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | Uint8Array | Blob | string

/** Facts about a file. @public */
export interface FileInfo {
  /** May have slashes, such as `photos/cat.jpg`. */
  readonly name: string
  /** In bytes. */
  readonly size: number
  /** The media type, as declared. */
  readonly type: string
  /** SHA-256 of the content, as 64 hexadecimal digits. */
  readonly sha256: string
  /** Changes with the content and the type. For `ifMatch`, and without the quotes of HTTP. */
  readonly etag: string
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A file with its content, which can be read once. @public */
export interface OpenFile extends FileInfo {
  readonly stream: ReadableStream<Uint8Array>
  /** Reads the content into memory. */
  bytes(): Promise<Uint8Array<ArrayBuffer>>
  /** Reads the content into memory, as UTF-8. */
  text(): Promise<string>
}

export interface FileOptions {
  /** Default: the type of a Blob, `text/plain;charset=utf-8` for a string, else `application/octet-stream`. */
  readonly type?: string
  /** Stores the file only when the stored one has this entity tag; null: only when the name has no file. */
  readonly ifMatch?: string | null
}

/** A page of the files of an actor. @public */
export interface FilePage {
  readonly files: readonly FileInfo[]
  /** For `after` of the next page; null on the last one. */
  readonly next: string | null
}

/** The files of an actor. @public */
export interface FilesHandle {
  /**
   * Stores a file when all bytes have arrived. It replaces the file of this name. A failure changes nothing.
   *
   * @throws ServiceError `invalid_name`; `payload_too_large`, `quota_exceeded`; `unsupported_media_type`; `precondition_failed`;
   *   `insufficient_storage` and `store_unavailable` when the storage is full or cannot be used.
   */
  put(name: string, content: FileContent, options?: FileOptions): Promise<FileInfo>
  /**
   * Opens a file, or a part of it: from the byte `start` up to but not including the byte `end`. Undefined: it does not exist.
   *
   * @throws ServiceError `file_missing` when the storage has lost the content.
   */
  get(name: string, part?: { readonly start?: number; readonly end?: number }): Promise<OpenFile | undefined>
  /** Returns what is stored about a file, without its content. Undefined: it does not exist. */
  stat(name: string): Promise<FileInfo | undefined>
  /** Returns a page of files in the order of their names. Default limit: 100, at most 1000. */
  list(query?: { readonly prefix?: string; readonly limit?: number; readonly after?: string }): Promise<FilePage>
  /** Deletes a file. Returns whether it existed. @throws ServiceError `precondition_failed` */
  delete(name: string, options?: { readonly ifMatch?: string }): Promise<boolean>
}

declare module '../../app/actor-handle.ts' {
  interface ActorHandle {
    /** Files of this actor: bytes with a name and a media type. */
    readonly files: FilesHandle
  }
}
