/** A message to a person, and the outcome of an attempt to send it. */
import type { OptionalKind } from './choice-store.ts'
import type { Sender } from './smtp-settings.ts'

/** The kinds of messages that are stored. */
export type MailKind = 'sign_in_link' | 'verification' | OptionalKind

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

export type HandOver =
  | { readonly kind: 'sent'; readonly answer: string }
  /** Final: the server or the handler refused the message. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The message was not accepted. */
  | { readonly kind: 'retry'; readonly reason: string }
  /** The message may have been accepted. */
  | { readonly kind: 'unknown'; readonly reason: string }

/**
 * Makes one attempt.
 *
 * @param mark Stores that the message is handed over. Called right before the receiver can accept it. It rejects when another
 *   process has the message.
 */
export type MailTransport = (mail: OutgoingMail, mark: () => Promise<void>) => Promise<HandOver>
