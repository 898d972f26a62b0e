/** Stores messages to people, which the worker sends. */
import { hash } from 'node:crypto'
import { html } from 'hono/html'
import { parseAddress } from '../../actor/address.ts'
import { unprovenPrefix } from '../../actor/creator-store.ts'
import type { MailMessage, MailOptions, MailResult } from './handle-types.ts'
import type { ServiceMail } from '../../app/background/mail-port.ts'
import { ServiceError } from '../../errors.ts'
import type { Languages } from '../../pages/languages/languages.ts'
import type { Log } from '../../observe/log.ts'
import type { PageLanguage } from '../../pages/languages/language.ts'
import type { Demand, Limiter } from '../../rate-limit/limiter.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { randomId } from '../../secret/random.ts'
import type { Account } from '../../sign-in/account-store.ts'
import type { Accounts } from '../../sign-in/accounts.ts'
import type { Store } from '../../store/store.ts'
import { requireMessage } from './application-mail.ts'
import { findDeclined, type OptionalKind, optionalKinds } from './choice-store.ts'
import { type Letter, written } from './letter.ts'
import { findMail, insertMail } from './mail-store.ts'
import type { MailContent, MailKind } from './message.ts'
import { findLanguage } from './note-store.ts'
import { sealContent } from './tables.ts'
import { unsubscribeUrl } from './unsubscribe.ts'

export interface MailsDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly languages: Languages
  readonly limiter: Pick<Limiter, 'charge'>
  readonly accounts: Pick<Accounts, 'find'>
  readonly identity: { readonly name: string }
  readonly log: Pick<Log, 'info'>
  readonly baseUrl: string
  readonly wake: (actorId: string) => void
  /** Returns the id of the actor that has the messages to people who may have no actor. Creates the actor first. */
  readonly serviceActor: () => Promise<string>
}

const minuteMs = 60_000
const dayMs = 1440 * minuteMs

/** Messages are not sent later than their links are valid, or than they are news. */
const lifetimeMs: Readonly<Record<MailKind, number>> = {
  sign_in_link: 10 * minuteMs,
  verification: dayMs,
  // Like the call that waits for the owner.
  approval: 15 * minuteMs,
  new_device: 3 * dayMs,
  move: 3 * dayMs,
  application: 3 * dayMs,
  invitation: 3 * dayMs,
  failing: dayMs,
  export: 3 * dayMs,
  quota: dayMs,
}

/** A message to the owner of an actor. */
export interface OwnerMail {
  readonly actorId: string
  readonly kind: Exclude<MailKind, 'sign_in_link' | 'verification' | 'application'>
  /** Composes the message in the language of the owner. */
  readonly compose: (language: PageLanguage) => Promise<Pick<Letter, 'words' | 'url'>>
}

export class Mails {
  readonly #deps: MailsDeps

  constructor(deps: MailsDeps) {
    this.#deps = deps
  }

