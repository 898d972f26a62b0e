/** Roles of the members of a group, and the rules that each role grants. */
import { ConfigError } from '../../config/config-error.ts'
import { ServiceError } from '../../errors.ts'
import type { OverrideRule, OverrideRules, PatternGrant } from '../../permission/rules.ts'
import type { DataDeclaration } from '../data-declarations.ts'
import { type MembersOf, requireMembers } from '../known-members.ts'

/** Names or patterns of targets. `*`: all that the kind declares. */
export type RoleTargets = '*' | readonly string[]

/** The rights of the members with a role in the group. Default for each: nothing. @experimental */
export interface RoleRights {
  /** Properties and lists to read and follow. */
  readonly read?: RoleTargets
  /** Lists to add items to. */
  readonly append?: RoleTargets
  /** Properties and lists to change. It includes `append`. */
  readonly write?: RoleTargets
  /** Properties and lists to remove. */
  readonly delete?: RoleTargets
  readonly actions?: RoleTargets
  readonly methods?: RoleTargets
  /** Names or patterns of files. `*`: reads, writes and deletes every file. */
  readonly files?: '*' | Readonly<Partial<Record<'read' | 'write' | 'delete', RoleTargets>>>
}

/** A role of the members of a group. @experimental */
export interface RoleDeclaration {
  /** In one phrase, for people. */
  readonly description?: string
  readonly can: RoleRights
  /** Members with the role manage the group. At least one manager remains. */
  readonly manages?: boolean
}

export type Roles = ReadonlyMap<string, RoleDeclaration>

/** The trust type of the members of groups of a kind. */
export function memberType(kind: string): string {
  return `${kind}_member`
}

/** The property with the name of a group, which every member may read. */
const nameOfGroup = 'displayname'

const rightsMembers: MembersOf<RoleRights> = {
  read: true,
  append: true,
  write: true,
  delete: true,
  actions: true,
  methods: true,
  files: true,
}
const roleMembers: MembersOf<RoleDeclaration> = { description: true, can: true, manages: true }
const fileMembers = { read: true, write: true, delete: true } as const

export function noRoles(kind: string): ServiceError {
  return new ServiceError('not_found', `Cannot have members: the kind ${JSON.stringify(kind)} declares no roles`)
}

/** The names of the roles that manage, in the order of declaration. */
export function managingRoles(roles: Roles): readonly string[] {
  return [...roles].flatMap(([role, { manages }]) => (manages === true ? [role] : []))
}

/**
 * The rules of a role, with explicit patterns: a peer compares the patterns of two messages, and notices no other change.
 *
 * @param data The declared properties and lists of the kind.
 */
export function rulesOfRole({ can }: RoleDeclaration, data: ReadonlyMap<string, DataDeclaration>): OverrideRules {
  const patterns = (targets: RoleTargets = []): readonly string[] =>
    (targets === '*' ? [...data.keys(), nameOfGroup] : targets).flatMap((name) =>
      data.get(name)?.kind === 'list' || /[*?/]/.test(name) ? [name] : [name, `${name}/*`],
    )
  const { read, append, write, delete: removes, actions, methods, files } = can
  const named = read === '*' ? read : [...new Set([...(read ?? []), nameOfGroup])]
  const ofFiles = files === '*' ? { read: files, write: files, delete: files } : (files ?? {})
  return {
    ...ruleIf(
      'properties',
      ruleOf(patterns(named), {
        append: patterns(append),
        write: patterns(write),
        delete: patterns(removes),
      }),
    ),
    ...ruleIf('files', ruleOf(ofFiles.read ?? [], { write: ofFiles.write ?? [], delete: ofFiles.delete ?? [] })),
    ...ruleIf('actions', allowing(actions)),
    ...ruleIf('methods', allowing(methods)),
  }
}

type Others = Readonly<Record<string, RoleTargets>>

