/** Metrics in the Prometheus text format, with one registry for each service and one for the process. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { type CountedDurations, durationBuckets, Durations, quantileOf } from './durations.ts'
import { HostLabels } from './host-labels.ts'
import { PeerDurations, type SlowHost } from './peer-durations.ts'

export interface Metrics {
  readonly contentType: string
  render(): Promise<string>
  requestDone(route: string, method: string, status: number, seconds: number): void
  requestsRunning(change: 1 | -1): void
  statementRun(): void
  /** Counts an attempt to deliver to a peer, by outcome. */
  delivered(outcome: string): void
  /** Counts a stream of a route that opened or closed. */
  streamsOpen(route: string, change: 1 | -1): void
  /** Records a call of an AI client. `tool` is empty when the call names no declared tool. */
  mcpCalled(call: { readonly method: string; readonly tool: string; readonly outcome: string }, seconds: number): void
  mcpSessionBegun(revision: string): void
  /** @param limit `<limiter>/<per>` */
  limitRefused(limit: string): void
  /** Counts a change for which an actor had no room. */
  quotaRefused(quota: string): void
  /** @param kind Purpose of the tokens: `session` or `client`. @param grant How the tokens were obtained. */
  tokensIssued(kind: string, grant: string): void
  peerCalled(call: PeerCalled, seconds: number): void
  /** Counts audit log entries that were lost. */
  auditLogDropped(count: number): void
  /** Counts a run of background work. @param kind `event`, `alarm`, `import`, `schedule` or that of a feature @param outcome `done`, `retry` or `failed` */
  jobRun(kind: string, outcome: string): void
  /** Records a call of a method or an action. `name` is empty when the call names no declared one. */
  operationCalled(
    call: { readonly kind: string; readonly name: string; readonly outcome: string },
    seconds: number,
  ): void
  /**
   * Adds a gauge. `read` runs each time the metrics are read, and the gauge has no value while it fails or returns null. With a
   * label, it returns a value for each value of the label.
   */
  gauge(gauge: { readonly name: string; readonly help: string; readonly label?: string }, read: GaugeReader): void
  /** Returns what this process did since its start. */
  summary(): Promise<MetricsSummary>
}

/** The work of one process since its start. */
export interface MetricsSummary {
  readonly requests: number
  /** Requests with a status from 500. */
  readonly failures: number
  /** Upper bounds of the durations of half and of 99 % of the requests, in seconds. Null: none, or over 10 seconds. */
  readonly median: number | null
  readonly slowest: number | null
  /** Requests in progress. */
  readonly running: number
  /** Requests that each rate limit refused. Only limits with refusals. */
  readonly refusals: readonly NamedCount[]
  /** Attempts to deliver to peers, by outcome. */
  readonly deliveries: readonly NamedCount[]
  /** Up to ten hosts of peers that take more than a second to answer, the slowest first. */
  readonly slowHosts: readonly SlowHost[]
}

export interface NamedCount {
  readonly name: string
  readonly count: number
}

export type GaugeReader = () => Promise<number | readonly NamedCount[] | null>

export interface PeerCalled {
  readonly host: string
  /** Whether the host answered a request that was authenticated by a relationship. */
  readonly isProven: boolean
  /** `2xx` to `5xx`, `unreached`, `unknown` */
  readonly outcome: string
}

/** Maximum number of hosts with their own label. */
const maxHosts = 100
const maxSlowHosts = 10

/** Heap and event loop belong to the process. Their collectors cannot be removed, so they are installed once. */
const ofProcess = new Registry()

