/**
 * A strict S3-compatible store for tests. It verifies Signature Version 4 with an own implementation of the documented
 * algorithm, which test/rules/s3-signature.test.ts compares with the published examples. No maintained server of this kind
 * exists as an npm package.
 */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface SignedRequest {
  readonly method: string
  /** Path as it was sent, without the query. */
  readonly path: string
  /** The names and values of the query. */
  readonly query?: URLSearchParams
  readonly headers: Readonly<Record<string, string>>
}

export interface S3Key {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

export const testKey: S3Key = { accessKeyId: 'test-key', secretAccessKey: 'test-secret', region: 'eu-test-1' }

/** The signature of a request whose `Authorization` names these signed headers. */
export function signatureOf(
  { method, path, query, headers }: SignedRequest,
  key: S3Key,
  signed: readonly string[],
): string {
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
  const hmac = (secret: string | Buffer, text: string): Buffer => createHmac('sha256', secret).update(text).digest()
  const date = headers['x-amz-date'] ?? ''
  const canonical = [
    method,
    path,
    canonicalQuery(query ?? new URLSearchParams()),
    ...signed.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ +/g, ' ')}`),
    '',
    signed.join(';'),
    headers['x-amz-content-sha256'] ?? '',
  ].join('\n')
  const scope = `${date.slice(0, 8)}/${key.region}/s3/aws4_request`
  const signing = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const [day, region, service] = [date.slice(0, 8), key.region, 's3']
  const secret = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    (from, part) => hmac(from, part),
    `AWS4${key.secretAccessKey}`,
  )
  return hmac(secret, signing).toString('hex')
}

function canonicalQuery(query: URLSearchParams): string {
  const encoded = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  const pairs = [...query].map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
  return pairs.toSorted((a, b) => (a < b ? -1 : 1)).join('&')
}

/** The fault of the next request with a method. */
export type Fault =
  /** The store does what is asked, and the connection breaks before the answer. */
  | 'lost-answer'
  | 'unavailable'
  | 'full'
  /** The content breaks off in the middle. */
  | 'cut'

export interface FakeS3 {
  readonly endpoint: string
  /** By bucket and name. */
  readonly objects: Map<string, Buffer>
  /** Method and path of each request. */
  readonly requests: string[]
  fail(method: string, ...faults: Fault[]): void
  close(): Promise<void>
}

export async function startS3(bucket = 'bucket'): Promise<FakeS3> {
  const objects = new Map<string, Buffer>()
  const requests: string[] = []
  const faults = new Map<string, Fault[]>()
  const server = createServer((request, response) => {
    void serve(request, response).catch(() => response.destroy())
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? ''
    const [path = '', query = ''] = (request.url ?? '').split('?')
    requests.push(`${method} ${path}`)
    const fault = faults.get(method)?.shift()
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
    if (fault === 'unavailable') return refuse(response, 503, 'SlowDown')
    if (fault === 'full') return refuse(response, 507, 'XMinioStorageFull')
    const why = refusal(request, body)
    if (why !== null) return refuse(response, 403, why)
    if (method === 'GET' && path === `/${bucket}/`) return list(response, { bucket, objects, query, fault })
    if (!path.startsWith(`/${bucket}/`)) return refuse(response, 404, 'NoSuchBucket')
    const name = path.slice(1)
    if (method === 'PUT') {
      if (request.headers['content-length'] === undefined) return refuse(response, 411, 'MissingContentLength')
      objects.set(name, body)
    }
    if (method === 'DELETE') objects.delete(name)
    if (fault === 'lost-answer') return void request.socket.destroy()
    if (method === 'HEAD') return void response.writeHead(objects.has(name) ? 200 : 404).end()
    if (method === 'GET') return give(request, response, { object: objects.get(name), isCut: fault === 'cut' })
    response.writeHead(method === 'DELETE' ? 204 : 200).end()
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    requests,
    fail: (method, ...next) => void faults.set(method, next),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function refusal(request: IncomingMessage, body: Buffer): string | null {
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
  const [, credential, signed = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=(\S+), ?SignedHeaders=(\S+), ?Signature=([0-9a-f]{64})$/.exec(
      headers['authorization'] ?? '',
    ) ?? []
  const date = headers['x-amz-date'] ?? ''
  if (credential !== `${testKey.accessKeyId}/${date.slice(0, 8)}/${testKey.region}/s3/aws4_request`)
    return 'InvalidAccessKeyId'
  const names = signed.split(';')
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.includes(name))) return 'AccessDenied'
  const [path = '', query] = (request.url ?? '').split('?')
  const sent = { method: request.method ?? '', path, query: new URLSearchParams(query), headers }
  if (signatureOf(sent, testKey, names) !== signature) return 'SignatureDoesNotMatch'
  const isRight = createHash('sha256').update(body).digest('hex') === headers['x-amz-content-sha256']
  return isRight ? null : 'XAmzContentSHA256Mismatch'
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response
    .writeHead(status, { 'content-type': 'application/xml' })
    .end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`)
}

function give(
  request: IncomingMessage,
  response: ServerResponse,
  { object, isCut }: { readonly object: Buffer | undefined; readonly isCut: boolean },
): void {
  if (object === undefined) return refuse(response, 404, 'NoSuchKey')
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  const part = first === undefined ? object : object.subarray(Number(first), Number(last) + 1)
  response.writeHead(first === undefined ? 200 : 206, {
    'content-length': part.length,
    ...(first === undefined ? {} : { 'content-range': `bytes ${first}-${last}/${object.length}` }),
  })
  if (!isCut) return void response.end(part)
  response.write(part.subarray(0, part.length / 2), () => response.destroy())
}

/** Names on a page of a listing. */
const pageSize = 3

/** A page of a listing (ListObjectsV2), as Amazon documents it. */
function list(
  response: ServerResponse,
  listing: {
    readonly bucket: string
    readonly objects: ReadonlyMap<string, Buffer>
    readonly query: string
    readonly fault: Fault | undefined
  },
): void {
  const query = new URLSearchParams(listing.query)
  const [prefix, after] = [query.get('prefix') ?? '', query.get('continuation-token') ?? '']
  const isFolder = query.get('delimiter') === '/'
  const shown = (name: string): string => {
    const end = name.indexOf('/', prefix.length)
    return isFolder && end >= 0 ? name.slice(0, end + 1) : name
  }
  const all = [...listing.objects.keys()]
    .map((name) => name.slice(listing.bucket.length + 1))
    .filter((name) => name.startsWith(prefix))
    .map(shown)
  const left = [...new Set(all)].toSorted((a, b) => (a < b ? -1 : 1)).filter((name) => name > after)
  const page = left.slice(0, pageSize)
  const entries = page.map((name) =>
    isFolder && name.endsWith('/')
      ? `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`
      : `<Contents><Key>${name}</Key><Size>1</Size></Contents>`,
  )
  const more = left.length > pageSize ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
  const text = `<?xml version="1.0"?><ListBucketResult><Prefix>${prefix}</Prefix>${entries.join('')}${more}</ListBucketResult>`
  response.writeHead(200, { 'content-type': 'application/xml' })
  response.end(listing.fault === 'cut' ? text.slice(0, text.length / 2) : text)
}
