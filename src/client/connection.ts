/** Requests of a client to its actor, with the credential of the client. */
import { failureOf, RequestFailed, unreachable } from './request-failed.ts'

/** An access token, and the actor that it belongs to. */
export interface AccessCredential {
  /** Null: the browser sends the cookie of the session. */
  readonly accessToken: string | null
  readonly actorId: string
}

export interface AccessCredentials {
  /** @throws RequestFailed `signed_out` */
  readonly tokens: () => Promise<AccessCredential>
  /** Replaces a credential that the service refused with 401. Null: the session has ended. */
  readonly renew: (refused: AccessCredential) => Promise<AccessCredential | null>
}

/** The options of `client.request`. @public */
export interface RequestOptions {
  /**
   * Bytes, forms and streams are sent as they are, and so is a string with a content type that is not JSON. Anything else is
   * sent as JSON. A stream is sent once: it cannot be repeated after the session was renewed.
   */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface RequestSender {
  /**
   * Sends a request to a path below the actor, such as `/properties`. A status of 400 or more is an error.
   *
   * @throws RequestFailed
   */
  readonly request: (method: string, path: string, options?: RequestOptions) => Promise<Response>
}

export function connect(url: string, send: typeof fetch, credentials: AccessCredentials): RequestSender {
  const attempt = async (
    { accessToken, actorId }: AccessCredential,
    method: string,
    path: string,
    { body, headers = {}, signal }: RequestOptions,
  ): Promise<Response> => {
    const given = new Headers({ accept: 'application/json', ...headers })
    if (accessToken !== null) given.set('authorization', `Bearer ${accessToken}`)
    const sent = body === undefined ? {} : sentBody(body, given)
    try {
      return await send(`${url}/${actorId}${path}`, {
        method,
        // Not all replacements of `fetch` take an instance of `Headers`.
        headers: Object.fromEntries(given),
        // A cookie next to the token could belong to another person.
        credentials: accessToken === null ? 'include' : 'omit',
        ...sent,
        ...(signal === undefined ? {} : { signal }),
      })
    } catch (error) {
      throw unreachable(error)
    }
  }
  return {
    async request(method, path, options = {}) {
      const first = await credentials.tokens()
      let response = await attempt(first, method, path, options)
      if (response.status === 401) {
        const renewed = options.body instanceof ReadableStream ? null : await credentials.renew(first)
        if (renewed === null) throw await failureOf(response)
        response = await attempt(renewed, method, path, options)
      }
      if (response.status >= 400) throw await failureOf(response)
      return response
    },
  }
}

/** The body of a request. Adds its content type to the headers, unless they have one or `fetch` adds it. */
function sentBody(body: unknown, headers: Headers): Pick<RequestInit, 'body'> & { readonly duplex?: 'half' } {
  const type = headers.get('content-type')
  if (body instanceof ReadableStream) return { body, duplex: 'half' }
  if (isBytes(body) || (typeof body === 'string' && type !== null && !/\bjson\b/i.test(type))) return { body }
  if (type === null) headers.set('content-type', 'application/json')
  return { body: JSON.stringify(body) }
}

function isBytes(body: unknown): body is NonNullable<RequestInit['body']> {
  const kinds = [Blob, ArrayBuffer, FormData, URLSearchParams]
  return ArrayBuffer.isView(body) || kinds.some((kind) => body instanceof kind)
}

/** A version of the service, whose own last characters may be `-br`, and the suffix of a proxy. */
const withSuffix = /^("[\w-]{22}(?:\.[\w-]{22})?(?:\.text)?)(?:-|--|;)(?:gzip|gz|br|zstd|deflate)"$/

/**
 * The version in a response. Proxies that compress mark it as weak (nginx, Varnish, Cloudflare) or add a suffix (Apache and Caddy:
 * `-gzip`, Jetty: `--gzip`, LiteSpeed: `;gz`), but the versions of the service are strong. Null: none.
 */
export function strongVersion({ headers }: Response): string | null {
  const tag = headers.get('etag')
  return tag === null ? null : tag.replace(/^W\//, '').replace(withSuffix, '$1"')
}

/** Returns the path with each segment encoded. A string is a path itself: `settings/theme`. */
export function pathOf(path: string | readonly string[]): string {
  const segments = typeof path === 'string' ? path.split('/') : path
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')
}

/** Runs a read. Undefined when the target does not exist. */
export async function orMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof RequestFailed && error.code === 'not_found') return undefined
    throw error
  }
}
