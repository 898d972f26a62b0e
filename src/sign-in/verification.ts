/** Links that verify an email address. The application or the service sends them; each is valid once, for one day. */
import { personKind } from '../app/kinds/person.ts'
import type { Actor } from '../actor/actor.ts'
import type { ActorHandle } from '../app/actor-handle.ts'
import { fire } from '../app/events.ts'
import type { MailPort } from '../app/background/mail-port.ts'
import type { Registry } from '../app/registry.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../observe/log.ts'
import { hashSecret, sameSecret } from '../secret/hash.ts'
import type { Queries, Store, Transaction } from '../store/store.ts'
import { lifetimes, type OneTime } from '../token/one-time.ts'
import { type Account, findAccount, updateAccount } from './account-store.ts'

export interface VerificationDeps {
  readonly store: Store
  readonly registry: Registry
  readonly oneTime: OneTime
  readonly log: Log
  readonly now: () => number
  readonly handleOf: (actor: Pick<Actor, 'id' | 'creator' | 'kind'>) => ActorHandle
  readonly baseUrl: string
  readonly mail: MailPort
  /** In development, the link is logged when the application has no handler that sends it. */
  readonly isDevelopment: boolean
}

interface Link {
  readonly address: string
  /** Unix milliseconds. The record is kept longer, so that a late visitor learns that the link expired. */
  readonly validUntil: number
  /** Hash of the cookie of the browser in which the address was typed. Null when a program sent the address. */
  readonly browser: string | null
}

/** The visitor who follows the link. */
export interface Follower {
  readonly token: string
  /** The actor in the path, if the path names an actor. */
  readonly actorId?: string | undefined
  readonly browser: string | null
  /** The actor of the visitor's session. */
  readonly signedInTo: string | null
}

export interface Verified {
  readonly actor: Pick<Actor, 'id' | 'creator' | 'kind'>
  readonly address: string
}

export class Verification {
  readonly #deps: VerificationDeps

  constructor(deps: VerificationDeps) {
    this.#deps = deps
  }

  /** @returns the token of the link. */
  issue(tx: Transaction, actorId: string, address: string, browser: string | null): Promise<string> {
    const lifetimeSeconds = lifetimes.email_verification
    const link: Link = {
      address,
      validUntil: this.#deps.now() + lifetimeSeconds * 1000,
      browser: browser === null ? null : hashSecret(browser),
    }
    return this.#deps.oneTime.create(tx, {
      purpose: 'email_verification',
      data: link,
      actorId,
      lifetimeSeconds: 2 * lifetimeSeconds,
    })
  }

  /**
   * Fires the event with which the application sends the link. Without a handler, the service sends it, and logs it in
   * development. @param language Tag of the language of the page.
   */
  async announce(
    actor: Pick<Actor, 'id' | 'creator' | 'kind'>,
    { address, token }: { readonly address: string; readonly token: string },
    language: string,
  ): Promise<void> {
    const { registry, log, handleOf, baseUrl, mail, isDevelopment } = this.#deps
    const url = `${baseUrl}/oauth/email?verify=${token}`
    if (registry.eventHandlers('email_verification_required').length === 0) {
      if (isDevelopment) log.info({ actorId: actor.id, url }, 'Open this URL to verify the e-mail address')
      else if (!mail.isConnected)
        log.warn({ actorId: actor.id }, 'Cannot send the verification link: email_verification_required has no handler')
      return mail.notify({ kind: 'verification', actorId: actor.id, email: address, url, language })
    }
    const event = { actor: handleOf(actor), email: address, verification_url: url, token }
    await fire(registry, log, 'email_verification_required', event)
  }

  /** Sends another link for an unverified address. @throws ServiceError `bad_request` when no address is unverified. */
  async resend(actor: Pick<Actor, 'id' | 'creator' | 'kind'>, browser: string | null, language: string): Promise<void> {
    const sent = await this.#deps.store.writeActor(actor.id, async (tx) => {
      const account = await findAccount(tx, actor.id)
      const waiting = account?.fields['email_verified'] === 'false' ? account.fields['email'] : undefined
      if (waiting === undefined) {
        throw new ServiceError('bad_request', 'Cannot send a verification link: no address waits for verification')
      }
      return { address: waiting, token: await this.issue(tx, actor.id, waiting, browser) }
    })
    await this.announce(actor, sent, language)
  }

  /**
   * Returns the address that the link would verify, without a change.
   *
   * @throws ServiceError `forbidden` for a link that is unknown, used or another actor's; `gone` for an expired link.
   */
  async look({ token, actorId }: Pick<Follower, 'token' | 'actorId'>): Promise<Verified> {
    const { account, link } = await this.#deps.store.read(async (q) => this.#find(q, { token, actorId }))
    return { actor: { id: account.actorId, creator: account.creator, kind: personKind }, address: link.address }
  }

  /**
   * Verifies the address. The link also proves the identity, but only in the browser or session that typed the address:
   * a stranger may have typed it, and the owner of the address may follow the link in good faith.
   *
   * @throws ServiceError like `look`.
   */
  async follow(follower: Follower): Promise<Verified> {
    const { store, oneTime, registry, log, handleOf, now } = this.#deps
    const { actor } = await this.look(follower)
    const address = await store.writeActor(actor.id, async (tx) => {
      const { account, link } = await this.#find(tx, follower)
      const presented = { purpose: 'email_verification', value: follower.token } as const
      if ((await oneTime.consume(tx, presented)) === null) throw unknownLink()
      const seconds = String(Math.floor(now() / 1000))
      await updateAccount(tx, account, {
        ...account,
        verified: account.verified || isSameAs(follower, account, link),
        fields: { ...account.fields, email_verified: 'true', email_verified_at: seconds },
      })
      return link.address
    })
    await fire(registry, log, 'email_verified', { actor: handleOf(actor), email: address })
    return { actor, address }
  }

  async #find(
    q: Queries,
    { token, actorId }: { readonly token: string; readonly actorId?: string | undefined },
  ): Promise<{ account: Account; link: Link }> {
    const found = await this.#deps.oneTime.peek<Link>(q, { purpose: 'email_verification', value: token })
    if (found?.actorId === undefined || found.actorId === null) throw unknownLink()
    if (actorId !== undefined && found.actorId !== actorId) throw unknownLink()
    if (found.data.validUntil < this.#deps.now()) {
      throw new ServiceError('gone', 'Cannot verify the address: the link has expired; links are valid for one day')
    }
    const account = await findAccount(q, found.actorId)
    // Another person proved the address meanwhile, and this actor lost it.
    if (account === null || account.identifier !== found.data.address) throw unknownLink()
    return { account, link: found.data }
  }
}

function isSameAs({ browser, signedInTo }: Follower, account: Account, link: Link): boolean {
  const isSameBrowser = browser !== null && link.browser !== null && sameSecret(hashSecret(browser), link.browser)
  return isSameBrowser || signedInTo === account.actorId
}

function unknownLink(): ServiceError {
  return new ServiceError('forbidden', 'Cannot verify the address: the link is unknown or was already used')
}
