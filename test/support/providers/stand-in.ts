/** A loopback server in place of a provider, which answers with given routes and records requests. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly form: URLSearchParams
}

export interface Reply {
  readonly status?: number
  /** Sent as JSON. */
  readonly json?: unknown
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface StandIn {
  readonly url: string
  readonly asked: Asked[]
  /** Handlers by path that answer in place of the routes. A handler that does nothing lets the caller wait. */
  readonly answers: Map<string, RequestListener>
  close(): Promise<void>
}

/** Starts a server with routes by method and path, such as `POST /token`. Other requests receive 404. */
export async function startStandIn(
  routes: Readonly<Record<string, (asked: Asked) => Reply | Promise<Reply>>>,
): Promise<StandIn> {
  const asked: Asked[] = []
  const answers = new Map<string, RequestListener>()
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://stand.in')
    let body = ''
    for await (const piece of request.setEncoding('utf8')) body += String(piece)
    const one: Asked = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      form: new URLSearchParams(body),
    }
    asked.push(one)
    const other = answers.get(url.pathname)
    if (other !== undefined) return other(request, response)
    const {
      status = 200,
      json,
      text = '',
      headers = {},
    } = (await routes[`${one.method} ${one.path}`]?.(one)) ?? {
      status: 404,
    }
    response.writeHead(status, { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...headers })
    response.end(json === undefined ? text : JSON.stringify(json))
  }
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answers,
    close: async () => {
      const end = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await end
    },
  }
}
