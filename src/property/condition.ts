/** Conditions on the stored state (RFC 9110 section 13). A write decides about them in its transaction. */
import { ServiceError } from '../errors.ts'

/** Entity tags without their quotes, or any. Weak tags are not included, because they never match a strong comparison. */
export type EntityTags = '*' | readonly string[]

export interface Condition {
  /** The state must have one of these versions. `*`: it must exist. */
  readonly ifMatch: EntityTags | null
  /** The state must have none of these versions. `*`: it must not exist. */
  readonly ifNoneMatch: EntityTags | null
}

/** The state that a condition is about. */
export type ConditionSubject =
  /** A property, a key below it, or an item of a list: the name, followed by keys or a position. */
  | { readonly path: readonly string[] }
  /** All properties that the caller may read. */
  | { readonly mayRead: (name: string) => boolean }

export type WriteCondition = Condition & { readonly subject: ConditionSubject }

/** The version of a listing that is too long for memory. No entity tag contains a double quote, so none names it. */
export const untagged = '"'

/** @param version null for what does not exist. @throws ServiceError `precondition_failed` */
export function requireMet({ ifMatch, ifNoneMatch }: Condition, version: string | null): void {
  if (ifMatch !== null && !names(ifMatch, version))
    throw failed(
      version === null
        ? 'Nothing was changed: If-Match requires a version of what does not exist'
        : version === untagged
          ? 'Nothing was changed: the properties are too many or too long for an entity tag. Use If-Match at one property'
          : 'Nothing was changed: If-Match does not name the stored version',
    )
  if (ifNoneMatch !== null && names(ifNoneMatch, version))
    throw failed('Nothing was changed: If-None-Match excludes the stored version')
}

/** A tag consists of the version, and after a dot what else determines the response. A write compares only the version. */
function names(tags: EntityTags, version: string | null): boolean {
  if (version === null) return false
  return tags === '*' || tags.some((tag) => tag.split('.')[0] === version)
}

function failed(message: string): ServiceError {
  return new ServiceError('precondition_failed', message)
}
