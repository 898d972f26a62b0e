/** Authenticates the credential of a request and returns the caller. */
import type { Actor } from '../actor/actor.ts'
import { normalizeCreator } from '../actor/actor.ts'
import type { Passphrases } from '../actor/passphrases.ts'
import { ServiceError } from '../errors.ts'
import type { FailedAttempts, Source } from '../rate-limit/failed-attempts.ts'
import type { BasicUses } from './basic-uses.ts'
import { anonymous, type Caller, type Via } from '../caller.ts'
import type { Credential } from './credentials.ts'

/**
 * Authenticates one kind of bearer token, such as a peer's secret or a session token. Returns null for a token of another
 * kind. Throws when the store cannot be read, because a failing store must never look like a wrong token.
 */
export type BearerKind = (
  token: string,
  actor: Actor,
  via: Extract<Via, 'bearer' | 'cookie'>,
  form: TokenForm | null,
) => Promise<Caller | null> | null

/** The form of a token of this service. It does not show that the token is valid. */
export interface TokenForm {
  readonly chain: 'session' | 'client'
  readonly kind: 'access' | 'refresh'
}

export interface AuthenticationDeps {
  readonly bearerKinds: readonly BearerKind[]
  /** Recognizes a token of this service, which has too much entropy to be guessed. Null for any other string. */
  readonly formOf: (token: string) => TokenForm | null
  readonly passphrases: Pick<Passphrases, 'fitsLogin'>
  /** Returns the creator that the actor had before its owner verified another one. Basic credentials may still name it. */
  readonly formerCreatorOf: (actor: Actor) => Promise<string | null> | null
  readonly failedAttempts: FailedAttempts
  readonly basicUses: Pick<BasicUses, 'note'>
  /** The realm in the `WWW-Authenticate` challenge. */
  readonly realm: string
  /** Returns the challenge that says where a program gets a token for the actor. Null when the service issues none. */
  readonly challengeOf: (actorId: string) => string | null
}

export class Authentication {
  readonly #deps: AuthenticationDeps

  constructor(deps: AuthenticationDeps) {
    this.#deps = deps
  }

  /**
   * @throws ServiceError `unauthorized` for a malformed header, `forbidden` for a credential that is wrong or belongs to
   *   another actor, `too_many_requests` after too many failures. An unknown creator and a wrong passphrase look the same.
   */
  authenticate(credential: Credential, actor: Actor, source: Source): Promise<Caller> | Caller {
    switch (credential.kind) {
      case 'none':
        return anonymous
      case 'malformed':
        throw this.unauthorized(`Cannot read the credentials: ${credential.why}`, actor)
      case 'basic':
        return this.#basic(credential.user, credential.password, actor, source)
      case 'bearer':
        return this.#bearer(credential.token, credential.via, actor, source)
      default:
        return credential satisfies never
    }
  }

  /** @param actor The actor for which a program may get a token. Null on pages, which accept no such token. */
  unauthorized(message: string, actor: Pick<Actor, 'id'> | null): ServiceError {
    const basic = `Basic realm="${this.#deps.realm}", charset="UTF-8"`
    const bearer = actor === null ? null : this.#deps.challengeOf(actor.id)
    return new ServiceError('unauthorized', message, {
      headers: {
        // Basic is first, because browsers may stop at a scheme that they do not know.
        'WWW-Authenticate': bearer === null ? basic : `${basic}, ${bearer}`,
        // Browsers get a redirect to the sign-in page for the same URL.
        Vary: 'Accept',
      },
    })
  }

  #basic(first: string, rest: string, actor: Actor, source: Source): Promise<Caller> | Caller {
    const former = this.#deps.formerCreatorOf(actor)
    return former === null
      ? this.#judged(first, rest, actor, source, null)
      : former.then((name) => this.#judged(first, rest, actor, source, name))
  }

  #judged(first: string, rest: string, actor: Actor, source: Source, former: string | null): Promise<Caller> | Caller {
    const isRight = (): boolean => {
      const present = this.#fits(actor, actor.creator, first, rest)
      return (former !== null && this.#fits(actor, former, first, rest)) || present
    }
    const verdict = this.#deps.failedAttempts.judge('passphrase', actor, source, isRight)
    return verdict instanceof Promise
      ? verdict.then((known) => this.#creatorOf(known, actor))
      : this.#creatorOf(verdict, actor)
  }

  #creatorOf(isRight: boolean, { id }: Actor): Caller {
    if (!isRight) throw refused()
    this.#deps.basicUses.note(id)
    return { kind: 'creator', via: 'basic' }
  }

  #fits(actor: Actor, creator: string, first: string, rest: string): boolean {
    const { user, password } = creator.includes(':')
      ? dividedFor(creator, `${first}:${rest}`)
      : { user: first, password: rest }
    const presented = { creator: user.includes('@') ? normalizeUser(user) : user, passphrase: password }
    return this.#deps.passphrases.fitsLogin(actor, creator, presented)
  }

  async #bearer(token: string, via: Extract<Via, 'bearer' | 'cookie'>, actor: Actor, source: Source): Promise<Caller> {
    const { failedAttempts, formOf } = this.#deps
    const form = formOf(token)
    // Failures of others at the same address or actor must not lock out a client with a session token.
    const waiting = form === null ? failedAttempts.check('secret', actor, source) : undefined
    if (waiting !== undefined) await waiting
    for (const kind of this.#deps.bearerKinds) {
      const found = kind(token, actor, via, form)
      const caller = found === null ? null : await found
      if (caller !== null) return caller
    }
    await failedAttempts.failed('secret', actor, source)
    throw refused()
  }
}

/** Splits credentials after as many colons as the creator contains. RFC 7617 would split at the first colon. */
function dividedFor(creator: string, text: string): { readonly user: string; readonly password: string } {
  const parts = text.split(':')
  const colons = creator.split(':').length
  return { user: parts.slice(0, colons).join(':'), password: parts.slice(colons).join(':') }
}

/** Normalizes a user name as at creation: email addresses ignore case. Returns an invalid creator unchanged. */
function normalizeUser(user: string): string {
  // Plain ASCII without punycode is already normalized. The check reads only the input, so its timing leaks nothing.
  if (/^[!-@[-~]*$/.test(user) && !user.includes('xn--')) return user
  try {
    return normalizeCreator(user)
  } catch {
    return user
  }
}

/** The error for a wrong credential. It does not reveal whether the credential is valid for another actor. */
export function refused(): ServiceError {
  return new ServiceError('forbidden', 'Cannot authenticate: the credentials are not valid for this actor', {
    reason: 'wrong credentials',
  })
}
