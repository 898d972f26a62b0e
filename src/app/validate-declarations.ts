/** Validates declarations at run time, because JavaScript applications have no type checks. */
import { ConfigError, problemIn } from '../config/config-error.ts'
import type { Config } from '../config/options.ts'
import { operationsOf, type RuledCategory, ruledCategories } from '../permission/rules.ts'
import type { TrustType, TrustTypes } from '../permission/trust-types.ts'
import type { ActionMetadata, EventName, MethodMetadata, PropertyHooks, PropertyOperation } from './declarations.ts'
import { membersOf } from './declared-members.ts'
import { personKind } from './kinds/person.ts'
import { requireMembers } from './known-members.ts'
import { type DeclaredSchema, type JsonSchema, type Schema, schemaFault } from './schema.ts'

const events: Readonly<Record<EventName, true>> = {
  actor_created: true,
  actor_deleted: true,
  actor_deleted_complete: true,
  oauth_success: true,
  creator_superseded: true,
  email_verification_required: true,
  sign_in_link_requested: true,
  mail: true,
  email_verified: true,
  trust_initiated: true,
  trust_request_received: true,
  trust_fully_approved_local: true,
  trust_fully_approved_remote: true,
  trust_deleted: true,
  subscription_deleted: true,
  property_changed: true,
  list_changed: true,
  file_changed: true,
}
const ruleMembers: readonly string[] = ['patterns', 'operations', 'excluded_patterns', 'allowed', 'denied']
const operations: Readonly<Record<PropertyOperation, true>> = { get: true, put: true, post: true, delete: true }

/** @throws ConfigError when the type is missing or not a string. */
export function requireType(type: unknown): void {
  if (typeof type !== 'string' || type.trim() === '')
    throw new ConfigError(
      'Cannot create the application: it needs a type, which names the kind of actor: troupe({ type: "urn:actingweb:example.com:notes" }).',
    )
}

/** @throws ConfigError when the option is not a function, or a provider has its name. */
export function requireAuthenticate(authenticate: unknown, plans: readonly { readonly name: string }[]): void {
  if (authenticate === undefined) return
  if (typeof authenticate !== 'function')
    throw new ConfigError('Option authenticate must be a function that returns { email, verified }, null or undefined.')
  if (plans.some(({ name }) => name === 'host'))
    throw new ConfigError(
      'Cannot use a provider with the name host beside the option authenticate: rename the provider.',
    )
}

/**
 * Refuses operations that wait for an approval which no owner can give. With `devtest`, the passphrase opens a session.
 *
 * @param operation The first operation with `confirm: 'owner'`.
 * @throws ConfigError
 */
export function requireApprovalPath(
  operation: { readonly kind: 'methods' | 'actions'; readonly name: string } | undefined,
  config: Pick<Config, 'devtest' | 'webUi' | 'singlePage' | 'approvalUrl'>,
  signsIn: boolean,
): void {
  const hasPage = config.webUi || config.singlePage !== null || config.approvalUrl !== null
  if (operation === undefined || hasPage || signsIn || config.devtest) return
  throw new ConfigError(
    `Cannot start with the ${nounOf(operation.kind)} ${quote(operation.name)}, which needs the approval of the owner: the pages are off (TROUPE_WEB_UI), and no owner can sign in to use /<actor>/approvals. Turn the pages on, configure an identity provider or the option authenticate, or set TROUPE_APPROVAL_URL to the application’s own page.`,
  )
}

/** @throws ConfigError when the event does not exist or the handler is not a function. */
export function requireEvent(event: string, handler: unknown): void {
  if (!Object.hasOwn(events, event))
    throw new ConfigError(
      `Cannot handle event ${quote(event)}: it does not exist. The events are ${Object.keys(events).join(', ')}.`,
    )
  requireHandler('event', event, handler)
}

