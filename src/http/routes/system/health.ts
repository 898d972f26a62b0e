/** Whether the service can serve requests. */
export interface Health {
  /** True once a stop signal arrived. */
  readonly isStopping: () => boolean
  /**
   * Throws ServiceError `store_unavailable` when the store does not respond, and `unavailable` when the configured keys
   * cannot decrypt its secrets.
   */
  readonly checkStore: () => Promise<void>
}
