/** The service as a node:http request listener. */
import type { RequestListener } from 'node:http'
import { toNodeListener } from './http/node.ts'
import type { App } from './troupe.ts'

/**
 * For `http.createServer(toNodeHandler(app))`, `expressApp.use(toNodeHandler(app))` and the like. Mounted under a path,
 * give the same path in `baseUrl`.
 */
export function toNodeHandler(app: App): RequestListener {
  let listener: RequestListener | undefined
  return (request, response) => {
    if (listener !== undefined) return listener(request, response)
    app.start().then(
      ({ handle }) => {
        listener ??= toNodeListener(handle)
        listener(request, response)
      },
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    )
  }
}
