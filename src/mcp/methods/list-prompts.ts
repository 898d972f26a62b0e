/** `prompts/list`: the prompts that the client may use, in the order of declaration. */
import type { McpRequest } from '../call/call.ts'
import { displayMetadata, type Prompt } from '../catalogue/catalogue.ts'
import type { McpDeps } from '../deps.ts'
import { pageOf } from '../protocol/cursor.ts'
import { complete, type McpResult } from '../protocol/result.ts'

export async function listPrompts(deps: McpDeps, call: McpRequest): Promise<McpResult> {
  const { actor, caller } = call.access
  const all = [...deps.catalogues.of(actor).prompts.values()]
  const names = all.map(({ name }) => name)
  const usable = await deps.permission.filter(actor.id, caller, { category: 'prompts', right: 'read' }, names)
  const { items, ...page } = pageOf(
    deps.keyRing,
    call,
    all.filter(({ name }) => usable.has(name)),
    ({ name }) => name,
  )
  return complete({ prompts: items.map(view), ...page })
}

function view({ name, declaration, description }: Prompt): object {
  const args = declaration.arguments?.map(({ complete: _completer, ...argument }) => argument) ?? []
  return { name, ...displayMetadata(declaration), description, ...(args.length === 0 ? {} : { arguments: args }) }
}
