/** Calls as the operator sees them: a span and a duration for each, by names that are declared, so that there are few. */
import { failed, type Span } from '../observe/tracing.ts'
import { readTraceContext } from '../observe/trace-context.ts'
import type { InFlightCall } from './call/call.ts'
import { metaOf } from './protocol/protocol-version.ts'
import { McpFailure } from './protocol/failure.ts'
import type { McpDeps } from './deps.ts'
import type { Result } from './protocol/result.ts'
import { isKnown } from './server.ts'

type Done = { readonly result: Result } | { readonly error: unknown }

/** A client that is in a trace says so in `_meta`; the request that carries the call need not be in the same. */
export async function observed(
  { tracing, metrics, catalogue }: Pick<McpDeps, 'tracing' | 'metrics' | 'catalogue'>,
  call: InFlightCall,
  work: () => Promise<Result>,
): Promise<Result> {
  const method = isKnown(call) ? call.method : 'other'
  const tool = method === 'tools/call' ? declared(catalogue.tools, call) : ''
  const target = method === 'prompts/get' ? declared(catalogue.prompts, call) : tool
  const { traceparent, tracestate } = metaOf(call.params)
  const started = performance.now()
  const done = await tracing.run(
    target === '' ? method : `${method} ${target}`,
    { kind: 'server', sender: readTraceContext(traceparent, tracestate) },
    async (span): Promise<Done> => {
      const ended = await work().then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      )
      const outcome = outcomeOf(ended)
      metrics.mcpCalled({ method, tool, outcome }, (performance.now() - started) / 1000)
      describe(span, call, { method, tool, outcome })
      return ended
    },
  )
  if ('error' in done) throw done.error
  return done.result
}

function declared(all: ReadonlyMap<string, unknown>, { params: { name } }: InFlightCall): string {
  return typeof name === 'string' && all.has(name) ? name : ''
}

/** `ok`, `tool_error`, what the client has to do first, or what went wrong. */
function outcomeOf(done: Done): string {
  if ('error' in done) return done.error instanceof McpFailure ? done.error.kind : 'unavailable'
  const { result } = done
  if (result.kind !== 'complete') return result.kind
  return result.body['isError'] === true ? 'tool_error' : 'ok'
}

const goingOn: ReadonlySet<string> = new Set(['ok', 'input_required', 'task', 'url_elicitation'])

function describe(
  span: Span,
  { access, revision }: InFlightCall,
  { method, tool, outcome }: { readonly method: string; readonly tool: string; readonly outcome: string },
): void {
  if (!span.isRecording()) return
  span.setAttributes({
    'mcp.method.name': method,
    'mcp.protocol.version': revision,
    'troupe.actor': access.actor.id,
    ...(tool === '' ? {} : { 'gen_ai.tool.name': tool }),
  })
  if (!goingOn.has(outcome)) failed(span, outcome)
}
