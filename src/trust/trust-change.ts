/** Changes that an owner makes to a relationship. */
import { flagField, jsonField, optional, parsedField, plainStringField } from '../json/fields.ts'
import { stringValue } from '../json/json.ts'
import { baseuriField } from './baseuri.ts'

export interface TrustChange {
  readonly approved?: boolean | undefined
  /** End of the approval, in Unix milliseconds. Default: an approval has no end. */
  readonly approvedUntil?: number | undefined
  readonly baseuri?: string | undefined
  readonly description?: string | undefined
  /** Empty: no nickname. */
  readonly nickname?: string | undefined
}

/** In characters. */
export const longestNickname = 80

/** Returns a nickname in one line. Null: it is too long. */
export function nicknameIn(text: string): string | null {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= longestNickname && line.isWellFormed() ? line : null
}

export const trustChangeFields = {
  approved: optional(flagField('Approval of the owner of this actor')),
  approved_until: optional(
    parsedField(
      {
        type: 'string',
        format: 'date-time',
        description: 'End of the approval; only with `approved`. Default: no end',
      },
      'a time in ISO 8601',
      (value) => {
        const time = Date.parse(stringValue(value) ?? '')
        return Number.isNaN(time) ? undefined : time
      },
    ),
  ),
  baseuri: optional(baseuriField('Address of the peer', 'the address of an actor')),
  desc: optional(plainStringField('Note of the owner about the relationship')),
  nickname: optional(
    parsedField(
      {
        type: 'string',
        maxLength: longestNickname,
        description: 'Name of the peer for the owner alone; empty for none',
      },
      `a string of at most ${longestNickname} characters`,
      (value) => {
        const text = stringValue(value)
        return text === null ? undefined : (nicknameIn(text) ?? undefined)
      },
    ),
  ),
  permissions: optional(jsonField('Permissions in the form of `/permissions`', { type: 'object' })),
}
