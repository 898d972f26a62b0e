/** Runs methods, actions and resources of the application, after checks of rights and schemas. */
import type { ActorHandle } from '../app/actor-handle.ts'
import { isResponse } from '../app/handler-response.ts'
import { handlerResult } from '../app/handler-result.ts'
import type { CallText, DeclaredOperation, Descriptor, OperationKind, Registry } from '../app/registry.ts'
import type { Schema } from '../app/schema.ts'
import { quoted, ServiceError } from '../errors.ts'
import { fromPlain, type Json, type JsonText } from '../json/json.ts'
import { present } from '../json/present.ts'
import { callLog } from '../observe/call-log.ts'
import type { Log } from '../observe/log.ts'
import type { Metrics } from '../observe/metrics.ts'
import type { Right } from '../permission/operation.ts'
import type { Permission } from '../permission/permission.ts'
import { propertiesUri } from '../permission/property-address.ts'
import type { Access } from '../property/access.ts'
import { inTime, type Timers } from '../timers.ts'
import { type Approval, type Approvals, type CallInput, needsNoApproval } from './approvals.ts'
import { requireDeclared } from './declared-members.ts'
import { nearestName } from './nearest-name.ts'
import { type OwnPage, type OwnPageCall, ownPage } from './page-handlers.ts'

/** `undefined`: the handler returned nothing. Null: no handler handled the call. */
export type OperationResult = JsonText | Response | undefined | null

/** The effect of a call in the words of the application. */
export type CallPreview = { readonly text: string } | 'failed' | null

/** In characters. */
const longestPreview = 1000
const previewMs = 2000

export interface OperationDeps {
  readonly registry: Registry
  readonly permission: Permission
  readonly approvals: Pick<Approvals, 'require'>
  readonly handleOf: (actor: Access['actor']) => ActorHandle
  readonly timers: Timers
  readonly log: Log
  readonly metrics: Pick<Metrics, 'operationCalled'>
}

export class Operations {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  /** An application-defined page. Null when the application has no page at this address. */
  page(access: Access, call: OwnPageCall): Promise<OwnPage | null> {
    return ownPage(this.#deps, access, call)
  }

  /** The operations that the caller may call. */
  async list(access: Access, kind: OperationKind): Promise<Descriptor[]> {
    const { registry, permission } = this.#deps
    const descriptors = registry.of(access.actor).descriptors(kind)
    const names = descriptors.map(({ name }) => name)
    const callable = await permission.filter(access.actor.id, access.caller, { category: kind, right: 'write' }, names)
    return descriptors.filter(({ name }) => callable.has(name))
  }

  /**
   * Runs the handlers of the name in order until one handles the call.
   *
   * @returns The handler's result or its own `Response`, `undefined` when it returned nothing, or null when no handler
   *   handled the call.
   * @throws ServiceError `invalid_input` with the field that violates the declared schema; for an operation that needs
   *   the owner's approval, `approval_required` and the other errors of `Approvals.require`.
   */
  async call(access: Access, kind: OperationKind, name: string, data: Json): Promise<OperationResult> {
    const { registry, metrics } = this.#deps
    const beganAt = performance.now()
    let outcome = 'failed'
    try {
      const result = await this.#call(access, kind, name, data)
      outcome = result === null ? 'unhandled' : 'ok'
      return result
    } catch (error) {
      if (error instanceof ServiceError) outcome = error.code
      throw error
    } finally {
      const declared = registry.find(access.actor.kind)?.operations(kind, name)[0]?.name ?? ''
      metrics.operationCalled({ kind, name: declared, outcome }, (performance.now() - beganAt) / 1000)
    }
  }

  async #call(access: Access, kind: OperationKind, name: string, data: Json): Promise<OperationResult> {
    await this.require(access, kind, 'write', name)
    const { approvals, handleOf, log } = this.#deps
    const registry = this.#deps.registry.of(access.actor)
    const operations = registry.operations(kind, name)
    const mustAsk = registry.needsApproval(kind, name) && !needsNoApproval(access.caller)
    const reviewed = mustAsk ? await reviewedInput(registry.wordsFor(kind, name), data) : null
    if (reviewed !== null) await approvals.require(access.actor, access.caller, { kind, name }, reviewed)
    const handle = handleOf(access.actor)
    for (const operation of operations) {
      const input = await inputFor(operation, data, reviewed)
      const result = await operation.run(handle, {
        caller: access.caller,
        name,
        input,
        ...callLog(log, `${kind}/${name}`, access.actor.id),
      })
      if (result !== null) return resultOf(result)
    }
    return null
  }

