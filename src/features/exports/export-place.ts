/** The place where scheduled exports are: a folder, or a bucket of an S3-compatible store. */

export interface ExportPlace {
  /**
   * Stores a file completely, or not at all.
   *
   * @throws ServiceError `insufficient_storage`, `store_unavailable`; what `chunks` throws.
   */
  put(run: string, file: string, chunks: AsyncIterable<Uint8Array>): Promise<void>
  /** @throws ServiceError `store_unavailable` */
  has(run: string, file: string): Promise<boolean>
  /** The runs that have a file, also unfinished ones, oldest first. @throws ServiceError `store_unavailable` */
  runs(): Promise<readonly string[]>
  /** Deletes all files of a run. @throws ServiceError `store_unavailable` */
  remove(run: string, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

/**
 * The file of an actor, in a folder of its first two letters, because folders with very many files are slow. `~a` means
 * `A`: some file systems treat both letters alike.
 */
export function fileOfActor(actorId: string): string {
  const name = actorId.replace(/[A-Z]/g, (letter) => `~${letter.toLowerCase()}`)
  return `${name.slice(0, 2)}/${name}.jsonl.gz`
}

/** The file that a run has when it is complete. */
export const completeFile = 'complete.json'
