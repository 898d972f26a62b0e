/**
 * The role table: the categories that a role may access at all. A peer also needs a rule for the target
 * (`permission.ts`), so this table can only restrict what rules grant.
 */
import { type Category, type CoreCategory, isOfFeature, type Right } from './operation.ts'

type Rights = readonly Right[]

const all: Rights = ['read', 'write', 'delete']
const data = {
  properties: all,
  files: all,
  resources: all,
  methods: all,
  actions: all,
  tools: all,
  prompts: all,
  permissions: ['read'],
} as const

/** `features`: what features add. */
type RoleTable = { readonly [category in CoreCategory | 'features']?: Rights }

const creator: RoleTable = {
  ...data,
  actor: all,
  trust: all,
  subscriptions: all,
  remote: ['read'],
  callbacks: all,
  permissions: all,
  services: all,
  activity: ['read'],
  history: all,
  archive: all,
  approvals: ['read', 'write'],
  www: all,
  sessions: all,
  keys: all,
  devtest: all,
  features: all,
}

const trustee: RoleTable = { actor: all, trust: all, subscriptions: all, services: all }

/** Relationships with access beyond data. In the data categories, rules alone decide for every relationship. */
const relationships: Readonly<Record<string, RoleTable>> = {
  admin: { ...data, actor: all, trust: all, services: all },
}

/** An AI client or another program. Its relationship, also `admin`, opens data only: no program manages the actor. */
const program: RoleTable = data

const otherRelationship: RoleTable = data

/** True when the relationship itself grants access beyond data: to the actor, its relationships and its services. */
export function reachesBeyondData(relationship: string): boolean {
  return Object.hasOwn(relationships, relationship)
}

/** The rights of a role in a category. */
export function rightsIn(table: RoleTable, category: Category): Rights {
  return table[isOfFeature(category) ? 'features' : category] ?? []
}

export function roleTable(
  role: { creator: true } | { trustee: true } | { program: true } | { relationship: string },
): RoleTable {
  if ('creator' in role) return creator
  if ('trustee' in role) return trustee
  if ('program' in role) return program
  return Object.hasOwn(relationships, role.relationship) ? (relationships[role.relationship] ?? {}) : otherRelationship
}
