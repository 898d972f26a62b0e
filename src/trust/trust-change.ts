/** Changes that an owner makes to a relationship. */
import { flagField, jsonField, optional, plainStringField } from '../json/fields.ts'
import { baseuriField } from './baseuri.ts'

export interface TrustChange {
  readonly approved?: boolean | undefined
  readonly baseuri?: string | undefined
  readonly description?: string | undefined
}

export const trustChangeFields = {
  approved: optional(flagField('Approval of the owner of this actor')),
  baseuri: optional(baseuriField('Address of the peer', 'the address of an actor')),
  desc: optional(plainStringField('Note of the owner about the relationship')),
  permissions: optional(jsonField('Permissions in the form of `/permissions`', { type: 'object' })),
}
