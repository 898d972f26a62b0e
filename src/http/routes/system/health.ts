/** Whether the service can serve requests. */
export interface Health {
  /** True once a stop signal arrived. */
  readonly isStopping: () => boolean
  /**
   * Throws ServiceError `store_unavailable` when the store cannot answer, and `unavailable` when the configured keys open
   * none of its secrets.
   */
  readonly checkStore: () => Promise<void>
}
