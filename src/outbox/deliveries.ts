/** The worker that delivers, as the rooms below it know it: they write what is due and start the delivery. */
export interface Deliveries {
  /** Starts the delivery of what is due. */
  readonly wake: () => void
  /** Starts the delivery and resolves after the first attempt of each notice, within a limit. Never rejects. */
  readonly firstAttempts: (ids: readonly string[]) => Promise<void>
}
