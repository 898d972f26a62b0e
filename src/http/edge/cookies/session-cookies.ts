/**
 * The cookies of a session. Other services at the same host, at another port or path, may use the names `oauth_token`,
 * `access_token` and `refresh_token` too. The service then uses names of its own, and leaves the others alone.
 */
import { cookieValue, hasCookie, ownSessionCookie, sessionCookie } from '../../../auth/credentials.ts'
import type { IssuedTokens } from '../../../token/chain.ts'
import type { RequestHead } from '../request.ts'
import { cookie, endedCookie } from './cookies.ts'

export const accessCookie = 'access_token'
export const refreshCookie = 'refresh_token'
const names = [sessionCookie, accessCookie, refreshCookie] as const
type Name = (typeof names)[number]

export type TokenDelivery = 'json' | 'cookie' | 'hybrid'

export interface KnownTokens {
  /** Returns whether the service issued the token and still has a record of it, even of an expired one. */
  knows(token: string): Promise<boolean>
}

export class SessionCookies {
  /** The names under which the request has a cookie of this service, by kind. */
  readonly #present: ReadonlyMap<Name, readonly string[]>
  /** The kinds whose shared name belongs to another service. */
  readonly #taken: ReadonlySet<Name>

  private constructor(present: ReadonlyMap<Name, readonly string[]>, taken: ReadonlySet<Name>) {
    this.#present = present
    this.#taken = taken
  }

  /** Call it before sessions of the request end, because their tokens are unknown afterwards. */
  static async of(tokens: KnownTokens, request: Pick<RequestHead, 'header'>): Promise<SessionCookies> {
    const cookies = request.header('cookie')
    const present = new Map<Name, readonly string[]>()
    const taken = new Set<Name>()
    for (const name of names) {
      const own = ownSessionCookie(name)
      const shared = cookieValue(cookies, name)
      const isOurs = shared !== undefined && (await tokens.knows(shared))
      present.set(name, [...(hasCookie(cookies, own) ? [own] : []), ...(isOurs ? [name] : [])])
      if (hasCookie(cookies, name) && !isOurs) taken.add(name)
    }
    return new SessionCookies(present, taken)
  }

  /** The session cookie of a web sign-in. It expires with the access token. */
  session({ accessToken, expiresIn }: Pick<IssuedTokens, 'accessToken' | 'expiresIn'>): string {
    return cookie(this.#nameFor(sessionCookie), accessToken, expiresIn)
  }

  refresh({ refreshToken, refreshExpiresIn }: Pick<IssuedTokens, 'refreshToken' | 'refreshExpiresIn'>): string {
    return cookie(this.#nameFor(refreshCookie), refreshToken, refreshExpiresIn)
  }

  /** The cookies of a token delivery: none, all tokens, or only the refresh token, which scripts must not read. */
  delivery(tokens: IssuedTokens, delivery: TokenDelivery): readonly string[] {
    switch (delivery) {
      case 'json':
        return []
      case 'hybrid':
        return [this.refresh(tokens)]
      case 'cookie':
        return [
          cookie(this.#nameFor(accessCookie), tokens.accessToken, tokens.expiresIn),
          this.session(tokens),
          this.refresh(tokens),
        ]
      default:
        return delivery satisfies never
    }
  }

  /** The names of the cookies that `cleared` clears. */
  namesOf(kinds: readonly Name[] = names): readonly string[] {
    return kinds.flatMap((kind) => this.#present.get(kind) ?? [])
  }

  /** Clears the cookies of the request that belong to this service. */
  cleared(kinds: readonly Name[] = names): readonly string[] {
    return this.namesOf(kinds).map(endedCookie)
  }

  #nameFor(kind: Name): string {
    const own = ownSessionCookie(kind)
    return this.#taken.has(kind) || this.#present.get(kind)?.includes(own) === true ? own : kind
  }
}