/** @throws ConfigError */
export function requireOperation(
  kind: 'methods' | 'actions',
  name: string,
  metadata: ActionMetadata | MethodMetadata | null,
  handler: unknown,
  isDescribed: boolean,
): void {
  const what = nounOf(kind)
  requireName(what, name)
  requireHandler(what, name, handler)
  if (metadata !== null && isDescribed)
    throw new ConfigError(
      `Cannot declare the ${what} ${quote(name)} twice: only one handler of a name can have metadata.`,
    )
  requireConfirm(what, name, metadata)
  const exclusive: unknown = metadata?.exclusive
  if (exclusive !== undefined && typeof exclusive !== 'boolean')
    throw new ConfigError(`Cannot declare the ${what} ${quote(name)}: exclusive must be true or false.`)
  for (const side of ['input', 'output'] as const) {
    if (metadata?.[side] !== undefined && !isSchema(metadata[side]))
      throw new ConfigError(
        `Cannot declare the ${what} ${quote(name)}: ${side} must be a zod schema, any other Standard Schema or a JSON Schema.`,
      )
  }
  if (metadata !== null) requireOperationMembers(kind, name, metadata)
}

/** @throws ConfigError when a member does not exist, or an operation is offered to AI clients in an unknown way. */
function requireOperationMembers(
  kind: 'methods' | 'actions',
  name: string,
  metadata: ActionMetadata | MethodMetadata,
): void {
  const failed = `Cannot declare the ${nounOf(kind)} ${quote(name)}:`
  requireMembers(failed, membersOf[kind], metadata)
  const mcp: unknown = metadata.mcp
  if (mcp === undefined) return
  if (kind === 'actions') {
    if (mcp !== true) requireMembers(`${failed} in mcp,`, membersOf.tool, mcp)
    return
  }
  const offers = isObject(mcp) ? Object.entries(mcp).filter(([, offer]) => offer !== undefined) : []
  const [[as, offer] = []] = offers
  if (offers.length !== 1 || (as !== 'prompt' && as !== 'resource'))
    throw new ConfigError(`${failed} mcp must be an object with either prompt or resource.`)
  if (offer === true) return
  requireMembers(`${failed} in mcp.${as},`, membersOf[as], offer)
  if (as === 'prompt' && isObject(offer) && offer['arguments'] !== undefined)
    requireArguments(failed, offer['arguments'])
}

function requireArguments(failed: string, given: unknown): void {
  const what = `${failed} in mcp.prompt.arguments,`
  if (!Array.isArray(given)) throw new ConfigError(`${what} the declaration must be an array.`)
  const names = given.map((argument: unknown) => {
    requireMembers(what, membersOf.argument, argument)
    return isObject(argument) ? argument['name'] : undefined
  })
  if (!names.every((name) => typeof name === 'string' && name !== '') || new Set(names).size < names.length)
    throw new ConfigError(`${what} the names must be different strings.`)
}

/** A `confirm` that the service does not understand would leave the operation unprotected. */
function requireConfirm(what: string, name: string, metadata: ActionMetadata | MethodMetadata | null): void {
  const mcp: unknown = metadata?.mcp
  const offered: readonly unknown[] = isObject(mcp) ? [mcp, mcp['prompt'], mcp['resource']] : []
  const [onMethod, ...onOffer] = [metadata, ...offered].map((declared) =>
    isObject(declared) ? declared['confirm'] : undefined,
  )
  for (const confirm of onOffer)
    if (confirm !== undefined && confirm !== 'owner')
      throw new ConfigError(`Cannot declare the ${what} ${quote(name)}: confirm within mcp must be 'owner' or absent.`)
  if (onMethod !== undefined && onMethod !== 'owner' && !isOwnerApproval(onMethod))
    throw new ConfigError(
      `Cannot declare the ${what} ${quote(name)}: confirm must be 'owner' or { owner: true, preview }, or absent when no approval is needed.`,
    )
  if (what === 'method' && onMethod === undefined && onOffer.some((confirm) => confirm !== undefined))
    throw new ConfigError(
      `Cannot declare the method ${quote(name)}: write confirm beside its description, not within mcp.`,
    )
}

function isOwnerApproval(given: unknown): boolean {
  if (!isObject(given) || given['owner'] !== true) return false
  const { owner: _owner, preview, ...others } = given
  return (preview === undefined || typeof preview === 'function') && Object.keys(others).length === 0
}

/**
 * The schema of one side of an operation; null when the declaration has none.
 *
 * @throws ConfigError when the schema cannot be published as JSON Schema and the declaration gives no explicit one.
 */
