/** Identifies a list by actor and name. */
export interface ListAddress {
  readonly actorId: string
  readonly list: string
}
