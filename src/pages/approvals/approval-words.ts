/** Describes the call of an approval with the title and description that the application declared. */
import type { Registry } from '../../app/registry.ts'
import type { McpEndpoint } from '../../mcp/endpoint.ts'
import type { Approval } from '../../operation/approvals.ts'

export interface ApprovalWordsDeps {
  readonly mcp: McpEndpoint
  readonly registry: Registry
}

/** An operation that is no longer declared keeps its name. */
export function wordsFor(
  { mcp, registry }: ApprovalWordsDeps,
  { kind, operation }: Pick<Approval, 'kind' | 'operation'>,
): { readonly title: string; readonly description: string } {
  const undeclared = { title: operation, description: '' }
  switch (kind) {
    case 'tools':
      return mcp.offers.tool(operation) ?? undeclared
    case 'prompts':
      return mcp.offers.prompt(operation) ?? undeclared
    case 'methods':
    case 'resources':
      return registry.wordsFor('methods', operation)
    case 'actions':
      return registry.wordsFor('actions', operation)
    default:
      return kind satisfies never
  }
}
