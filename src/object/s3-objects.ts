/**
 * Objects in a bucket of an S3-compatible store, with Signature Version 4. The store needs the length before the content, so an
 * upload is first written to a temporary file. An attempt can then be repeated.
 */
import { randomUUID } from 'node:crypto'
import { createHash } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { Agent, type Dispatcher } from 'undici'
import { ServiceError } from '../errors.ts'
import { closeQuietly, pieces, unusable, usable, writeAll } from './disk.ts'
import type { ByteRange, OpenObject } from './file-bytes.ts'

export interface S3Settings {
  readonly endpoint: string
  readonly bucket: string
  /** Begins the name of every object. Empty, or ends with a slash. */
  readonly prefix: string
  readonly region: string
  /** The bucket is the first segment of the path, or the first label of the host. */
  readonly style: 'path' | 'host'
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** Reads `s3://<bucket>/<prefix>?endpoint=<URL>&region=<region>`, which `config/options.ts` has checked. */
export function s3Settings(place: string, key: Pick<S3Settings, 'accessKeyId' | 'secretAccessKey'>): S3Settings {
  const url = new URL(place)
  const path = url.pathname.replace(/^\/+|(?<!\/)\/+$/g, '')
  const region = url.searchParams.get('region') ?? 'us-east-1'
  return {
    ...key,
    bucket: url.hostname,
    prefix: path === '' ? '' : `${path}/`,
    region,
    endpoint: (url.searchParams.get('endpoint') ?? `https://s3.${region}.amazonaws.com`).replace(/(?<!\/)\/+$/, ''),
    style: url.searchParams.get('style') === 'host' ? 'host' : 'path',
  }
}

const maxAttempts = 4
const firstPauseMs = 200
/** Time without progress after which an attempt has failed. */
const stalledMs = 30_000
/** SHA-256 of an empty body. */
const emptyHash = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
/** Characters of an error response that are read. */
const maxErrorBytes = 65_536

/** Names of a listing. One that ends with a slash means all names that begin with it. */
const namesPattern = /<(?:Key|Prefix)>([\w./~-]+)<\/(?:Key|Prefix)>/g
/** A listing has up to 1000 names of up to 1024 bytes, with some facts of each. */
const maxListingBytes = 4_194_304

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Empty: the bucket itself. */
  readonly name: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly hash?: string
  /** Makes the body of an attempt. */
  readonly body?: () => Readable
}

/** The names of objects may have letters, digits, dots, dashes, underscores, tildes and slashes. */
export class S3Objects {
  readonly #settings: S3Settings
  readonly #what: string
  readonly #pauseMs: number
  readonly #agent = new Agent({ headersTimeout: stalledMs, bodyTimeout: stalledMs, connect: { timeout: 10_000 } })

  /** @param what The objects in errors, such as `file`. */
  constructor(settings: S3Settings, what: string, { pauseMs = firstPauseMs } = {}) {
    this.#settings = settings
    this.#what = what
    this.#pauseMs = pauseMs
  }

