/** Reads the records of an archive from its bytes, with bounded memory. */
import { ServiceError } from '../errors.ts'
import { members, normalize, stringValue } from '../json/json.ts'
import type { ArchiveMembers } from './record-rows.ts'

export interface ArchiveRecord {
  readonly kind: string
  readonly members: ArchiveMembers
}

const lineFeed = 0x0a
const longestKind = 100

export interface ArchiveLimits {
  /** The highest number of nested containers of a value. */
  readonly depth: number
  /** The longest line, in bytes. */
  readonly line: number
}

/** For operators. 512 is the largest `TROUPE_MAX_JSON_DEPTH`. */
const widest: ArchiveLimits = { depth: 512, line: 67_108_864 }
/** Records in one transaction, and the characters after which it ends earlier. */
const batchRecords = 512
const batchCharacters = 1_048_576

/** @throws ServiceError `invalid_value` for a line that is not a record, with its number. */
export async function* readRecords(
  bytes: AsyncIterable<Uint8Array>,
  limits = widest,
): AsyncGenerator<ArchiveRecord, void> {
  let at = 0
  for await (const text of linesOf(bytes, limits.line)) {
    at += 1
    if (text.trim() === '') continue
    yield recordIn(text, at, limits.depth)
  }
}

function recordIn(text: string, at: number, maxDepth: number): ArchiveRecord {
  const found = parsed(text, at, maxDepth)
  const kind = stringValue(found?.get('kind') ?? normalize('null'))
  if (found === null || kind === null || kind.length > longestKind)
    throw unreadable(at, 'it is not an object with a kind')
  return { kind, members: found }
}

function parsed(text: string, at: number, maxDepth: number): ArchiveMembers | null {
  try {
    // The record itself is one more container.
    return members(normalize(text, maxDepth + 1, 'keep'))
  } catch (error) {
    throw unreadable(at, error instanceof Error ? error.message : String(error))
  }
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>, longest: number): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let kept: Uint8Array[] = []
  let size = 0
  let at = 0
  const tooLong = (line: number): ServiceError => unreadable(line, `it has more than ${longest} bytes`)
  const take = (last: Uint8Array): string => {
    at += 1
    if (size + last.length > longest) throw tooLong(at)
    const whole = kept.length === 0 ? last : Buffer.concat([...kept, last])
    kept = []
    size = 0
    try {
      return decoder.decode(whole)
    } catch {
      throw unreadable(at, 'it is not UTF-8')
    }
  }
  for await (const chunk of bytes) {
    let start = 0
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      yield take(chunk.subarray(start, end))
      start = end + 1
    }
    kept.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > longest) throw tooLong(at + 1)
  }
  if (size > 0) yield take(new Uint8Array())
}

function unreadable(at: number, why: string): ServiceError {
  return new ServiceError('invalid_value', `Cannot read line ${at} of the archive: ${why}`)
}

/** The records, one ahead. */
export class RecordReader {
  readonly #source: AsyncGenerator<ArchiveRecord, void>
  #ahead: ArchiveRecord | undefined
  count = 0

  constructor(source: AsyncGenerator<ArchiveRecord, void>) {
    this.#source = source
  }

  /** Ends the reading early. */
  async close(): Promise<void> {
    await this.#source.return()
  }

  async peek(): Promise<ArchiveRecord | undefined> {
    this.#ahead ??= (await this.#source.next()).value ?? undefined
    return this.#ahead
  }

  async next(): Promise<ArchiveRecord | undefined> {
    const record = await this.peek()
    this.#ahead = undefined
    if (record !== undefined) this.count += 1
    return record
  }

  /** The next records of a kind, as many as one transaction takes. */
  async batch(kind: string): Promise<ArchiveMembers[]> {
    const taken: ArchiveMembers[] = []
    let characters = 0
    while (taken.length < batchRecords && characters < batchCharacters) {
      const ahead = await this.peek()
      if (ahead?.kind !== kind) break
      taken.push(ahead.members)
      for (const value of ahead.members.values()) characters += value.length
      await this.next()
    }
    return taken
  }
}