export function declaredSchema(
  kind: 'methods' | 'actions',
  name: string,
  side: 'input' | 'output',
  metadata: ActionMetadata | MethodMetadata | null,
  convert: (declared: DeclaredSchema, explicit?: JsonSchema) => Schema,
): Schema | null {
  const declared = metadata?.[side]
  if (declared === undefined) return null
  const explicit = metadata?.[`${side}Schema`]
  try {
    return convert(declared, explicit)
  } catch (error) {
    throw new ConfigError(
      `Cannot publish the ${side} of the ${nounOf(kind)} ${quote(name)} as JSON Schema: ${problemIn(error)}. Declare ${side}Schema too.`,
    )
  }
}

/**
 * Checks the patterns of an operation.
 *
 * @param options.loads whether to load the validators too.
 * @throws ConfigError when a schema is not a valid JSON Schema, or has a pattern that can take long.
 */
export async function requireValidSchemas(
  kind: 'methods' | 'actions',
  { name, ...sides }: { readonly name: string; readonly input: Schema | null; readonly output: Schema | null },
  { loads }: { readonly loads: boolean },
): Promise<void> {
  for (const side of ['input', 'output'] as const) {
    try {
      if (loads) await sides[side]?.load()
      await sides[side]?.requireLinear()
    } catch (error) {
      throw new ConfigError(`Cannot declare the ${nounOf(kind)} ${quote(name)}: its ${side} ${schemaFault(error)}.`)
    }
  }
}

/** @throws ConfigError naming the category, the member or the operation that does not exist. */
export function requireTrustType(type: TrustType, isDeclared: boolean): void {
  const { name, permissions } = type as { name?: unknown; permissions?: unknown }
  if (typeof name !== 'string' || name === '')
    throw new ConfigError('Cannot add a trust type: its name must be a string.')
  const what = `Cannot add the trust type ${quote(name)}:`
  if (isDeclared) throw new ConfigError(`${what} the name is declared already.`)
  requireMembers(what, membersOf.trustType, type)
  for (const text of ['display_name', 'description'] as const) {
    if (typeof type[text] !== 'string') throw new ConfigError(`${what} its ${text} must be a string.`)
  }
  if (!isObject(permissions))
    throw new ConfigError(`${what} its permissions must be an object with one rule per category.`)
  for (const [category, rule] of Object.entries(permissions)) {
    if (rule === undefined) continue
    if (!isRuledCategory(category))
      throw new ConfigError(
        `${what} the category ${quote(category)} does not exist. The categories are ${ruledCategories.join(', ')}.`,
      )
    requireRule(`${what} in ${category},`, rule, operationsOf[category])
  }
}

function requireRule(what: string, rule: unknown, operations: readonly string[]): void {
  if (!isObject(rule)) throw new ConfigError(`${what} the rule must be an object.`)
  for (const [member, entries] of Object.entries(rule)) {
    if (entries === undefined) continue
    if (!ruleMembers.includes(member))
      throw new ConfigError(
        `${what} the member ${quote(member)} does not exist. The members are ${ruleMembers.join(', ')}.`,
      )
    if (!Array.isArray(entries) || !entries.every((entry) => typeof entry === 'string'))
      throw new ConfigError(`${what} ${member} must be an array of strings.`)
    const unknown = member === 'operations' ? entries.find((entry) => !operations.includes(entry)) : undefined
    if (unknown !== undefined)
      throw new ConfigError(
        `${what} the operation ${quote(unknown)} does not exist. The operations are ${operations.join(', ')}.`,
      )
  }
}

