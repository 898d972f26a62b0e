/** Which list of which actor. */
export interface ListAddress {
  readonly actorId: string
  readonly list: string
}
