/** Selects entries of the audit log. */
import { choiceField, optional, stringField, timeField, type RequestFields, type ValuesOf } from '../json/fields.ts'

/** `allowed` includes calls that the owner approved, and `denied` those that the owner denied. */
export const activityOutcomes = ['allowed', 'asked', 'denied'] as const
export type ActivityOutcome = (typeof activityOutcomes)[number]

/** Subject of the requests. `operations` are actions, methods, resources, and everything that AI clients call. */
export const activityKinds = ['properties', 'files', 'operations', 'connections', 'updates', 'other'] as const
export type ActivityKind = (typeof activityKinds)[number]

export interface ActivityFilter {
  /** Only entries of this peer, client or address. */
  readonly caller?: string | null | undefined
  readonly outcome?: ActivityOutcome | null | undefined
  readonly kind?: ActivityKind | null | undefined
  /** Only requests for this property or a part of it. Requests for all properties do not count. */
  readonly property?: string | null | undefined
  /** Only entries at or after this time, in Unix milliseconds. */
  readonly from?: number | null | undefined
  /** Only entries before this time, in Unix milliseconds. */
  readonly until?: number | null | undefined
}

/** The query parameters of a filter. */
export const activityFilterFields = {
  caller: optional(stringField('Only entries of this peer, client or address')),
  outcome: optional(choiceField('Only requests with this outcome', activityOutcomes)),
  kind: optional(choiceField('Only requests about this', activityKinds)),
  property: optional(stringField('Only requests for this property or a part of it')),
  from: optional(timeField('Only entries at or after this date or time (UTC)')),
  until: optional(timeField('Only entries before this date or time (UTC)')),
} satisfies RequestFields

export type ActivityFilterValues = ValuesOf<typeof activityFilterFields>