function isRuledCategory(name: string): name is RuledCategory {
  return Object.hasOwn(operationsOf, name)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function nounOf(kind: 'methods' | 'actions'): string {
  return kind === 'methods' ? 'method' : 'action'
}

/** @throws ConfigError when the name is declared already. */
export function requireNewData(kind: 'value' | 'list', name: string, isDeclared: boolean): void {
  if (isDeclared)
    throw new ConfigError(
      `Cannot declare the ${kind === 'list' ? 'list' : 'property'} ${quote(name)}: the name is declared already.`,
    )
}

/** @throws ConfigError when a hook has an unknown operation or is not a function. */
export function requireHooks(name: string, hooks: PropertyHooks): void {
  for (const [operation, hook] of Object.entries(hooks) as [string, unknown][]) {
    if (!Object.hasOwn(operations, operation))
      throw new ConfigError(
        `Cannot hook into ${quote(operation)} of the property ${quote(name)}: the operation does not exist. The operations are ${Object.keys(operations).join(', ')}.`,
      )
    if (hook !== undefined && typeof hook !== 'function')
      throw new ConfigError(
        `Cannot declare the hook ${quote(operation)} of the property ${quote(name)}: it must be a function.`,
      )
  }
}

/** @throws ConfigError when the name is not a string, or the handler is not a function. */
export function requireNamedHandler(what: string, name: string, handler: unknown): void {
  // The name is the rest of an address, which may be empty.
  if (name !== '') requireName(what, name)
  requireHandler(what, name, handler)
}

/** @throws ConfigError when the handler, which has no name, is not a function. */
export function requireFunction(what: string, handler: unknown): void {
  if (typeof handler !== 'function') throw new ConfigError(`Cannot declare ${what}: its handler must be a function.`)
}

/** @throws ConfigError when the name is declared already, or a member does not exist. */
export function requireNewKind(kind: 'companion' | 'service', name: string, declared: unknown, isKnown: boolean): void {
  requireName(kind, name)
  const what = `Cannot declare the ${kind} ${quote(name)}:`
  if (isKnown) throw new ConfigError(`${what} the name is declared already.`)
  requireMembers(what, membersOf[kind], declared)
}

/** @throws ConfigError for a name that a kind of actors cannot have, or has already. */
export function requireNewKindOfActors(
  kind: unknown,
  { name, type }: { readonly name: unknown; readonly type: unknown },
  isKnown: boolean,
): void {
  const what = `Cannot declare the kind ${JSON.stringify(kind) ?? 'undefined'}:`
  if (typeof kind !== 'string' || !/^[a-z][a-z0-9_-]{0,39}$/.test(kind))
    throw new ConfigError(
      `${what} it must have 1 to 40 lower-case letters, digits, "-" and "_", and begin with a letter.`,
    )
  if (kind === personKind) throw new ConfigError(`${what} it is the kind of the actors that app itself declares.`)
  if (isKnown) throw new ConfigError(`${what} it is declared already.`)
  if (typeof name !== 'string' || name.trim() === '') throw new ConfigError(`${what} its name must be a string.`)
  if (type !== undefined && (typeof type !== 'string' || type.trim() === ''))
    throw new ConfigError(`${what} its type must be a URN or URL.`)
}

/**
 * Requires that the trust types in the settings exist. A misspelt one would grant nothing.
 *
 * @throws ConfigError
 */
export function requireConfiguredTypes(
  { clientTrustTypes, relationship }: Pick<Config, 'clientTrustTypes' | 'relationship'>,
  types: TrustTypes,
): void {
  const settings = [
    ['TROUPE_CLIENT_TRUST_TYPES', clientTrustTypes],
    ['TROUPE_DEFAULT_RELATIONSHIP', [relationship]],
  ] as const
  for (const [setting, names] of settings) {
    const unknown = names.find((name) => types.find(name) === undefined)
    if (unknown === undefined) continue
    const all = types.all().map(({ name }) => name)
    throw new ConfigError(
      `Cannot use ${setting}: the trust type ${quote(unknown)} does not exist. The trust types are ${all.join(', ')}.`,
    )
  }
}

function requireName(what: string, name: unknown): void {
  if (typeof name !== 'string' || name === '')
    throw new ConfigError(
      `Cannot declare the ${what} ${JSON.stringify(name) ?? 'undefined'}: its name must be a string.`,
    )
}

function requireHandler(what: string, name: string, handler: unknown): void {
  if (typeof handler !== 'function')
    throw new ConfigError(`Cannot declare the ${what} ${quote(name)}: its handler must be a function.`)
}

/** Some libraries create schemas that are callable functions. */
function isSchema(declared: unknown): boolean {
  if (typeof declared === 'function') return '~standard' in declared
  return isObject(declared)
}

function quote(name: string): string {
  return JSON.stringify(name)
}
