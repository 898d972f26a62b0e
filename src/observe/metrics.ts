/** What the service counts, in the Prometheus text format; one registry for each service, and one for the process. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

export interface Metrics {
  readonly contentType: string
  render(): Promise<string>
  requestDone(route: string, method: string, status: number, seconds: number): void
  requestsRunning(change: 1 | -1): void
  statementRun(): void
  /** An attempt to tell a peer something, by what it led to. */
  delivered(outcome: string): void
  /** Entries of the access ledger that were lost, because too many came at once. */
  ledgerDropped(count: number): void
  /** Asked when the metrics are. */
  backlogFrom(count: () => Promise<number>): void
}

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
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
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
    ledgerDropped: (count) => ledgerDropped.inc(count),
    delivered: (outcome) => deliveries.inc({ outcome }),
    backlogFrom(count) {
      const gauge = new Gauge({
        name: 'troupe_delivery_backlog',
        help: 'Subscriptions of peers with something to send, in this store',
        registers,
        collect: async () => {
          // Metrics answer when the store does not.
          const lanes = await count().catch(() => null)
          if (lanes === null) gauge.reset()
          else gauge.set(lanes)
        },
      })
    },
  }
}
