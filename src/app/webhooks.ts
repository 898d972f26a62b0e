/** The handle by which applications use the webhooks of an actor. */

/** What a webhook receives. */
export type WebhookEvent = 'property_changed' | 'list_changed'

export interface WebhookOptions {
  readonly events: readonly WebhookEvent[]
  /** Patterns of the names of properties and lists, such as `shopping` or `hr-*`. Default: every name. */
  readonly names?: readonly string[]
  /** Shown to the owner. */
  readonly description?: string
  /** `whsec_` and the base64 of 24 to 64 bytes. Default: a new secret. */
  readonly secret?: string
}

export interface Webhook {
  readonly id: string
  readonly url: string
  readonly events: readonly WebhookEvent[]
  readonly names: readonly string[]
  readonly description: string
  /** `suspended`: the receiver failed for too long, refused too many messages, or answered 410. `redrive` continues it. */
  readonly state: 'active' | 'suspended'
  readonly createdAt: Date
  /** Start of the current series of failures. Null: the last message was delivered, or none was sent. */
  readonly failingSince: Date | null
  /** Why the last attempt failed. Empty: it did not. */
  readonly reason: string
  /** Time of the next attempt. Null: no message waits. */
  readonly nextAttemptAt: Date | null
}

/** A message of a webhook. */
export interface WebhookDelivery {
  /** Sent as `webhook-id`. The same for each attempt. */
  readonly id: string
  readonly type: WebhookEvent | 'test'
  readonly outcome: 'waiting' | 'delivered' | 'failed'
  readonly attempts: number
  /** Status of the last response. Null: the receiver did not answer. */
  readonly status: number | null
  readonly reason: string
  readonly createdAt: Date
  readonly sentAt: Date | null
  readonly answeredAt: Date | null
}

export interface WebhooksHandle {
  /**
   * Adds a webhook: a URL that receives the changes of the actor, signed by the Standard Webhooks specification. The secret
   * cannot be read again.
   *
   * @throws ServiceError `invalid_value` for a URL, event, name or secret that cannot be used; `forbidden` at the limit.
   */
  add(url: string, options: WebhookOptions): Promise<{ readonly id: string; readonly secret: string }>
  /** Returns the webhooks, oldest first. */
  list(): Promise<Webhook[]>
  get(id: string): Promise<Webhook | undefined>
  /** Removes a webhook with its messages. Returns whether it existed. */
  remove(id: string): Promise<boolean>
  /**
   * Replaces the secret and returns the new one. Both sign for `overlapSeconds`, a day by default. Undefined without the
   * webhook.
   */
  rotateSecret(
    id: string,
    options?: { readonly secret?: string; readonly overlapSeconds?: number },
  ): Promise<string | undefined>
  /** Sends a message of the type `test`. Returns its id; undefined without the webhook. */
  test(id: string): Promise<string | undefined>
  /** Returns the latest 100 messages, newest first; undefined without the webhook. */
  deliveries(id: string): Promise<WebhookDelivery[] | undefined>
  /** Sends failed messages again, and continues a suspended webhook. Returns their number; undefined without the webhook. */
  redrive(id: string): Promise<number | undefined>
}
