/** Runs the handler of a call with the client's answers, in a span, with metrics. */
import { readTraceContext } from '../../observe/trace-context.ts'
import type { McpDeps } from '../deps.ts'
import type { CallMethod } from '../method.ts'
import { McpFailure } from '../protocol/failure.ts'
import { metaOf } from '../protocol/meta.ts'
import { complete, type McpResult } from '../protocol/result.ts'
import { modernRevision } from '../protocol/revisions.ts'
import { toMcpServiceError } from '../protocol/service-error.ts'
import type { InFlightCall } from './call.ts'
import { type CallOutcome, describeSpan, labelsOf, outcomeOf } from './call-labels.ts'
import { withInputRequired } from './input-required.ts'

/**
 * Runs a call and never rejects. The error of the outcome is a `McpFailure`, or a `ServiceError` with its own HTTP status
 * (`store_unavailable`, `shutting_down`, `too_many_requests`).
 *
 * @param method Undefined for a method that the revision does not have.
 */
export function runCall(deps: McpDeps, method: CallMethod | undefined, call: InFlightCall): Promise<CallOutcome> {
  const labels = labelsOf(method, call, deps.catalogues.of(call.access.actor))
  // `_meta` names the client's trace, which may differ from the trace of the HTTP request.
  const { traceparent, tracestate } = metaOf(call.params)
  const started = performance.now()
  return deps.tracing.run(
    labels.span,
    { kind: 'server', sender: readTraceContext(traceparent, tracestate) },
    async (span): Promise<CallOutcome> => {
      const done = await resultOf(deps, method, call).then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      )
      const outcome = outcomeOf(done)
      deps.metrics.mcpCalled(
        { method: labels.method, tool: labels.tool, outcome },
        (performance.now() - started) / 1000,
      )
      describeSpan(span, call, labels, outcome)
      return done
    },
  )
}

async function resultOf(deps: McpDeps, method: CallMethod | undefined, call: InFlightCall): Promise<McpResult> {
  if (method === undefined) throw new McpFailure('unknown_method', 'Unknown method')
  const mayAsk = method.mayAskClient === true && call.revision === modernRevision
  try {
    const result = mayAsk
      ? await withInputRequired(deps, call, (asking) => method.handle(deps, asking))
      : await method.handle(deps, call)
    return result.kind === 'complete' && method.ttlMs !== undefined ? complete(result.body, method.ttlMs) : result
  } catch (error) {
    throw error instanceof McpFailure ? error : toMcpServiceError(error)
  }
}
