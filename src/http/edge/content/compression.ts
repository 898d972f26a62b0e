/**
 * Compresses pages and the files that they use (RFC 9110 section 8.4).
 *
 * Pages contain private data. A site that could make a browser request pages with text of its choice would learn the data
 * from the lengths of compressed responses (the BREACH attack). Pages are therefore compressed only for requests that no
 * other site has begun. Data as JSON is not compressed.
 */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { HttpRequest } from '../request.ts'
import { type HttpResponse, isPage } from '../response.ts'

/** Smaller bodies fit into one packet anyway. */
const leastBytes = 1024
const publicTypes =
  /^(text\/css|text\/javascript|text\/plain|image\/svg\+xml|application\/(manifest\+)?json|application\/wasm);?/
const packBrotli = promisify(brotliCompress)
const packGzip = promisify(gzip)

type Coding = 'br' | 'gzip'

/** Compressed files by coding and tag. Each tag names one content. */
const kept = new Map<string, Uint8Array<ArrayBuffer>>()
const maxKept = 64

/** Returns the response in a coding that the client accepts, or as it is. */
export async function compressed(request: HttpRequest, answer: HttpResponse): Promise<HttpResponse> {
  const { body, headers } = answer
  if (body === null || !mayCompress(request, answer)) return answer
  const varying = { ...headers, Vary: varyOf(headers['Vary']) }
  const coding = codingFor(request.header('accept-encoding'))
  if (coding === null || Buffer.byteLength(body) < leastBytes) return { ...answer, headers: varying }
  const { ETag: tag } = headers
  return {
    ...answer,
    headers: {
      ...varying,
      'Content-Encoding': coding,
      // The bytes differ from those of the other codings, but mean the same (RFC 9110 section 8.8.1).
      ...(tag === undefined || tag.startsWith('W/') ? {} : { ETag: `W/${tag}` }),
    },
    body: tag === undefined ? await packed(coding, body, 5) : await packedOnce(coding, body, tag),
  }
}

function mayCompress(request: HttpRequest, answer: HttpResponse): boolean {
  const { headers } = answer
  if (answer.status === 304 || headers['Content-Encoding'] !== undefined || headers['Content-Range'] !== undefined)
    return false
  if (isPage(answer)) return ['same-origin', 'none'].includes(request.header('sec-fetch-site') ?? '')
  return headers['Cache-Control']?.startsWith('public') === true && publicTypes.test(headers['Content-Type'] ?? '')
}

async function packedOnce(coding: Coding, body: string | Uint8Array, tag: string): Promise<Uint8Array<ArrayBuffer>> {
  const key = `${coding} ${tag}`
  const known = kept.get(key)
  if (known !== undefined) return known
  const made = await packed(coding, body, 9)
  const [oldest] = kept.keys()
  if (kept.size >= maxKept && oldest !== undefined) kept.delete(oldest)
  kept.set(key, made)
  return made
}

async function packed(coding: Coding, body: string | Uint8Array, quality: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const made =
    coding === 'br'
      ? await packBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } })
      : await packGzip(bytes, { level: Math.min(quality, 9) })
  return new Uint8Array(made)
}

/** The better coding that the header accepts with a weight above 0. Null: none. */
function codingFor(header: string | undefined): Coding | null {
  if (header === undefined) return null
  const weights = new Map(
    header.split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1'
      return [name, Number(weight)] as const
    }),
  )
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get('*') ?? 0
  if (weightOf('br') > 0 && weightOf('br') >= weightOf('gzip')) return 'br'
  return weightOf('gzip') > 0 ? 'gzip' : null
}

function varyOf(before: string | undefined): string {
  return before === undefined ? 'Accept-Encoding' : `${before}, Accept-Encoding`
}
