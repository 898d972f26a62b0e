/** The delivery worker, as lower rooms know it. They store due messages and start the delivery. */
export interface Deliveries {
  /** Starts the delivery of due messages. */
  readonly wake: () => void
  /** Starts the delivery and resolves after the first attempt of each notice, within a limit. Never rejects. */
  readonly firstAttempts: (ids: readonly string[]) => Promise<void>
}
