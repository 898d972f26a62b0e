/** The tools and prompts that the application offers to AI clients, for pages that describe them. */
import type { Actor } from '../actor/actor.ts'
import { type CallText, publishedSchema } from '../app/registry.ts'
import type { McpAccess } from './call/call.ts'
import type { McpDeps } from './deps.ts'
import { type ToolView, toolsFor } from './methods/list-tools.ts'

export class McpOffers {
  readonly #deps: McpDeps

  constructor(deps: McpDeps) {
    this.#deps = deps
  }

  /** The tools that a client with this relationship can use now. */
  tools(access: Pick<McpAccess, 'actor' | 'caller' | 'remembered'>): Promise<readonly ToolView[]> {
    return toolsFor(this.#deps, access, access.remembered)
  }

  /** Null when no tool has this name. */
  tool(actor: Pick<Actor, 'kind'>, name: string): CallText | null {
    const tool = this.#deps.catalogues.of(actor).tools.get(name)
    if (tool === undefined) return null
    const annotations = tool.declaration.annotations ?? tool.operation.metadata?.annotations
    return {
      title: tool.declaration.title ?? tool.operation.name,
      description: tool.description,
      isDestructive: annotations?.destructiveHint === true,
      inputSchema: tool.inputSchema,
      runs: { kind: 'actions', name: tool.operation.name, input: tool.check },
    }
  }

  /** Null when no prompt has this name. */
  prompt(actor: Pick<Actor, 'kind'>, name: string): CallText | null {
    const prompt = this.#deps.catalogues.of(actor).prompts.get(name)
    if (prompt === undefined) return null
    return {
      title: prompt.declaration.title ?? prompt.name,
      description: prompt.description,
      isDestructive: false,
      inputSchema: publishedSchema(prompt.operation),
      runs: { kind: 'methods', name: prompt.operation.name, input: prompt.operation.input },
    }
  }
}
