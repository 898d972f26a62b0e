/** The methods of the protocol, each one function from a call to a result; framing and eras lie outside. */
import { McpFailure } from './failure.ts'
import type { McpCallIn } from './call.ts'
import { complete, type Result } from './result.ts'
import { RoundTrip, Unanswered } from './round-trip.ts'
import { completion } from './completion.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { listResources, listTemplates, readResource } from './resources.ts'
import type { McpParts } from './mcp-parts.ts'
import { callTool, listTools } from './tools.ts'
import { modernRevision, supportedRevisions } from './revisions.ts'
import { toServiceError } from './service-error.ts'

type Method = (parts: McpParts, call: McpCallIn) => Promise<Result> | Result

/** Lists may change with the application's rules at any moment, so they are kept briefly and for one caller. */
const discoverTtlMs = 60_000

/** Those that every revision has, but for `server/discover`. */
const methods: Readonly<Record<string, Method>> = {
  'server/discover': (parts) =>
    complete(
      {
        supportedVersions: supportedRevisions,
        capabilities: capabilities(parts),
        ...(parts.instructions === '' ? {} : { instructions: parts.instructions }),
      },
      discoverTtlMs,
    ),
  'tools/list': listTools,
  'tools/call': callTool,
  'prompts/list': listPrompts,
  'prompts/get': getPrompt,
  'resources/list': listResources,
  'resources/templates/list': listTemplates,
  'resources/read': readResource,
  'completion/complete': completion,
}

/** Those whose answer may be a question. */
const mayAsk: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

export function capabilities({ catalogue }: McpParts): Record<string, object> {
  return {
    ...(catalogue.tools.size === 0 ? {} : { tools: { listChanged: true } }),
    ...(catalogue.prompts.size === 0 ? {} : { prompts: { listChanged: true } }),
    // The actor's own properties are resources of every application.
    resources: { subscribe: true, listChanged: true },
    completions: {},
    logging: {},
  }
}

/**
 * @throws McpFailure; ServiceError `store_unavailable`, `shutting_down`, `too_many_requests`, which are answered by status.
 */
export async function answer(parts: McpParts, call: McpCallIn): Promise<Result> {
  const method = Object.hasOwn(methods, call.method) ? methods[call.method] : undefined
  if (method === undefined) throw new McpFailure('unknown_method', 'The method is not known')
  const asks = call.revision === modernRevision && mayAsk.has(call.method)
  try {
    return asks ? await inRounds(parts, call, method) : await method(parts, call)
  } catch (error) {
    throw error instanceof McpFailure ? error : toServiceError(error)
  }
}

async function inRounds(parts: McpParts, call: McpCallIn, method: Method): Promise<Result> {
  const trip = new RoundTrip(parts.keyRing, call, parts.now())
  const channel = { ...call.channel, ask: async (questions: Parameters<RoundTrip['ask']>[0]) => trip.ask(questions) }
  try {
    return await method(parts, { ...call, channel })
  } catch (error) {
    if (error instanceof Unanswered) return trip.toResult(error)
    throw error
  }
}
