/** What TypeScript refuses of a declaration, told in one sentence to those who write JavaScript. */
import { ConfigError } from '../config/config-error.ts'
import type { ActionMetadata, EventName, MethodMetadata, PropertyHooks, PropertyOperation } from './declarations.ts'

const events: Readonly<Record<EventName, true>> = {
  actor_created: true,
  actor_deleted: true,
  actor_deleted_complete: true,
  oauth_success: true,
  email_verification_required: true,
  email_verified: true,
  trust_initiated: true,
  trust_request_received: true,
  trust_fully_approved_local: true,
  trust_fully_approved_remote: true,
  trust_deleted: true,
  subscription_deleted: true,
}
const operations: Readonly<Record<PropertyOperation, true>> = { get: true, put: true, post: true, delete: true }

/** @throws ConfigError */
export function requireEvent(event: string, handler: unknown): void {
  if (!Object.hasOwn(events, event))
    throw new ConfigError(`There is no event ${quote(event)}. The events are ${Object.keys(events).join(', ')}.`)
  requireHandler('event', event, handler)
}

/** @throws ConfigError */
export function requireOperation(
  kind: 'methods' | 'actions',
  name: string,
  metadata: ActionMetadata | MethodMetadata | null,
  handler: unknown,
): void {
  const what = kind === 'methods' ? 'method' : 'action'
  requireHandler(what, name, handler)
  for (const side of ['input', 'output'] as const) {
    if (metadata?.[side] !== undefined && !isSchema(metadata[side]))
      throw new ConfigError(
        `The ${side} of the ${what} ${quote(name)} is no schema: it takes one of zod, any other Standard Schema or a JSON Schema.`,
      )
  }
}

/** @throws ConfigError */
export function requireHooks(name: string, hooks: PropertyHooks): void {
  for (const [operation, hook] of Object.entries(hooks) as [string, unknown][]) {
    if (!Object.hasOwn(operations, operation))
      throw new ConfigError(
        `The property ${quote(name)} has no operation ${quote(operation)} to hook into. The operations are ${Object.keys(operations).join(', ')}.`,
      )
    if (hook !== undefined && typeof hook !== 'function')
      throw new ConfigError(`The hook ${quote(operation)} of the property ${quote(name)} is no function.`)
  }
}

function requireHandler(what: string, name: string, handler: unknown): void {
  if (typeof handler !== 'function')
    throw new ConfigError(`The ${what} ${quote(name)} needs a handler, which is a function.`)
}

/** Some libraries make schemas that can be called. */
function isSchema(declared: unknown): boolean {
  if (typeof declared === 'function') return '~standard' in declared
  return typeof declared === 'object' && declared !== null && !Array.isArray(declared)
}

function quote(name: string): string {
  return JSON.stringify(name)
}
