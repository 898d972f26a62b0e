/** Stores messages to people, which the worker sends. */
import type { ServiceMail } from '../../app/background/mail-port.ts'
import type { Languages } from '../../pages/languages/languages.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { randomId } from '../../secret/random.ts'
import type { Store } from '../../store/store.ts'
import { type Letter, written } from './letter.ts'
import { insertMail } from './mail-store.ts'
import type { MailContent, MailKind } from './message.ts'
import { sealContent } from './tables.ts'

export interface MailsDeps {
  readonly store: Store
  readonly keyRing: KeyRing
  readonly now: () => number
  readonly languages: Languages
  readonly identity: { readonly name: string }
  readonly wake: (actorId: string) => void
  /** Returns the id of the actor that has the messages to people who may have no actor. Creates the actor first. */
  readonly serviceActor: () => Promise<string>
}

const minuteMs = 60_000

/** Messages are not sent later than their links are valid. */
const lifetimeMs: Readonly<Record<MailKind, number>> = { sign_in_link: 10 * minuteMs, verification: 1440 * minuteMs }

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
    await this.#store(actorId, mail.kind, { to: mail.email, ...content })
  }

  #letterOf(mail: ServiceMail, words: PageWords): Letter {
    const service = this.#deps.identity.name
    const footer = words.footer(service)
    if (mail.kind === 'sign_in_link')
      return { words: words.signInLink({ service, code: mail.code }), url: mail.url, footer }
    return { words: words.verification({ service }), url: mail.url, footer }
  }

  async #store(actorId: string, kind: MailKind, content: MailContent): Promise<void> {
    const { store, keyRing, now, wake } = this.#deps
    const id = randomId()
    const createdAt = now()
    const row = {
      kind,
      createdAt,
      expiresAt: createdAt + lifetimeMs[kind],
      content: sealContent(keyRing, actorId, id, content),
    }
    await store.write((tx) => insertMail(tx, actorId, id, row))
    wake(actorId)
  }
}

type PageWords = ReturnType<Languages['find']>['messages']['mail']
