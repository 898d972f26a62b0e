/** Shows that the service continues a copy of its data, so that the latest changes before may be missing. */
import type { Continued } from '../../runtime.ts'
import type { Messages } from '../languages/language.ts'
import { type Moment, momentOf, momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'

export interface RestoredData {
  readonly since: Moment
  /** The time of the copy. Null: unknown. */
  readonly copied: Moment | null
}

const shownForMs = 30 * 86_400_000

/** Null: the data is the original, or became a copy more than 30 days ago. */
export function restoredDataOf(continued: Continued | null, now: number, messages: Messages): RestoredData | null {
  if (continued === null || now - continued.since > shownForMs) return null
  const { since, copiedAt } = continued
  return {
    since: momentOf(since, now, messages),
    copied: copiedAt === null ? null : momentOf(copiedAt, now, messages),
  }
}

export function restoredView({ since, copied }: RestoredData, { restored: words }: Messages): Html {
  return copied === null ? words.ofUnknown(momentView(since)) : words.ofCopy(momentView(since), momentView(copied))
}
