/**
 * The coarse table: which categories a role may touch at all. A peer needs a rule for the very target besides
 * (`permission.ts`), so this table only ever narrows what rules grant.
 */
import type { Category, Right } from './operation.ts'

type Rights = readonly Right[]

const all: Rights = ['read', 'write', 'delete']
const data = {
  properties: all,
  resources: all,
  methods: all,
  actions: all,
  tools: all,
  prompts: all,
  permissions: ['read'],
} as const

type RoleTable = { readonly [category in Category]?: Rights }

const creator: RoleTable = {
  ...data,
  actor: all,
  trust: all,
  subscriptions: all,
  callbacks: all,
  permissions: all,
  services: all,
  activity: ['read'],
  approvals: ['read', 'write'],
  www: all,
  sessions: all,
  devtest: all,
}

const trustee: RoleTable = { actor: all, trust: all, subscriptions: all, services: all }

/** Relationships that reach beyond the data. In the data categories rules alone decide, for every relationship. */
const relationships: Readonly<Record<string, RoleTable>> = {
  admin: { ...data, actor: all, trust: all, services: all },
}

const otherRelationship: RoleTable = data

/** Whether the relationship opens more than data, whatever its rules say: the actor, its relationships, its services. */
export function reachesBeyondData(relationship: string): boolean {
  return Object.hasOwn(relationships, relationship)
}

export function roleTable(role: { creator: true } | { trustee: true } | { relationship: string }): RoleTable {
  if ('creator' in role) return creator
  if ('trustee' in role) return trustee
  return Object.hasOwn(relationships, role.relationship) ? (relationships[role.relationship] ?? {}) : otherRelationship
}