  /**
   * The error of a call that no handler handled. For a name that is not declared, it names the nearest operation among those
   * that the caller may call.
   */
  async unhandled(access: Access, kind: OperationKind, name: string): Promise<ServiceError> {
    if (this.#deps.registry.of(access.actor).operations(kind, name).length > 0)
      return new ServiceError('no_result', `Cannot call ${quoted(name)}: no handler takes this call`)
    const callable = await this.list(access, kind)
    const near = nearestName(
      name,
      callable.map((descriptor) => descriptor.name),
    )
    const hint = near === null ? '' : `. The nearest name is ${quoted(near)}`
    const noun = kind === 'actions' ? 'action' : 'method'
    return new ServiceError('not_found', `Cannot call ${quoted(name)}: no ${noun} has this name${hint}`)
  }

  /** True when every handler of the name is declared as read-only. */
  isReadOnly({ actor }: Pick<Access, 'actor'>, kind: OperationKind, name: string): boolean {
    const declared = this.#deps.registry.of(actor).operations(kind, name)
    return declared.length > 0 && declared.every((operation) => operation.metadata?.annotations?.readOnlyHint === true)
  }

  /** Like `call`, for a resource. Every falsy result except `undefined` passes the call to the next handler. */
  async resource(
    access: Access,
    right: Right,
    name: string,
    data: { readonly [member: string]: Json },
  ): Promise<OperationResult> {
    await this.require(access, 'resources', right, name)
    // The rules on properties also grant these addresses, but only for the properties route and for AI clients.
    if (name.startsWith(propertiesUri)) return null
    const handle = this.#deps.handleOf(access.actor)
    for (const handler of this.#deps.registry.of(access.actor).resources(name)) {
      const result = await handler({
        actor: handle,
        caller: access.caller,
        name,
        input: data,
        ...callLog(this.#deps.log, `resources/${name}`, access.actor.id),
      })
      if (result === undefined || result) return resultOf(result)
    }
    return null
  }

  /**
   * Describes the effect of a call that waits for approval, as the application declared it.
   *
   * @returns null without a declared preview; `failed` when it threw, took longer than 2 seconds or returned no text.
   */
  async preview(
    actor: Access['actor'],
    { kind, name, input: schema }: NonNullable<CallText['runs']>,
    { given, arguments: reviewed }: Pick<Approval, 'given' | 'arguments'>,
  ): Promise<CallPreview> {
    const preview = this.#deps.registry.of(actor).previewOf(kind, name)
    if (preview === null) return null
    try {
      const { handleOf, timers } = this.#deps
      const input = schema === null ? given : await schema.check(given)
      // A newer version of the application may convert the input differently than the owner sees it.
      if (fromPlain(input) !== fromPlain(reviewed)) throw new Error('the schema converts the input to another value')
      const ask = (): unknown => preview({ actor: handleOf(actor), input })
      const text = await inTime(timers, previewMs, ask, 'the preview took longer than 2 seconds')
      if (typeof text !== 'string' || text.trim() === '') throw new Error('the preview is not a text')
      const shown = text.trim()
      return { text: shown.length > longestPreview ? `${shown.slice(0, longestPreview)}…` : shown }
    } catch (error) {
      this.#deps.log.warn({ error, kind, name }, 'Cannot preview a call for its owner')
      return 'failed'
    }
  }

  async require(access: Access, category: OperationKind | 'resources', right: Right, name: string): Promise<void> {
    await this.#deps.permission.require(access.actor.id, access.caller, { category, right, target: name })
  }

  /** Passes a message to the bot handlers. True when a handler returned something truthy, which ends the search. */
  async bot(token: string, body: Json | undefined): Promise<boolean> {
    for (const handler of this.#deps.registry.bots) {
      if (await handler(present({ path: '/bot', method: 'POST', bot_token: token, body }))) return true
    }
    return false
  }
}

interface ReviewedInput extends CallInput {
  readonly schema: Schema | null
}

/**
 * The input as the owner reviews it, converted by the first declared schema. The owner is not asked about a call that
 * violates the schema.
 *
 * @throws ServiceError `invalid_input`
 */
async function reviewedInput({ inputSchema, runs }: CallText, given: Json): Promise<ReviewedInput> {
  const schema = runs?.input ?? null
  const input = schema === null ? given : await schema.check(given)
  requireDeclared(inputSchema, given)
  return { given, input, schema }
}

/** @throws ServiceError `invalid_input` when the handler would receive another input than the owner approved. */
async function inputFor(
  { input: schema, name }: DeclaredOperation,
  data: Json,
  reviewed: ReviewedInput | null,
): Promise<unknown> {
  if (reviewed === null) return schema === null ? data : schema.check(data)
  if (schema === null || schema === reviewed.schema) return reviewed.input
  const input = await schema.check(data)
  if (fromPlain(input) === fromPlain(reviewed.input)) return input
  throw new ServiceError(
    'invalid_input',
    `Cannot call ${quoted(name)}: two of its handlers convert the input to different values, and the owner approved one of them`,
  )
}

function resultOf(result: unknown): JsonText | Response | undefined {
  return result === undefined || isResponse(result) ? result : handlerResult(result)
}

/** @throws ServiceError `bad_request` for null, a number or a boolean, which handlers do not accept. */
export function requireData(value: Json): Json {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') {
    throw new ServiceError('bad_request', 'Cannot call: the body must be a JSON object')
  }
  return value
}