  /** Stores a message of the service. It is sent behind the response. */
  async post(mail: ServiceMail): Promise<void> {
    const { languages } = this.#deps
    const language = languages.find(mail.language)
    const content = await written(this.#letterOf(mail, language.messages.mail), language)
    const actorId = mail.kind === 'sign_in_link' ? await this.#deps.serviceActor() : mail.actorId
    await this.#store(actorId, mail.kind, { to: mail.email, ...content }, randomId())
  }

  /**
   * Stores a message to the owner, unless the owner has turned its kind off or has no verified address. Each kind has a limit
   * for the actor, beyond which messages are left out, so that no peer or application can flood the owner.
   */
  async toOwner({ actorId, kind, compose }: OwnerMail): Promise<void> {
    const { identity, log } = this.#deps
    const optional = optionalKinds.find((each) => each === kind)
    const to = await this.#addressOf(actorId)
    if (to === null || (optional !== undefined && (await this.#isDeclined(actorId, optional)))) return
    try {
      const own = { limit: 'mail/pair', of: JSON.stringify([actorId, kind, to]) } as const
      // Others cannot keep messages about security from the owner: no limit that they share with the owner counts these.
      await this.#deps.limiter.charge(optional === undefined ? [own] : [own, ofAddress(to), ofAll])
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'too_many_requests') throw error
      log.info({ actorId, kind }, 'A message to an owner was left out, because there are too many')
      return
    }
    const language = await this.#languageOf(actorId)
    const { footer, unsubscribe } = language.messages.mail
    const stop =
      optional === undefined ? null : { text: unsubscribe, url: unsubscribeUrl(this.#deps, actorId, optional) }
    const letter = { ...(await compose(language)), footer: footer(identity.name), stop }
    // Work of an actor that moves does not run.
    const sender = kind === 'move' ? await this.#deps.serviceActor() : actorId
    await this.#store(sender, kind, { to, ...(await written(letter, language)) }, randomId())
  }

  /** `ActorHandle.mail` */
  async ofApplication(actorId: string, message: MailMessage, options: MailOptions = {}): Promise<MailResult> {
    const { identity } = this.#deps
    requireMessage(message, options)
    const to = await this.#addressOf(actorId)
    if (to === null)
      throw new ServiceError('no_address', 'Cannot send the message: the owner has no verified email address')
    if (await this.#isDeclined(actorId, 'application')) return 'declined'
    const { key } = options
    const id = key === undefined ? randomId() : hash('sha256', JSON.stringify([actorId, key])).slice(0, 32)
    if (key !== undefined && (await this.#deps.store.read((q) => findMail(q, actorId, id))) !== null) return 'repeated'
    await this.#deps.limiter.charge([{ limit: 'mail/pair', of: JSON.stringify([actorId, to]) }, ofAddress(to), ofAll])
    const stop = unsubscribeUrl(this.#deps, actorId, 'application')
    const { messages } = await this.#languageOf(actorId)
    const { footer, unsubscribe } = messages.mail
    const { subject, text, html: given } = message
    const end = `-- \n${footer(identity.name)}\n${unsubscribe}: ${stop}`
    const content = {
      to,
      subject,
      text: `${text}\n\n${end}\n`,
      html: given === undefined ? null : `${given}\n${await html`<p><a href="${stop}">${unsubscribe}</a></p>`}\n`,
      unsubscribeUrl: stop,
    }
    return (await this.#store(actorId, 'application', content, id)) ? 'queued' : 'repeated'
  }

  async #isDeclined(actorId: string, kind: OptionalKind): Promise<boolean> {
    return (await this.#deps.store.read((q) => findDeclined(q, actorId))).has(kind)
  }

  async #addressOf(actorId: string): Promise<string | null> {
    const account = await this.#deps.accounts.find(actorId)
    return account === null ? null : verifiedAddressOf(account)
  }

  async #languageOf(actorId: string): Promise<PageLanguage> {
    return this.#deps.languages.find(await this.#deps.store.read((q) => findLanguage(q, actorId)))
  }

  #letterOf(mail: ServiceMail, words: PageWords): Letter {
    const service = this.#deps.identity.name
    const footer = words.footer(service)
    if (mail.kind === 'sign_in_link')
      return { words: words.signInLink({ service, code: mail.code }), url: mail.url, footer, stop: null }
    return { words: words.verification({ service }), url: mail.url, footer, stop: null }
  }

  /** Returns false when the id was used before. */
  async #store(actorId: string, kind: MailKind, content: MailContent, id: string): Promise<boolean> {
    const { store, keyRing, now, wake } = this.#deps
    const createdAt = now()
    const row = {
      kind,
      createdAt,
      expiresAt: createdAt + lifetimeMs[kind],
      content: sealContent(keyRing, actorId, id, content),
    }
    const isNew = await store.write((tx) => insertMail(tx, actorId, id, row))
    if (isNew) wake(actorId)
    return isNew
  }
}

/** The address that a provider, the application or a link has verified. Null: none. */
export function verifiedAddressOf({ identifier, verified, fields }: Account): string | null {
  // Another person has proven the identifier since.
  if (identifier.startsWith(unprovenPrefix)) return null
  const { email, email_verified: isVerified } = fields
  if (email !== undefined && isVerified !== 'false') return parseAddress(email)
  return verified ? parseAddress(identifier) : null
}

const ofAll: Demand = { limit: 'mail/total', of: null }

/** The limit of all causes for an address. */
function ofAddress(to: string): Demand {
  return { limit: 'mail/target', of: to }
}

type PageWords = ReturnType<Languages['find']>['messages']['mail']
