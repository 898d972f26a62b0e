/** The service as a node:http request listener. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeListener } from './http/edge/node.ts'
import type { App } from './troupe.ts'

/** A request listener for node:http and Express. It calls `next` only when the application cannot start. @public */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error: unknown) => void) => void

/**
 * Makes a request listener, as in `http.createServer(toNodeHandler(app))` or `expressApp.use('/actors', toNodeHandler(app))`.
 * `baseUrl` must have the same path as the mount point. The next request retries a failed start; `await app.start()`
 * reports the failure early.
 *
 * @public
 */
export function toNodeHandler(app: App): NodeHandler {
  let listener: ReturnType<typeof toNodeListener> | undefined
  return (request, response, next) => {
    if (listener !== undefined) return listener(request, response)
    app.running().then(
      ({ handle }) => {
        listener ??= toNodeListener(handle)
        listener(request, response)
      },
      (error: unknown) => cannotStart(error, response, next),
    )
  }
}

function cannotStart(error: unknown, response: ServerResponse, next: ((error: unknown) => void) | undefined): void {
  if (next !== undefined) return next(error)
  process.emitWarning(error instanceof Error ? error : String(error))
  response.writeHead(503, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  response.end('{"error":"store_unavailable","message":"The service could not start"}')
}
