/** Reads requests that an embedding server received for its own routes. */
import type { IncomingMessage } from 'node:http'
import { type HostRequest, isWebRequest } from '../../app/embedding/sessions.ts'
import type { RequestHead } from './request.ts'

/** Reads the head. The body belongs to the embedding server. */
export function headOf(request: HostRequest): RequestHead {
  return isWebRequest(request) ? headOfFetch(request) : headOfNode(request)
}

function headOfFetch(request: Request): RequestHead {
  const header = (name: string): string | undefined => request.headers.get(name) ?? undefined
  return { method: request.method, header, hasRepeated: (name) => header(name)?.includes(',') === true }
}

function headOfNode(request: IncomingMessage): RequestHead {
  return {
    method: request.method ?? 'GET',
    header: (name) => {
      const value = request.headers[name]
      return typeof value === 'string' ? value : value?.join(', ')
    },
    hasRepeated: (name) => (request.headersDistinct[name]?.length ?? 0) > 1,
  }
}