/** Adds the metrics to the registry. Their names and help texts are part of the interface for operators. */
function createInstruments(registry: Registry) {
  const registers = [registry]
  const counter = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Counter({ name, help, labelNames, registers })
  const gauge = <T extends string>(name: string, help: string, labelNames: T[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const histogram = <T extends string>(name: string, help: string, labelNames: T[]) =>
    new Histogram({ name, help, labelNames, buckets: durationBuckets, registers })
  return {
    info: gauge('troupe_info', 'The running release', ['version']),
    running: gauge('troupe_http_requests_running', 'Requests in progress'),
    statements: counter('troupe_store_statements_total', 'Statements sent to the store'),
    jobRuns: counter('troupe_job_runs_total', 'Runs of work in the background, by outcome', ['kind', 'outcome']),
    deliveries: counter('troupe_delivery_attempts_total', 'Attempts to deliver to peers, by outcome', ['outcome']),
    streams: gauge('troupe_streams_open', 'Open event streams, by route', ['route']),
    mcpSessions: counter('troupe_mcp_sessions_begun_total', 'Started sessions of AI clients, by protocol version', [
      'revision',
    ]),
    refusals: counter('troupe_rate_limit_refusals_total', 'Requests rejected by a rate limit, by limiter', ['limit']),
    quotaRefusals: counter('troupe_quota_refusals_total', 'Changes for which an actor had no room, by quota', [
      'quota',
    ]),
    tokens: counter('troupe_tokens_issued_total', 'Issued pairs of tokens, by purpose and grant', ['kind', 'grant']),
    peerCalls: counter('troupe_peer_calls_total', 'Requests to other actors, by host and outcome', ['host', 'outcome']),
    peerDuration: histogram('troupe_peer_call_duration_seconds', 'Duration of requests to other actors, by outcome', [
      'outcome',
    ]),
    auditLogDropped: counter(
      'troupe_audit_log_dropped_total',
      'Lost audit log entries: too many at once, or rejected by the database',
    ),
  }
}

/** The names are those of every Node.js service. The library names three gauges like counters. */
function collectFromProcess(): void {
  collectDefaultMetrics({ register: ofProcess })
  for (const kind of ['resources', 'handles', 'requests']) ofProcess.removeSingleMetric(`nodejs_active_${kind}_total`)
}

/** Each has three labels with values from a bounded set. */
function createDurations() {
  return {
    requests: new Durations('troupe_http_request_duration_seconds', 'Duration of requests, by route', [
      'route',
      'method',
      'status',
    ]),
    mcpCalls: new Durations(
      'troupe_mcp_call_duration_seconds',
      'Duration of calls by AI clients, by method, declared tool and outcome',
      ['method', 'tool', 'outcome'],
    ),
    operations: new Durations(
      'troupe_operation_duration_seconds',
      'Duration of calls of methods and actions, by declared name and outcome',
      ['kind', 'name', 'outcome'],
    ),
  }
}

export function createMetrics(version: string): Metrics {
  const registry = new Registry()
  if (ofProcess.getMetricsAsArray().length === 0) collectFromProcess()
  const hosts = new HostLabels(maxHosts)
  const peerDurations = new PeerDurations()
  const metrics = createInstruments(registry)
  const { requests, mcpCalls, operations } = createDurations()
  metrics.info.set({ version }, 1)
  // Every request changes these several times, and a change of an instrument costs more than an addition.
  let running = 0
  let statements = 0
  return {
    contentType: registry.contentType,
    async render() {
      metrics.running.set(running)
      metrics.statements.inc(statements)
      statements = 0
      const durations = [requests, mcpCalls, operations].map((each) => each.render()).join('\n')
      return `${await ofProcess.metrics()}${await registry.metrics()}\n${durations}`
    },
    requestDone: (route, method, status, seconds) => requests.observe([route, method, String(status)], seconds),
    requestsRunning(change) {
      running += change
    },
    statementRun() {
      statements += 1
    },
    streamsOpen: (route, change) => metrics.streams.inc({ route }, change),
    mcpCalled: ({ method, tool, outcome }, seconds) => mcpCalls.observe([method, tool, outcome], seconds),
    mcpSessionBegun: (revision) => metrics.mcpSessions.inc({ revision }),
    limitRefused: (limit) => metrics.refusals.inc({ limit }),
    quotaRefused: (quota) => metrics.quotaRefusals.inc({ quota }),
    tokensIssued: (kind, grant) => metrics.tokens.inc({ kind, grant }),
    peerCalled({ host, isProven, outcome }, seconds) {
      const label = hosts.labelOf(host, isProven)
      peerDurations.record(label, seconds)
      metrics.peerCalls.inc({ host: label, outcome })
      metrics.peerDuration.observe({ outcome }, seconds)
    },
    auditLogDropped: (count) => metrics.auditLogDropped.inc(count),
    delivered: (outcome) => metrics.deliveries.inc({ outcome }),
    jobRun: (kind, outcome) => metrics.jobRuns.inc({ kind, outcome }),
    operationCalled: ({ kind, name, outcome }, seconds) => operations.observe([kind, name, outcome], seconds),
    gauge: (gauge, read) => addGauge(registry, gauge, read),
    summary: async () => ({
      ...summaryOf(requests.counted()),
      running,
      refusals: await namedCounts(metrics.refusals, 'limit'),
      deliveries: await namedCounts(metrics.deliveries, 'outcome'),
      slowHosts: peerDurations.slowest(maxSlowHosts),
    }),
  }
}

function summaryOf(
  all: readonly CountedDurations[],
): Pick<MetricsSummary, 'requests' | 'failures' | 'median' | 'slowest'> {
  const countOf = (some: readonly CountedDurations[]): number =>
    some.reduce((sum, { counts }) => sum + counts.reduce((a, b) => a + b, 0), 0)
  return {
    requests: countOf(all),
    failures: countOf(all.filter(({ values: [, , status] }) => status >= '500')),
    median: quantileOf(all, 0.5),
    slowest: quantileOf(all, 0.99),
  }
}

/** The values of a counter by its only label, the largest first. */
async function namedCounts<Label extends string>(
  counter: Counter<Label>,
  label: Label,
): Promise<readonly NamedCount[]> {
  const { values } = await counter.get()
  return values
    .map(({ labels, value }) => ({ name: String(labels[label] ?? ''), count: value }))
    .toSorted((a, b) => b.count - a.count)
}

function addGauge(registry: Registry, { name, help, label }: Parameters<Metrics['gauge']>[0], read: GaugeReader): void {
  const gauge = new Gauge({
    name,
    help,
    labelNames: label === undefined ? [] : [label],
    registers: [registry],
    collect: async () => {
      // The metrics stay available when the store is not.
      const found = await read().catch(() => null)
      gauge.reset()
      if (found === null) gauge.remove()
      else if (typeof found === 'number') gauge.set(found)
      else for (const each of found) gauge.set({ [label ?? '']: each.name }, each.count)
    },
  })
}
