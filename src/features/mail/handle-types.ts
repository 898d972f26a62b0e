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

declare module '../../app/actor-handle.ts' {
  interface ActorHandle {
    /**
     * Sends a message to the verified address of the owner, behind this call. A repeated `key` sends nothing.
     *
     * @throws ServiceError `mail_unavailable` when the service sends no mail; `no_address` for an owner without a verified
     *   address; `invalid_value` for an invalid message or key; `too_many_requests` beyond the limits `mail`.
     */
    mail(message: MailMessage, options?: MailOptions): Promise<MailResult>
  }
}
