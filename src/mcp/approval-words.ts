/** Describes the call of an approval with the title and description that the application declared. */
import type { CallText, Registry } from '../app/registry.ts'
import type { McpEndpoint } from './endpoint.ts'
import type { Actor } from '../actor/actor.ts'
import { isRecord } from '../json/is-record.ts'
import type { Approval } from '../operation/approvals.ts'
import { undeclaredNames } from '../operation/declared-members.ts'
import type { CallPreview, Operations } from '../operation/operations.ts'

export interface ApprovalWordsDeps {
  readonly mcp: McpEndpoint
  readonly registry: Registry
}

/** An operation that is no longer declared keeps its name. */
export function wordsFor(
  { mcp, registry }: ApprovalWordsDeps,
  actor: Pick<Actor, 'kind'>,
  { kind, operation }: Pick<Approval, 'kind' | 'operation'>,
): CallText {
  const undeclared = { title: operation, description: '', isDestructive: false, inputSchema: null, runs: null }
  switch (kind) {
    case 'tools':
      return mcp.offers.tool(actor, operation) ?? undeclared
    case 'prompts':
      return mcp.offers.prompt(actor, operation) ?? undeclared
    case 'methods':
    case 'resources':
      return registry.of(actor).wordsFor('methods', operation)
    case 'actions':
      return registry.of(actor).wordsFor('actions', operation)
    default:
      return kind satisfies never
  }
}

/** The effect of a call that waits, in the words of the application. A decided call needs no preview. */
export async function previewFor(
  deps: ApprovalWordsDeps & { readonly operations: Pick<Operations, 'preview'> },
  actor: Actor,
  approval: Approval,
): Promise<CallPreview> {
  const { runs } = wordsFor(deps, actor, approval)
  if (runs === null || approval.state !== 'waiting') return null
  return deps.operations.preview(actor, runs, approval)
}

/** The titles of the arguments that the input schema declares, by name. */
export function argumentTitles({ inputSchema }: Pick<CallText, 'inputSchema'>): ReadonlyMap<string, string> {
  const properties: unknown = inputSchema?.['properties']
  if (typeof properties !== 'object' || properties === null) return new Map()
  return new Map(
    Object.entries(properties).flatMap(([name, schema]: [string, unknown]) => {
      const title = typeof schema === 'object' && schema !== null && 'title' in schema ? schema.title : undefined
      return typeof title === 'string' ? [[name, title]] : []
    }),
  )
}

/** The names in the input that the caller chose: the call has them, and the application does not declare them. */
export function namedByCaller(
  deps: ApprovalWordsDeps,
  actor: Pick<Actor, 'kind'>,
  approval: Approval,
): readonly string[] {
  const given = new Set(undeclaredNames(wordsFor(deps, actor, approval).inputSchema, approval.given))
  const { arguments: input } = approval
  return isRecord(input) ? Object.keys(input).filter((name) => given.has(name)) : []
}
