/** Messages to people. Rooms hand them over after their commit, and the feature that sends them connects itself. */
import type { Log } from '../../observe/log.ts'

/** A message that a person has requested by an action on a page. */
export type ServiceMail =
  | {
      readonly kind: 'sign_in_link'
      readonly email: string
      readonly url: string
      readonly code: string
      /** BCP 47 tag. */
      readonly language: string
    }
  | {
      readonly kind: 'verification'
      readonly actorId: string
      readonly email: string
      readonly url: string
      readonly language: string
    }

/** An event of an actor that its owner may receive a message about, at the verified address. */
export type OwnerEvent = { readonly actorId: string } & (
  | { readonly kind: 'approval'; readonly peerId: string; readonly operation: string; readonly url: string }
  | { readonly kind: 'sign_in'; readonly device: string }
  /** Updates for a peer fail since this time, in Unix milliseconds. */
  | { readonly kind: 'failing'; readonly peerId: string; readonly since: number }
  | { readonly kind: 'invitation'; readonly peerId: string }
  | { readonly kind: 'move_started' | 'move_finished'; readonly to: string }
  | { readonly kind: 'export' }
  /** An operator made a link with which the owner, or who has it, signs in. */
  | { readonly kind: 'sign_in_link' }
  /** A change came near a quota. */
  | { readonly kind: 'quota' }
)

export interface MailReceiver {
  readonly post: (mail: ServiceMail) => Promise<void>
  readonly event: (event: OwnerEvent) => Promise<void>
  readonly setLanguage: (actorId: string, language: string) => Promise<void>
}

export class MailPort {
  readonly #log: Pick<Log, 'warn'>
  #receiver: MailReceiver | null = null

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log
  }

  /** Sets the sender. Called at most once, before the first request, and only when messages can be sent. */
  connect(receiver: MailReceiver): void {
    this.#receiver = receiver
  }

  /** Whether messages can be sent. */
  get isConnected(): boolean {
    return this.#receiver !== null
  }

  /** Stores a message that is sent behind the response. Rejects when it cannot be stored. */
  async post(mail: ServiceMail): Promise<void> {
    await this.#receiver?.post(mail)
  }

  /** Like `post`, but a failure is only logged, because the event of the message has happened. */
  notify(mail: ServiceMail): Promise<void> {
    return this.#tried(mail.kind, this.post(mail))
  }

  /** Stores the message about an event, if the owner wants it. A failure is only logged. */
  async event(event: OwnerEvent): Promise<void> {
    if (this.#receiver !== null) await this.#tried(event.kind, this.#receiver.event(event))
  }

  /** Stores the language of the owner's messages. A failure is only logged. */
  async setLanguage(actorId: string, language: string): Promise<void> {
    if (this.#receiver !== null) await this.#tried('language', this.#receiver.setLanguage(actorId, language))
  }

  async #tried(kind: string, work: Promise<void>): Promise<void> {
    await work.catch((error: unknown) => this.#log.warn({ error, kind }, 'Cannot store a message to a person'))
  }
}
