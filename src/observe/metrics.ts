/** What the service counts, in the Prometheus text format; one registry for each service, and one for the process. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { HostLabels } from './host-labels.ts'

export interface Metrics {
  readonly contentType: string
  render(): Promise<string>
  requestDone(route: string, method: string, status: number, seconds: number): void
  requestsRunning(change: 1 | -1): void
  statementRun(): void
  /** An attempt to tell a peer something, by what it led to. */
  delivered(outcome: string): void
  /** A stream of a route that began, or ended. */
  streamsOpen(route: string, change: 1 | -1): void
  /** A call of an AI client. `tool` is empty where none of ours was called. */
  mcpCalled(call: { readonly method: string; readonly tool: string; readonly outcome: string }, seconds: number): void
  mcpSessionBegun(revision: string): void
  /** @param limit `<limiter>/<per>` */
  limitRefused(limit: string): void
  /** @param kind of what the tokens are for. @param grant how they were come by. */
  tokensIssued(kind: string, grant: string): void
  peerCalled(call: PeerCalled, seconds: number): void
  /** Entries of the access ledger that were lost, because too many came at once. */
  ledgerDropped(count: number): void
  /** Asked when the metrics are. */
  backlogFrom(count: () => Promise<number>): void
}

export interface PeerCalled {
  readonly host: string
  /** Whether it answered what a relationship with it asked. */
  readonly isProven: boolean
  /** `2xx` to `5xx`, `unreached`, `unknown` */
  readonly outcome: string
}

/** Of peers that are told apart. */
const mostHosts = 100

/** In seconds. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Heap and event loop are the process's, and what watches them cannot be taken away again: they are watched once. */
const ofProcess = new Registry()

/** Adds the metrics to the registry. The names and texts are part of the interface for operators. */
function createInstruments(registry: Registry) {
  const registers = [registry]
  const counter = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Counter({ name, help, labelNames, registers })
  const gauge = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const histogram = <T extends string>(name: string, help: string, labelNames: T[]) =>
    new Histogram({ name, help, labelNames, buckets, registers })
  return {
    info: gauge('troupe_info', 'The running release', ['version']),
    duration: histogram('troupe_http_request_duration_seconds', 'Time to answer, by route of the table', [
      'route',
      'method',
      'status',
    ]),
    running: gauge('troupe_http_requests_running', 'Requests that have no answer yet'),
    statements: counter('troupe_store_statements_total', 'Statements sent to the store'),
    deliveries: counter('troupe_delivery_attempts_total', 'Attempts to tell peers something, by what they led to', [
      'outcome',
    ]),
    streams: gauge('troupe_streams_open', 'Answers that go on as a stream of events, by route of the table', ['route']),
    mcpCalls: histogram(
      'troupe_mcp_call_duration_seconds',
      'Calls of AI clients, by method, declared tool and what they led to',
      ['method', 'tool', 'outcome'],
    ),
    mcpSessions: counter(
      'troupe_mcp_sessions_begun_total',
      'Sessions of AI clients that began, by revision of the protocol',
      ['revision'],
    ),
    refusals: counter('troupe_rate_limit_refusals_total', 'Requests that a rate limit refused, by limiter', ['limit']),
    tokens: counter(
      'troupe_tokens_issued_total',
      'Pairs of tokens that were issued, by what they are for and how they were come by',
      ['kind', 'grant'],
    ),
    peerCalls: counter('troupe_peer_calls_total', 'Requests to other actors, by host and what they led to', [
      'host',
      'outcome',
    ]),
    peerDuration: histogram('troupe_peer_call_duration_seconds', 'Requests to other actors, by what they led to', [
      'outcome',
    ]),
    ledgerDropped: counter('troupe_ledger_dropped_total', 'Entries of the access ledger that were lost under load'),
  }
}

export function createMetrics(version: string): Metrics {
  const registry = new Registry()
  if (ofProcess.getMetricsAsArray().length === 0) collectDefaultMetrics({ register: ofProcess, prefix: 'troupe_' })
  const hosts = new HostLabels(mostHosts)
  const metrics = createInstruments(registry)
  metrics.info.set({ version }, 1)
  return {
    contentType: registry.contentType,
    render: async () => `${await ofProcess.metrics()}${await registry.metrics()}`,
    requestDone: (route, method, status, seconds) =>
      metrics.duration.observe({ route, method, status: String(status) }, seconds),
    requestsRunning: (change) => metrics.running.inc(change),
    statementRun: () => metrics.statements.inc(),
    streamsOpen: (route, change) => metrics.streams.inc({ route }, change),
    mcpCalled: (call, seconds) => metrics.mcpCalls.observe({ ...call }, seconds),
    mcpSessionBegun: (revision) => metrics.mcpSessions.inc({ revision }),
    limitRefused: (limit) => metrics.refusals.inc({ limit }),
    tokensIssued: (kind, grant) => metrics.tokens.inc({ kind, grant }),
    peerCalled({ host, isProven, outcome }, seconds) {
      metrics.peerCalls.inc({ host: hosts.labelOf(host, isProven), outcome })
      metrics.peerDuration.observe({ outcome }, seconds)
    },
    ledgerDropped: (count) => metrics.ledgerDropped.inc(count),
    delivered: (outcome) => metrics.deliveries.inc({ outcome }),
    backlogFrom(count) {
      const gauge = new Gauge({
        name: 'troupe_delivery_backlog',
        help: 'Subscriptions of peers with something to send, in this store',
        registers: [registry],
        collect: async () => {
          // Metrics answer when the store does not.
          const queues = await count().catch(() => null)
          if (queues === null) gauge.reset()
          else gauge.set(queues)
        },
      })
    },
  }
}
