/** Passes requests on to the old service, and sends reads to the new one as well, whose answers are only compared. */
import { createServer, request as requestHttp, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Answer, mediaTypeOf } from './compare-answers.ts'
import { decidingHeaders, type RecordedRequest } from './recorded-requests.ts'

/** The longest body that is compared. */
const maxCompared = 8_388_608

export interface MirrorDeps {
  readonly against: URL
  /** Called after the old service answered a read. */
  readonly compare: (request: RecordedRequest, old: Answer) => void
  /** Called for each other request. */
  readonly pass: () => void
  /** Called when the old service did not answer. */
  readonly fail: () => void
}

export interface Mirror {
  readonly port: number
  close(): Promise<void>
}

export async function startMirror(port: number, deps: MirrorDeps): Promise<Mirror> {
  const server = createServer((request, response) => handle(deps, request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () => closed(server),
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

function handle(deps: MirrorDeps, request: IncomingMessage, response: ServerResponse): void {
  const { against } = deps
  const send = against.protocol === 'https:' ? requestHttps : requestHttp
  const path = request.url ?? '/'
  const onward = send(
    {
      hostname: against.hostname,
      port: against.port,
      // The unchanged path: even one that begins with two slashes names no other host here.
      path,
      method: request.method ?? 'GET',
      headers: { ...request.headers, 'accept-encoding': 'identity' },
      setHost: false,
    },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      if (isRead) collect(answer, (body) => deps.compare(recordedOf(request, path), answerOf(answer, body)))
      else deps.pass()
    },
  )
  onward.on('error', () => {
    deps.fail()
    if (!response.headersSent) response.writeHead(502, { 'content-type': 'text/plain' })
    response.end('The service behind this address did not answer.\n')
  })
  response.on('close', () => onward.destroy())
  request.pipe(onward)
}

/** Calls `whole` with the body, unless it is a stream or too long. */
function collect(answer: IncomingMessage, whole: (body: Buffer) => void): void {
  if (String(answer.headers['content-type']).startsWith('text/event-stream')) return
  const chunks: Buffer[] = []
  let size = 0
  answer.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxCompared) chunks.push(chunk)
    else chunks.length = 0
  })
  answer.on('end', () => {
    if (size <= maxCompared) whole(Buffer.concat(chunks))
  })
}

function recordedOf({ method = 'GET', headers }: IncomingMessage, path: string): RecordedRequest {
  return { method, path, headers: decidingHeaders(headers) }
}

function answerOf({ statusCode = 0, headers }: IncomingMessage, body: Buffer): Answer {
  return {
    status: statusCode,
    type: mediaTypeOf(headers['content-type']),
    location: headers.location ?? '',
    body: body.toString('utf8'),
  }
}
