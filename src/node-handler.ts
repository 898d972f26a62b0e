/** The service as a node:http request listener. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toNodeListener } from './http/edge/node.ts'
import type { App } from './troupe.ts'

/** A listener of node:http that Express may use as well; it calls `next` only when the application cannot start. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse, next?: (error: unknown) => void) => void

/**
 * For `http.createServer(toNodeHandler(app))`, `expressApp.use('/actors', toNodeHandler(app))` and the like. Mounted under
 * a path, give the same path in `baseUrl`. A start that failed is tried again by the next request; `await app.start()`
 * beforehand shows it at once.
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
