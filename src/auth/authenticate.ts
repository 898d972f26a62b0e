/** From a credential to a caller, in the order bearer, Basic, cookie. */
import type { Actor } from '../actor/actor.ts'
import { normaliseCreator } from '../actor/actor.ts'
import { ServiceError } from '../errors.ts'
import type { Guesses, Source } from '../rate-limit/failed-attempts.ts'
import { sameSecret } from '../secret/hash.ts'
import { anonymous, type Caller, type Via } from '../caller.ts'
import type { Credential } from './credentials.ts'

/**
 * One kind of bearer token (a peer's secret, a session token). Null when the token is not of this kind; it throws when
 * its store cannot be read, which must never look like a wrong token.
 */
export type BearerKind = (token: string, actor: Actor, via: Extract<Via, 'bearer' | 'cookie'>) => Promise<Caller | null>

export interface AuthenticationDeps {
  readonly bearerKinds: readonly BearerKind[]
  /** By its form: a token made here, of which no number of guesses finds another one. */
  readonly isOwnToken: (token: string) => boolean
  readonly passphraseOf: (actor: Actor) => string
  /** The creator that the actor had before a person proved it elsewhere: Basic credentials may still name it. */
  readonly formerCreatorOf: (actor: Actor) => Promise<string | null>
  readonly guesses: Guesses
  /** For the challenge of a 401. */
  readonly realm: string
}

export class Authentication {
  readonly #deps: AuthenticationDeps

  constructor(deps: AuthenticationDeps) {
    this.#deps = deps
  }

  /**
   * @throws ServiceError `unauthorized` for a header that cannot be read, `forbidden` for a credential that is wrong or
   *   another actor's, `too_many_requests` when there were too many of those. Nothing tells an unknown creator from a
   *   wrong passphrase.
   */
  async authenticate(credential: Credential, actor: Actor, source: Source): Promise<Caller> {
    switch (credential.kind) {
      case 'none':
        return anonymous
      case 'malformed':
        throw this.unauthorized(`Cannot read the credentials: ${credential.why}`)
      case 'basic':
        return this.#basic(credential.user, credential.password, actor, source)
      case 'bearer':
        return this.#bearer(credential.token, credential.via, actor, source)
      default:
        return credential satisfies never
    }
  }

  unauthorized(message: string): ServiceError {
    return new ServiceError('unauthorized', message, {
      headers: {
        'WWW-Authenticate': `Basic realm="${this.#deps.realm}", charset="UTF-8"`,
        // A browser is sent to sign in instead.
        Vary: 'Accept',
      },
    })
  }

  async #basic(first: string, rest: string, actor: Actor, source: Source): Promise<Caller> {
    const former = await this.#deps.formerCreatorOf(actor)
    const isRight = (): boolean => {
      const passphrase = this.#deps.passphraseOf(actor)
      const present = fits({ creator: actor.creator, passphrase }, first, rest)
      return (former !== null && fits({ creator: former, passphrase }, first, rest)) || present
    }
    if (!(await this.#deps.guesses.judge('passphrase', actor, source, isRight))) throw refused()
    return { kind: 'creator', via: 'basic' }
  }

  async #bearer(token: string, via: Extract<Via, 'bearer' | 'cookie'>, actor: Actor, source: Source): Promise<Caller> {
    const { guesses, isOwnToken } = this.#deps
    // Whoever is signed in is not kept out by others who guess, behind the same address or at the same actor.
    if (!isOwnToken(token)) await guesses.check('secret', actor, source)
    for (const kind of this.#deps.bearerKinds) {
      const caller = await kind(token, actor, via)
      if (caller !== null) return caller
    }
    await guesses.failed('secret', actor, source)
    throw refused()
  }
}

function fits(known: { creator: string; passphrase: string }, first: string, rest: string): boolean {
  const { user, password } = known.creator.includes(':')
    ? dividedFor(known.creator, `${first}:${rest}`)
    : { user: first, password: rest }
  // Both are always compared, so that the time of an answer does not tell which one was wrong.
  const userFits = sameSecret(user.includes('@') ? normaliseUser(user) : user, known.creator)
  const passwordFits = sameSecret(password, known.passphrase)
  return userFits && passwordFits
}

/** RFC 7617 ends the user at the first colon; a creator may hold some, and then the user has as many. */
function dividedFor(creator: string, text: string): { readonly user: string; readonly password: string } {
  const parts = text.split(':')
  const colons = creator.split(':').length
  return { user: parts.slice(0, colons).join(':'), password: parts.slice(colons).join(':') }
}

/** As at creation: e-mail addresses have no letter case. What could not be a creator is compared as it is. */
function normaliseUser(user: string): string {
  // Whether it is in its one spelling already is told by itself alone, so the time of this tells nothing of any creator.
  if (/^[!-@[-~]*$/.test(user) && !user.includes('xn--')) return user
  try {
    return normaliseCreator(user)
  } catch {
    return user
  }
}

/** Nothing tells a wrong credential from one of another actor. */
export function refused(): ServiceError {
  return new ServiceError('forbidden', 'Cannot let you in: the credentials are not valid for this actor', {
    reason: 'wrong credentials',
  })
}
