/** Messages of applications to owners. */

/** A message to the owner of an actor. @public */
export interface MailMessage {
  /** One line of 1 to 200 characters. */
  readonly subject: string
  /** Up to 100,000 characters. */
  readonly text: string
  /** Up to 500,000 characters. Default: the message is only text. */
  readonly html?: string
}

export interface MailOptions {
  /** 1 to 255 characters. A further message with the key is not sent for a week. Default: each message is sent. */
  readonly key?: string
}

/**
 * `queued`: the message is stored, and sent soon. `repeated`: a message with this key exists. `declined`: the owner has turned
 * messages of the application off.
 *
 * @public
 */
export type MailResult = 'queued' | 'repeated' | 'declined'
