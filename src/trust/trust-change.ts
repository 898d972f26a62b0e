/** What an owner changes of a relationship. */
import { flagField, jsonField, optional, plainStringField } from '../json/fields.ts'
import { baseuriField } from './baseuri.ts'

export interface TrustChange {
  readonly approved?: boolean | undefined
  readonly baseuri?: string | undefined
  readonly description?: string | undefined
}

export const trustChangeFields = {
  approved: optional(flagField('By the owner of this actor')),
  baseuri: optional(baseuriField('The address of the peer', 'the address of an actor')),
  desc: optional(plainStringField('What the owner notes about the relationship')),
  permissions: optional(jsonField('As for `/permissions`', { type: 'object' })),
}
