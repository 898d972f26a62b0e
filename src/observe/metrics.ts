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

export function createMetrics(version: string): Metrics {
  const registry = new Registry()
  const registers = [registry]
  if (ofProcess.getMetricsAsArray().length === 0) collectDefaultMetrics({ register: ofProcess, prefix: 'troupe_' })
  new Gauge({ name: 'troupe_info', help: 'The running release', labelNames: ['version'], registers }).set(
    { version },
    1,
  )
  const duration = new Histogram({
    name: 'troupe_http_request_duration_seconds',
    help: 'Time to answer, by route of the table',
    labelNames: ['route', 'method', 'status'],
    buckets,
    registers,
  })
  const running = new Gauge({
    name: 'troupe_http_requests_running',
    help: 'Requests that have no answer yet',
    registers,
  })
  const statements = new Counter({
    name: 'troupe_store_statements_total',
    help: 'Statements sent to the store',
    registers,
  })
  const deliveries = new Counter({
    name: 'troupe_delivery_attempts_total',
    help: 'Attempts to tell peers something, by what they led to',
    labelNames: ['outcome'],
    registers,
  })
  const streams = new Gauge({
    name: 'troupe_streams_open',
    help: 'Answers that go on as a stream of events, by route of the table',
    labelNames: ['route'],
    registers,
  })
  const mcpCalls = new Histogram({
    name: 'troupe_mcp_call_duration_seconds',
    help: 'Calls of AI clients, by method, declared tool and what they led to',
    labelNames: ['method', 'tool', 'outcome'],
    buckets,
    registers,
  })
  const mcpSessions = new Counter({
    name: 'troupe_mcp_sessions_begun_total',
    help: 'Sessions of AI clients that began, by revision of the protocol',
    labelNames: ['revision'],
    registers,
  })
  const refusals = new Counter({
    name: 'troupe_rate_limit_refusals_total',
    help: 'Requests that a rate limit refused, by limiter',
    labelNames: ['limit'],
    registers,
  })
  const tokens = new Counter({
    name: 'troupe_tokens_issued_total',
    help: 'Pairs of tokens that were issued, by what they are for and how they were come by',
    labelNames: ['kind', 'grant'],
    registers,
  })
  const peerCalls = new Counter({
    name: 'troupe_peer_calls_total',
    help: 'Requests to other actors, by host and what they led to',
    labelNames: ['host', 'outcome'],
    registers,
  })
  const peerDuration = new Histogram({
    name: 'troupe_peer_call_duration_seconds',
    help: 'Requests to other actors, by what they led to',
    labelNames: ['outcome'],
    buckets,
    registers,
  })
  const hosts = new HostLabels(mostHosts)
  const ledgerDropped = new Counter({
    name: 'troupe_ledger_dropped_total',
    help: 'Entries of the access ledger that were lost under load',
    registers,
  })
  return {
    contentType: registry.contentType,
    render: async () => `${await ofProcess.metrics()}${await registry.metrics()}`,
    requestDone: (route, method, status, seconds) =>
      duration.observe({ route, method, status: String(status) }, seconds),
    requestsRunning: (change) => running.inc(change),
    statementRun: () => statements.inc(),
    streamsOpen: (route, change) => streams.inc({ route }, change),
    mcpCalled: (call, seconds) => mcpCalls.observe({ ...call }, seconds),
    mcpSessionBegun: (revision) => mcpSessions.inc({ revision }),
    limitRefused: (limit) => refusals.inc({ limit }),
    tokensIssued: (kind, grant) => tokens.inc({ kind, grant }),
    peerCalled({ host, isProven, outcome }, seconds) {
      peerCalls.inc({ host: hosts.labelOf(host, isProven), outcome })
      peerDuration.observe({ outcome }, seconds)
    },
    ledgerDropped: (count) => ledgerDropped.inc(count),
    delivered: (outcome) => deliveries.inc({ outcome }),
    backlogFrom(count) {
      const gauge = new Gauge({
        name: 'troupe_delivery_backlog',
        help: 'Subscriptions of peers with something to send, in this store',
        registers,
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
