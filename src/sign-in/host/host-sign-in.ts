/** Asks the embedding program who its signed-in user is, in a sign-in that began here. */
import type { Authenticate, HostUser } from '../../app/embedding/authenticate.ts'
import { type HostRequest, isWebRequest } from '../../app/embedding/sessions.ts'
import { ServiceError } from '../../errors.ts'
import type { Log } from '../../observe/log.ts'
import { inTime, type Timers } from '../../timers.ts'
import { ownSignInOf } from '../own/own-codes.ts'
import { hostProviderName } from '../own/own-plans.ts'
import type { States } from '../states.ts'
import type { HostProvider } from './host-provider.ts'

export interface HostSignInDeps {
  readonly authenticate: Authenticate
  readonly provider: HostProvider
  readonly states: States
  readonly timers: Timers
  readonly log: Log
  readonly baseUrl: string
}

/** The request of the browser. */
export interface AskedRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly original: HostRequest
}

/** A sign-in that arrives at the embedding program. */
export interface AtHost {
  readonly state: string
  readonly codeChallenge: string
  /** The cookie of the browser. */
  readonly browser: string | null
  /** The browser was at the sign-in page of the embedding program before. */
  readonly hasReturned: boolean
  readonly request: AskedRequest
}

/** The time in which the embedding program must answer, in milliseconds. */
const answerMs = 10_000

export class HostSignIn {
  readonly #deps: HostSignInDeps

  constructor(deps: HostSignInDeps) {
    this.#deps = deps
  }

  /**
   * Returns the URL to which the browser continues: the callback with a code for the user, or the sign-in page of the
   * embedding program.
   *
   * @throws ServiceError `bad_request` for a state that is unknown or belongs to another browser, `forbidden` when the
   *   program knows no user and has no sign-in page, `provider_failed` when it fails or does not answer, and each
   *   ServiceError of the program.
   */
  async continue({ state, codeChallenge, browser, hasReturned, request }: AtHost): Promise<string> {
    const { states, provider } = this.#deps
    // The program is asked only in a sign-in of this browser, so that no other site gets a code for the user.
    const begun = await states.require(state, browser, hostProviderName)
    const user = await this.#ask(request)
    if (user !== null) return provider.callbackUrl(user, ownSignInOf(begun, { state, codeChallenge }))
    const page = hasReturned ? null : provider.signInPageFor({ state, code_challenge: codeChallenge })
    if (page === null) {
      throw new ServiceError(
        'forbidden',
        'Cannot sign you in: you are not signed in at the application. Sign in there first, then open this page again.',
        { reason: 'authenticate returned no user' },
      )
    }
    return page
  }

  async #ask(asked: AskedRequest): Promise<HostUser | null> {
    const { authenticate, baseUrl, log, timers } = this.#deps
    try {
      const request = requestOf(asked, new URL(baseUrl).origin)
      const late = `authenticate did not answer within ${answerMs / 1000} seconds`
      return checked(await inTime(timers, answerMs, async () => authenticate(request, asked.original), late))
    } catch (error) {
      if (error instanceof ServiceError) throw error
      log.error({ error }, 'The option authenticate failed')
      throw new ServiceError('provider_failed', 'Cannot sign you in: the application did not say who you are', {
        cause: error,
      })
    }
  }
}

/** @throws TypeError for a result of another form, because JavaScript applications have no type checks. */
function checked(user: HostUser | null | undefined): HostUser | null {
  if (user === null || user === undefined) return null
  if (typeof user !== 'object' || typeof user.email !== 'string' || typeof user.verified !== 'boolean')
    throw new TypeError('authenticate must return { email, verified }, null or undefined')
  return { email: user.email, verified: user.verified }
}

/** Makes a web-standard request without the body, which only the service reads. */
function requestOf({ method, path, query, original }: AskedRequest, origin: string): Request {
  // A path that begins with two slashes must not become another host.
  const url = new URL(origin)
  url.pathname = path
  url.search = query
  return new Request(url, { method, headers: headersOf(original) })
}

function headersOf(original: HostRequest): Headers {
  if (isWebRequest(original)) return new Headers(original.headers)
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(original.headersDistinct)) {
    // HTTP/2 has pseudo-header fields, which `Headers` refuses.
    if (!name.startsWith(':')) for (const value of values) headers.append(name, value)
  }
  return headers
}
