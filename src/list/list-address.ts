import type { JsonText } from '../json/json.ts'
import type { ListHistory } from './steps/list-steps.ts'

/** The version of items without a declared version. */
export const firstVersion = 1

/** The items of a declared list. */
export interface ItemFormat {
  /** The declared version, with which items are written. */
  readonly version: number
  /** The item in the declared version. An item of that version stays as it is. @throws ServiceError `migration_failed`, `newer_data` */
  readonly upgrade: (text: string, from: number) => JsonText
  /** @throws ServiceError `newer_data` for a version that is newer than the declared one. */
  readonly requireReadable: (version: number) => void
}

/** Identifies a list by actor and name. */
export interface ListAddress {
  readonly actorId: string
  readonly list: string
  /** Null for a list without a declaration, whose items are read as they are. */
  readonly format: ItemFormat | null
  /** Receives every change of the list. Absent: changes are not kept. */
  readonly history?: ListHistory | undefined
}

/** The version with which items of the list are written. */
export function versionOf({ format }: ListAddress): number {
  return format?.version ?? firstVersion
}
