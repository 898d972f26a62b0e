/** What an approval is about, in the words of the application's declarations. */
import type { Approval } from '../../operation/approvals.ts'
import type { Parts } from '../../http/dispatch/parts.ts'

/** An operation that is no longer declared keeps its name. */
export function wordsFor(
  { mcp, registry }: Pick<Parts, 'mcp' | 'registry'>,
  { kind, operation }: Pick<Approval, 'kind' | 'operation'>,
): { readonly title: string; readonly description: string } {
  const undeclared = { title: operation, description: '' }
  switch (kind) {
    case 'tools':
      return mcp.tool(operation) ?? undeclared
    case 'prompts':
      return mcp.prompt(operation) ?? undeclared
    case 'methods':
    case 'resources':
      return registry.wordsFor('methods', operation)
    case 'actions':
      return registry.wordsFor('actions', operation)
    default:
      return kind satisfies never
  }
}
