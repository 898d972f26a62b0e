/**
 * The response with the content of a file. Peers and programs may have stored it, so a browser must never run it in the origin
 * of the owner's pages: it is downloaded, its type is not guessed, and opened as a document it has an origin of its own.
 */
import type { ByteRange, OpenObject } from '../../../object/file-bytes.ts'
import type { FileFacts } from '../file-store.ts'
import type { HttpResponse } from '../../../http/edge/response.ts'

const policy = "default-src 'none'; frame-ancestors 'none'; sandbox"
/** A browser may keep the content, and asks each time whether it may still show it. */
const cacheControl = 'private, no-cache'

/** @param opened Null for a response to HEAD. */
export function contentResponse(
  file: FileFacts & { readonly tag: string },
  opened: OpenObject | null,
  range: ByteRange | null,
): HttpResponse {
  const { start, end } = range ?? { start: 0, end: file.size }
  const headers = {
    'Content-Type': file.type,
    'Content-Length': String(end - start),
    'Content-Disposition': attachment(file.name),
    'Content-Security-Policy': policy,
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': cacheControl,
    'Accept-Ranges': 'bytes',
    ETag: `"${file.tag}"`,
    'Repr-Digest': `sha-256=:${Buffer.from(file.hash, 'hex').toString('base64')}:`,
    ...(range === null ? {} : { 'Content-Range': `bytes ${start}-${end - 1}/${file.size}` }),
  }
  const close = (): void => void opened?.close()
  const stream = whole(opened?.bytes ?? none(), end - start)
  return { status: range === null ? 200 : 206, headers, body: null, stream, onClose: close }
}

export function unchangedFile(tag: string): HttpResponse {
  return { status: 304, headers: { ETag: `"${tag}"`, 'Cache-Control': cacheControl }, body: null }
}

/** The last segment of the name, in ASCII and in UTF-8 (RFC 6266). */
function attachment(name: string): string {
  const last = name.slice(name.lastIndexOf('/') + 1)
  const ascii = last.replace(/[^\x20-\x7e]|["\\%]/gu, '_')
  const encoded = encodeURIComponent(last).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`
}

/** A content that ends early fails, because the client would wait for the rest or take the next response for it. */
async function* whole(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array, void> {
  let sent = 0
  for await (const piece of bytes) {
    sent += piece.length
    yield piece
  }
  if (sent !== size) throw new Error(`The storage for files returned ${sent} of ${size} bytes`)
}

async function* none(): AsyncGenerator<Uint8Array, void> {}
