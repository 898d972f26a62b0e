/** Recorded requests: JSON Lines with a path and headers, or a HAR file (HTTP Archive 1.2) of a browser or a proxy. */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { UsageError } from '../usage-error.ts'

export interface RecordedRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

const deciding: ReadonlySet<string> = new Set(['accept', 'authorization', 'cookie'])
/** Bytes of a HAR file, which is read as a whole. */
const maxBytes = 268_435_456

/** @throws UsageError for a file that cannot be read, with the line. */
export async function* recordedRequests(file: string): AsyncGenerator<RecordedRequest, void> {
  const { size, first } = await beginningOf(file)
  if (isHar(first)) {
    if (size > maxBytes) throw unreadable(file, `it is larger than ${maxBytes} bytes; convert it to JSON Lines`)
    yield* harEntries(file)
    return
  }
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
  let at = 0
  for await (const line of lines) {
    at += 1
    if (line.trim() === '') continue
    const request = requestOf(parsed(line))
    if (request === null) throw unreadable(file, `line ${at} is not an object with a path that begins with a slash`)
    yield request
  }
}

async function beginningOf(file: string): Promise<{ readonly size: number; readonly first: string }> {
  try {
    await using handle = await open(file)
    const { size } = await handle.stat()
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0)
    return { size, first: buffer.toString('utf8', 0, bytesRead) }
  } catch (error) {
    throw unreadable(file, error instanceof Error ? error.message : String(error))
  }
}

/** A HAR file is one object with the only member `log`. */
function isHar(first: string): boolean {
  return /^\uFEFF?\s*\{\s*"log"\s*:/.test(first)
}

async function* harEntries(file: string): AsyncGenerator<RecordedRequest, void> {
  await using handle = await open(file)
  const har = parsed((await handle.readFile('utf8')).replace(/^\uFEFF/, '')) as { log?: { entries?: unknown } } | null
  const entries = har?.log?.entries
  if (!Array.isArray(entries)) throw unreadable(file, 'its log has no entries')
  for (const [at, entry] of entries.entries()) {
    const { request } = (entry ?? {}) as { request?: { method?: unknown; url?: unknown; headers?: unknown } }
    const url = typeof request?.url === 'string' ? URL.parse(request.url) : null
    const headers = Array.isArray(request?.headers) ? (request.headers as { name?: unknown; value?: unknown }[]) : []
    const found = requestOf({
      method: request?.method,
      path: url === null ? null : `${url.pathname}${url.search}`,
      headers: Object.fromEntries(headers.map(({ name, value }) => [String(name), value])),
    })
    if (found === null) throw unreadable(file, `entry ${at + 1} has no request with a URL`)
    yield found
  }
}

function requestOf(value: unknown): RecordedRequest | null {
  const { method = 'GET', path, headers = {} } = (value ?? {}) as Readonly<Record<string, unknown>>
  if (typeof method !== 'string' || typeof path !== 'string' || !path.startsWith('/')) return null
  if (typeof headers !== 'object' || headers === null) return null
  return { method: method.toUpperCase(), path, headers: decidingHeaders(headers) }
}

/** The headers that decide about the answer to a read. */
export function decidingHeaders(headers: object): Readonly<Record<string, string>> {
  const kept = Object.entries(headers)
    .map(([name, text]: [string, unknown]) => [name.toLowerCase(), text] as const)
    .filter((pair): pair is readonly [string, string] => deciding.has(pair[0]) && typeof pair[1] === 'string')
  return Object.fromEntries(kept)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function unreadable(file: string, why: string): UsageError {
  return new UsageError(`Cannot read the requests in ${file}: ${why}.`)
}
