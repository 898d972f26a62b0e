/**
 * Adds tracing and metrics to calls to other actors: a span and a count for each call, and the trace context in the
 * request.
 */
import { isAccepted } from './ingress.ts'
import type { Metrics } from '../observe/metrics.ts'
import { failed, type Span, type Tracing } from '../observe/tracing.ts'
import type { PeerClient, PeerOutcome, PeerRequest } from './peer-client.ts'
import { hostOf } from './url-rules.ts'

export class ObservedClient implements PeerClient {
  readonly #client: PeerClient
  readonly #tracing: Tracing
  readonly #metrics: Pick<Metrics, 'peerCalled'>

  constructor(client: PeerClient, tracing: Tracing, metrics: Pick<Metrics, 'peerCalled'>) {
    this.#client = client
    this.#tracing = tracing
    this.#metrics = metrics
  }

  call(request: PeerRequest): Promise<PeerOutcome> {
    const { method, url } = request
    const host = hostOf(url)
    // Only the host is recorded. The path may contain names of people or secrets.
    const attributes = { 'http.request.method': method, 'server.address': host }
    return this.#tracing.run(`peer ${method}`, { kind: 'client', attributes }, async (span) => {
      const started = performance.now()
      const fields = this.#tracing.fields()
      const outcome = await this.#client.call(
        fields === null ? request : { ...request, headers: { ...request.headers, ...fields } },
      )
      describe(span, outcome)
      const seconds = (performance.now() - started) / 1000
      this.#metrics.peerCalled({ host, isProven: isProven(request, outcome), outcome: labelOf(outcome) }, seconds)
      return outcome
    })
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

function labelOf(outcome: PeerOutcome): string {
  return outcome.kind === 'answered' ? `${Math.floor(outcome.status / 100)}xx` : outcome.kind
}

/** Whether the peer accepted the secret of a relationship. */
function isProven({ bearer }: PeerRequest, outcome: PeerOutcome): boolean {
  return bearer !== undefined && isAccepted(outcome)
}

function describe(span: Span, outcome: PeerOutcome): void {
  if (!span.isRecording()) return
  if (outcome.kind === 'answered') span.setAttribute('http.response.status_code', outcome.status)
  if (outcome.kind !== 'answered') failed(span, outcome.kind)
  else if (outcome.status >= 400) failed(span, String(outcome.status))
}
