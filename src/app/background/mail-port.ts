/** Messages to people. Rooms hand them over after their commit, and the feature that sends them connects itself. */
import type { Log } from '../../observe/log.ts'

/** A message of the service. Without `email`, it goes to the verified address of the owner. */
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

type Post = (mail: ServiceMail) => Promise<void>

export class MailPort {
  readonly #log: Pick<Log, 'warn'>
  #post: Post | null = null

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log
  }

  /** Sets the sender. Called at most once, before the first request, and only when messages can be sent. */
  connect(post: Post): void {
    this.#post = post
  }

  /** Whether messages can be sent. */
  get isConnected(): boolean {
    return this.#post !== null
  }

  /** Stores a message that is sent behind the response. Rejects when it cannot be stored. */
  async post(mail: ServiceMail): Promise<void> {
    await this.#post?.(mail)
  }

  /** Like `post`, but a failure is only logged, because the event of the message has happened. */
  async notify(mail: ServiceMail): Promise<void> {
    await this.post(mail).catch((error: unknown) => {
      this.#log.warn({ error, kind: mail.kind }, 'Cannot store a message to a person')
    })
  }
}
