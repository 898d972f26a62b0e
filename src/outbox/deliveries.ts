/** The delivery worker, as lower rooms know it. They store due messages and start the delivery. */
export interface Deliveries {
  /** Starts the delivery of due messages of the actors, after the transaction that stored them. */
  readonly wake: (...actorIds: readonly string[]) => void
  /** Starts the delivery and resolves after the first attempt of each notice, within a limit. Never rejects. */
  readonly firstAttempts: (notices: readonly QueuedNotice[]) => Promise<void>
}

/** A stored notice. */
export interface QueuedNotice {
  readonly id: string
  readonly actorId: string
}
