/** The session and cookies of a browser or application, signed in or not. */
import type { Actor } from '../../actor/actor.ts'
import type { Actors } from '../../actor/actors.ts'
import {
  cookieValue,
  ownSessionCookie,
  readCredential,
  sessionCookie,
  sessionCookieValue,
} from '../../auth/credentials.ts'
import type { Tokens, ValidToken } from '../../token/tokens.ts'
import { accessCookie, refreshCookie, SessionCookies } from '../edge/cookies/session-cookies.ts'
import type { RequestHead } from '../edge/request.ts'
import {
  antiForgeryValue,
  browserSecretOf,
  type ForgeryRule,
  mayChangeCookies,
  requestOriginOf,
} from './anti-forgery.ts'

export interface VisitorDeps {
  readonly actors: Pick<Actors, 'find'>
  readonly tokens: Pick<Tokens, 'validate' | 'knows'>
  readonly forgeryRule: Pick<ForgeryRule, 'origin' | 'isTrustedOrigin'>
}

/** Reads the session of a request on demand, so a route that ignores the session costs no query. */
export class Visitor {
  readonly #deps: VisitorDeps
  readonly #request: RequestHead

  constructor(deps: VisitorDeps, request: RequestHead) {
    this.#deps = deps
    this.#request = request
  }

  /** The site that sent the request, as the browser reports it; `unknown` when the headers do not show it. */
  get site(): ReturnType<typeof requestOriginOf> {
    return requestOriginOf(this.#request, this.#deps.forgeryRule.origin)
  }

  /** The CSRF token for a form; null when no cookie can be the credential. */
  get csrfToken(): string | null {
    const browserSecret = browserSecretOf(this.#request)
    return browserSecret === null ? null : antiForgeryValue(browserSecret)
  }

  /** True when the response may set or clear cookies although the request has none. */
  get mayChangeCookies(): boolean {
    return mayChangeCookies(this.#request, this.#deps.forgeryRule)
  }

  /** The token of the Authorization header; null without a bearer token. */
  get bearer(): string | null {
    const request = this.#request
    const credential = readCredential(request.header('authorization'), undefined, request.hasRepeated('authorization'))
    return credential.kind === 'bearer' ? credential.token : null
  }

  /** The possible access tokens: the header's token if a header exists, else those of cookies. */
  get accessTokens(): readonly string[] {
    if (this.#request.header('authorization') === undefined) return this.#cookies([accessCookie, sessionCookie])
    return this.bearer === null ? [] : [this.bearer]
  }

  /** The refresh token of a cookie. A header overrides the cookie, as for the access token. */
  get refreshToken(): string | null {
    return this.#request.header('authorization') === undefined ? (this.#cookie(refreshCookie) ?? null) : null
  }

  /** The access and refresh tokens in cookies, even when a header exists. */
  get cookies(): readonly string[] {
    return this.#cookies([sessionCookie, accessCookie, refreshCookie])
  }

  /** The token of the session cookie. */
  get pageToken(): string | null {
    return this.#cookie(sessionCookie) ?? null
  }

  /** The session cookies that a response may set and clear. Call it before sessions of the request end. */
  sessionCookies(): Promise<SessionCookies> {
    return SessionCookies.of(this.#deps.tokens, this.#request)
  }

  /** The session of the access token. Null when the token belongs to no user session, or the session has ended. */
  async session(): Promise<ValidToken | null> {
    for (const token of this.accessTokens) {
      // Another service at the same host may have set one of the cookies.
      const found = await this.#sessionOf(token)
      if (found !== null) return found
    }
    return null
  }

  /** The session of the cookie, which pages use even with a header, because browsers add remembered Basic credentials. */
  async pageSession(): Promise<ValidToken | null> {
    return this.#sessionOf(this.pageToken)
  }

  /** The actor of the user who is signed in on the pages. */
  async actor(): Promise<Actor | null> {
    const found = await this.pageSession()
    return found === null ? null : this.#deps.actors.find(found.chain.actorId)
  }

  async #sessionOf(token: string | null): Promise<ValidToken | null> {
    const found = token === null ? null : await this.#deps.tokens.validate(token)
    return found?.chain.kind === 'session' ? found : null
  }

  #cookies(names: readonly string[]): readonly string[] {
    const cookies = this.#request.header('cookie')
    const found = [...names.map(ownSessionCookie), ...names].map((name) => cookieValue(cookies, name))
    return [...new Set(found)].filter((value) => value !== undefined)
  }

  #cookie(name: string): string | undefined {
    return sessionCookieValue(this.#request.header('cookie'), name)
  }
}
