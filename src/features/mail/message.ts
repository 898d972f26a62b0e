/** A message to a person, and the outcome of an attempt to send it. */
import type { OptionalKind } from './choice-store.ts'
import type { Sender } from './smtp-settings.ts'

/** The kinds of messages that are stored. */
export type MailKind = 'sign_in_link' | 'verification' | 'new_device' | 'move' | OptionalKind

/** The content of a message, which is stored encrypted. */
export interface MailContent {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Null: only text. */
  readonly html: string | null
  /** Where one request turns messages of this kind off. Absent for messages about security. */
  readonly unsubscribeUrl?: string
}

/** A message that is ready to be sent. */
export interface OutgoingMail extends MailContent {
  /** The same for each attempt: `<id@host>`. */
  readonly messageId: string
  readonly kind: MailKind | 'test'
  /** Null: the handler of the application chooses the sender. */
  readonly from: Sender | null
  readonly headers: Readonly<Record<string, string>>
  /** Unix milliseconds. */
  readonly createdAt: number
}

interface NotSent {
  /** Is stored and logged, so it has no address. */
  readonly reason: string
  /** The error of the server in full, for the operator who sends a test message. */
  readonly reply?: string
}

export type HandOver =
  | { readonly kind: 'sent'; readonly answer: string }
  /** Final: the server or the handler refused the message. */
  | ({ readonly kind: 'refused' } & NotSent)
  /** The message was not accepted. */
  | ({ readonly kind: 'retry' } & NotSent)
  /** The message may have been accepted. */
  | ({ readonly kind: 'unknown' } & NotSent)

/**
 * Makes one attempt.
 *
 * @param mark Stores that the message is handed over. Called right before the receiver can accept it. It rejects when another
 *   process has the message.
 */
export type MailTransport = (mail: OutgoingMail, mark: () => Promise<void>) => Promise<HandOver>
