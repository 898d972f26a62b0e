/** Limits the size of a body that is read as a stream. */
import { tooLarge } from './fetch.ts'
import type { HttpRequest } from './request.ts'

/** The body of a request, which may have at most this size. @throws ServiceError `payload_too_large` */
export async function* limitedBody(request: HttpRequest, mostBytes: number): AsyncGenerator<Uint8Array, void> {
  if ((sizeOf(request) ?? 0) > mostBytes) throw tooLarge(mostBytes)
  let size = 0
  for await (const piece of request.stream()) {
    size += piece.length
    if (size > mostBytes) throw tooLarge(mostBytes)
    yield piece
  }
}

/** The size of the body, if the request states it. */
export function sizeOf(request: HttpRequest): number | undefined {
  const length = request.header('content-length')
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined
}
