/** Labels of a call for metrics and spans. Only declared names are labels, to limit their number. */
import { failed, type Span } from '../../observe/tracing.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { CallMethod } from '../method.ts'
import { McpFailure } from '../protocol/failure.ts'
import type { McpResult } from '../protocol/result.ts'
import type { InFlightCall, McpRequest } from './call.ts'

export interface CallLabels {
  /** `other` for a method that the revision does not have. */
  readonly method: string
  /** Empty for a method that calls no tool, and for a tool that is not declared. */
  readonly tool: string
  /** The method, and the declared tool or prompt that the call names. */
  readonly span: string
}

export type CallOutcome = { readonly result: McpResult } | { readonly error: unknown }

export function labelsOf(method: CallMethod | undefined, { params }: McpRequest, catalogue: Catalogue): CallLabels {
  if (method === undefined) return { method: 'other', tool: '', span: 'other' }
  const { name, declaredIn } = method
  const target = targetOf(method, params)
  if (declaredIn === undefined || !catalogue[declaredIn].has(target)) return { method: name, tool: '', span: name }
  return { method: name, tool: declaredIn === 'tools' ? target : '', span: `${name} ${target}` }
}

/** The target of a call: the parameter that the method's row names. Empty when the call lacks it. */
export function targetOf(method: CallMethod | undefined, params: McpRequest['params']): string {
  const target = method?.target === undefined ? undefined : params[method.target]
  return typeof target === 'string' ? target : ''
}

/** The outcome for metrics: `ok`, `tool_error`, the kind of an unfinished result, or the kind of the failure. */
export function outcomeOf(done: CallOutcome): string {
  if ('error' in done) return done.error instanceof McpFailure ? done.error.kind : 'unavailable'
  const { result } = done
  if (result.kind !== 'complete') return result.kind
  return result.body['isError'] === true ? 'tool_error' : 'ok'
}

const goodOutcomes: ReadonlySet<string> = new Set(['ok', 'input_required', 'task', 'url_elicitation'])

export function describeSpan(
  span: Span,
  { access, revision }: InFlightCall,
  { method, tool }: CallLabels,
  outcome: string,
): void {
  if (!span.isRecording()) return
  span.setAttributes({
    'mcp.method.name': method,
    'mcp.protocol.version': revision,
    'troupe.actor': access.actor.id,
    ...(tool === '' ? {} : { 'gen_ai.tool.name': tool }),
  })
  if (!goodOutcomes.has(outcome)) failed(span, outcome)
}
