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

export interface RequestOptions {
  /** Sent as JSON. */
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
    try {
      return await send(`${url}/${actorId}${path}`, {
        method,
        headers: {
          accept: 'application/json',
          ...headers,
          ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        // A cookie next to the token could belong to another person.
        credentials: accessToken === null ? 'include' : 'omit',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
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
        const renewed = await credentials.renew(first)
        if (renewed === null) throw await failureOf(response)
        response = await attempt(renewed, method, path, options)
      }
      if (response.status >= 400) throw await failureOf(response)
      return response
    },
  }
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