function ruleOf(read: RoleTargets, others: Others): OverrideRule | null {
  const operations = new Map<string, string[]>()
  for (const [operation, patterns] of Object.entries(others))
    for (const pattern of listOf(patterns)) operations.set(pattern, [...(operations.get(pattern) ?? []), operation])
  if (read.length === 0 && operations.size === 0) return null
  const grants: PatternGrant[] = [...operations].map(([pattern, granted]) => ({ pattern, operations: granted }))
  return {
    merge: false,
    patterns: listOf(read),
    operations: ['read'],
    ...(grants.length === 0 ? {} : { grants }),
  }
}

function allowing(targets: RoleTargets = []): OverrideRule | null {
  return targets.length === 0 ? null : { merge: false, allowed: listOf(targets) }
}

function listOf(targets: RoleTargets): readonly string[] {
  return typeof targets === 'string' ? [targets] : targets
}

function ruleIf(category: 'properties' | 'files' | 'actions' | 'methods', rule: OverrideRule | null): OverrideRules {
  return rule === null ? {} : { [category]: rule }
}

/** @throws ConfigError */
export function requireRoles(kind: string, roles: unknown): Roles {
  const what = `Cannot declare the kind ${JSON.stringify(kind)}:`
  if (typeof roles !== 'object' || roles === null || Array.isArray(roles) || Object.keys(roles).length === 0)
    throw new ConfigError(`${what} its roles must be an object with at least one role.`)
  const declared = new Map<string, RoleDeclaration>()
  for (const [role, declaration] of Object.entries(roles)) {
    requireRole(`${what} in the role ${JSON.stringify(role)},`, role, declaration)
    declared.set(role, declaration)
  }
  if (managingRoles(declared).length === 0)
    throw new ConfigError(`${what} one of its roles must have manages: true, because each group needs a manager.`)
  return declared
}

/**
 * Requires that the actions and methods of roles are declared, because a misspelt one would grant nothing.
 *
 * @throws ConfigError
 */
export function requireRoleOperations(
  kind: string,
  roles: Roles,
  isDeclared: (category: 'actions' | 'methods', name: string) => boolean,
): void {
  for (const [role, { can }] of roles)
    for (const category of ['actions', 'methods'] as const)
      for (const name of can[category] ?? [])
        if (!/[*?]/.test(name) && !isDeclared(category, name) && !isDeclared(category, '*'))
          throw new ConfigError(
            `Cannot declare the kind ${JSON.stringify(kind)}: the role ${JSON.stringify(role)} names ${JSON.stringify(name)}, which is not declared as one of its ${category}.`,
          )
}

function requireRole(what: string, role: string, declared: unknown): asserts declared is RoleDeclaration {
  if (!/^[a-z][a-z0-9_-]{0,39}$/.test(role))
    throw new ConfigError(
      `${what} the name must have 1 to 40 lower-case letters, digits, "-" and "_", and begin with a letter.`,
    )
  requireMembers(what, roleMembers, declared)
  const { description = '', can, manages = false } = declared as Readonly<Record<string, unknown>>
  if (typeof description !== 'string') throw new ConfigError(`${what} the description must be a string.`)
  if (typeof manages !== 'boolean') throw new ConfigError(`${what} manages must be true or false.`)
  requireMembers(`${what} in can,`, rightsMembers, can)
  for (const [right, targets] of Object.entries(can as object)) {
    if (right !== 'files') requireTargets(`${what} ${right}`, targets)
    else if (targets !== '*' && targets !== undefined) {
      requireMembers(`${what} in files,`, fileMembers, targets)
      for (const [operation, names] of Object.entries(targets as object))
        requireTargets(`${what} files.${operation}`, names)
    }
  }
}

function requireTargets(what: string, targets: unknown): void {
  if (targets === '*' || targets === undefined) return
  if (!Array.isArray(targets) || targets.some((name) => typeof name !== 'string' || name === '' || name === '*'))
    throw new ConfigError(`${what} must be "*" or an array of names.`)
}