  async put(name: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const file = await usable(`store the ${this.#what}`, openTemporary)
    try {
      const hash = createHash('sha256')
      let size = 0
      for await (const chunk of chunks) {
        hash.update(chunk)
        size += chunk.length
        await usable(`store the ${this.#what}`, () => writeAll(file, chunk))
      }
      const answer = await this.#send(`store the ${this.#what}`, {
        method: 'PUT',
        name,
        hash: hash.digest('hex'),
        headers: { 'content-length': String(size), 'content-type': 'application/octet-stream' },
        body: () => Readable.from(pieces(file, { start: 0, end: size })),
      })
      await requireStatus(`store the ${this.#what}`, answer, [200, 201, 204])
      await answer.body.dump()
    } finally {
      await closeQuietly(file)
    }
  }

  async open(name: string, range: ByteRange | null): Promise<OpenObject | null> {
    const what = `read the ${this.#what}`
    const isEmpty = range !== null && range.end <= range.start
    const part = range === null || isEmpty ? null : { range: `bytes=${range.start}-${range.end - 1}` }
    const answer = await this.#send(what, { method: 'GET', name, ...(part === null ? {} : { headers: part }) })
    if (answer.statusCode === 404 && (await errorOf(answer)) === 'NoSuchKey') return null
    await requireStatus(what, answer, part === null ? [200] : [206])
    const close = async (): Promise<void> => void answer.body.destroy()
    // A body that nothing reads ends with an error when it is destroyed.
    answer.body.on('error', () => {})
    if (isEmpty) await close()
    return { size: sizeIn(answer), bytes: isEmpty ? none() : received(what, answer.body), close }
  }

  async delete(name: string): Promise<void> {
    const answer = await this.#send(`delete the ${this.#what}`, { method: 'DELETE', name })
    if (answer.statusCode === 404 && (await errorOf(answer)) === 'NoSuchKey') return
    await requireStatus(`delete the ${this.#what}`, answer, [200, 202, 204])
    await answer.body.dump()
  }

  async has(name: string): Promise<boolean> {
    const what = `look for the ${this.#what}`
    const answer = await this.#send(what, { method: 'HEAD', name })
    await requireStatus(what, answer, [200, 404])
    return answer.statusCode === 200
  }

  /**
   * Yields the names that begin with a prefix, a page at a time.
   *
   * @param depth `folder`: names with a further slash are one name, up to that slash. `all`: each name.
   */
  async *list(prefix: string, depth: 'folder' | 'all'): AsyncGenerator<readonly string[], void> {
    const what = `list each ${this.#what}`
    const begin = `${this.#settings.prefix}${prefix}`
    const folders = depth === 'folder' ? { delimiter: '/' } : {}
    for (let next: string | undefined = ''; next !== undefined; ) {
      const from: Record<string, string> = next === '' ? {} : { 'continuation-token': next }
      const query = { 'list-type': '2', prefix: begin, ...folders, ...from }
      const answer = await this.#send(what, { method: 'GET', name: '', query })
      await requireStatus(what, answer, [200])
      const text = await usable(what, () => textOf(answer, maxListingBytes))
      if (!text.trimEnd().endsWith('</ListBucketResult>')) throw unusable(what, new Error('The listing was cut'))
      const names = [...text.matchAll(namesPattern)].map(([, name = '']) => name)
      yield names
        .filter((name) => name.startsWith(begin) && name !== begin)
        .map((name) => name.slice(this.#settings.prefix.length))
      next = /<NextContinuationToken>([^<]+)<\/NextContinuationToken>/.exec(text)?.[1]
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  /** Repeats a request whose answer is lost, or that the store could not serve now. Every request may run twice. */
  async #send(what: string, request: S3Request): Promise<Dispatcher.ResponseData> {
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt === maxAttempts
      try {
        const answer = await this.#attempt(request)
        const { statusCode } = answer
        if (isLast || (statusCode < 500 && statusCode !== 429)) return answer
        await answer.body.dump()
      } catch (error) {
        if (error instanceof ServiceError) throw error
        if (isLast) throw unusable(what, error)
      }
      await setTimeout(this.#pauseMs * 2 ** (attempt - 1))
    }
  }

  async #attempt(request: S3Request): Promise<Dispatcher.ResponseData> {
    const { method, name, query = {}, headers = {}, hash = emptyHash, body } = request
    const { accessKeyId, secretAccessKey, region } = this.#settings
    const signer = new AwsV4Signer({
      method,
      url: this.#urlOf(name, query),
      headers: { ...headers, 'x-amz-content-sha256': hash },
      accessKeyId,
      secretAccessKey,
      region,
      service: 's3',
    })
    const signed = await signer.sign()
    const { origin, pathname, search } = signed.url
    const sent = { ...Object.fromEntries(signed.headers), ...headers }
    return this.#agent.request({ origin, path: `${pathname}${search}`, method, headers: sent, body: body?.() ?? null })
  }

  #urlOf(name: string, query: Readonly<Record<string, string>>): string {
    const { endpoint, bucket, prefix, style } = this.#settings
    const url = new URL(endpoint)
    const base = url.pathname.replace(/(?<!\/)\/+$/, '')
    const object = name === '' ? '' : `${prefix}${name}`
    if (style === 'host') url.hostname = `${bucket}.${url.hostname}`
    url.pathname = style === 'host' ? `${base}/${object}` : `${base}/${bucket}/${object}`
    url.search = new URLSearchParams(query).toString()
    return url.href
  }
}

/** Opens a file that no longer has a name, so that a killed process leaves nothing. */
async function openTemporary(): Promise<FileHandle> {
  const path = join(tmpdir(), `troupe-upload-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}

/** @throws ServiceError `store_unavailable`, or `insufficient_storage` when the store is full. */
async function requireStatus(
  what: string,
  answer: Dispatcher.ResponseData,
  expected: readonly number[],
): Promise<void> {
  if (expected.includes(answer.statusCode)) return
  const code = await errorOf(answer)
  const cause = new Error(`The S3-compatible store answered ${answer.statusCode} ${code}`)
  if (answer.statusCode === 507 || /^(?:XMinioStorageFull|EntityTooLarge|QuotaExceeded)$/.test(code))
    throw new ServiceError('insufficient_storage', `Cannot ${what}: its storage is full`, { cause })
  throw unusable(what, cause)
}

/** The code of an error response. A missing bucket is another error than a missing object. */
async function errorOf(answer: Dispatcher.ResponseData): Promise<string> {
  try {
    return /<Code>(\w+)<\/Code>/.exec(await textOf(answer, maxErrorBytes))?.[1] ?? ''
  } catch {
    // The status alone must do.
    return ''
  }
}

/** The body, up to about a number of bytes. */
async function textOf({ body }: Dispatcher.ResponseData, most: number): Promise<string> {
  let text = ''
  for await (const piece of body as AsyncIterable<Buffer>) {
    text += piece.toString('latin1')
    if (text.length > most) break
  }
  return text
}

function sizeIn({ headers, statusCode }: Dispatcher.ResponseData): number {
  const text = statusCode === 206 ? String(headers['content-range']).split('/')[1] : String(headers['content-length'])
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : Number.NaN
}

async function* received(what: string, body: Dispatcher.ResponseData['body']): AsyncGenerator<Uint8Array, void> {
  try {
    yield* body as AsyncIterable<Buffer>
  } catch (cause) {
    throw unusable(what, cause)
  }
}

async function* none(): AsyncGenerator<Uint8Array, void> {}
