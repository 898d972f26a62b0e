/**
 * The alert rules for Prometheus and the dashboard for Grafana in `examples/deploy`. A test compares their expressions with the
 * metrics of the service.
 */

interface Alert {
  readonly name: string
  readonly expression: string
  /** How long the expression must hold, such as `5m`. */
  readonly for: string
  /** `page`: people notice it now. `ticket`: an operator looks at it during the day. */
  readonly severity: 'page' | 'ticket'
  readonly summary: string
  /** The first thing to do. */
  readonly action: string
}

const alerts: readonly Alert[] = [
  {
    name: 'TroupeDown',
    expression: 'up{job="troupe"} == 0',
    for: '2m',
    severity: 'page',
    summary: 'A process does not answer',
    action: 'Read the end of its log. troupe doctor says what is wrong with the settings.',
  },
  {
    name: 'TroupeRequestsFail',
    expression:
      'sum(rate(troupe_http_request_duration_seconds_count{status=~"5.."}[5m])) / sum(rate(troupe_http_request_duration_seconds_count[5m])) > 0.02',
    for: '5m',
    severity: 'page',
    summary: 'More than 2 % of the requests fail',
    action: 'Search the log for the level error. The dashboard shows which routes fail.',
  },
  {
    name: 'TroupeSlow',
    expression:
      'histogram_quantile(0.99, sum by (le) (rate(troupe_http_request_duration_seconds_bucket{route!~".*(events|live|mcp).*"}[5m]))) > 1',
    for: '10m',
    severity: 'ticket',
    summary: '1 % of the requests take longer than a second',
    action: 'Compare the event loop, the waiting changes and the slowest routes in the dashboard.',
  },
  {
    name: 'TroupeEventLoopBlocked',
    expression: 'nodejs_eventloop_lag_p99_seconds{job="troupe"} > 0.25',
    for: '5m',
    severity: 'ticket',
    summary: 'The process reacts late',
    action: 'Look for a handler of the application that computes for long, and for a full processor.',
  },
  {
    name: 'TroupeDatabaseWaits',
    expression: 'troupe_database_waiting > 20',
    for: '5m',
    severity: 'ticket',
    summary: 'Changes wait for a connection to the database',
    action: 'Look for slow statements and locks. TROUPE_WORKERS sets the number of connections.',
  },
  {
    name: 'TroupeDiskNearlyFull',
    expression: 'troupe_database_free_bytes < 1e9 or troupe_database_free_bytes < troupe_database_bytes * 0.2',
    for: '10m',
    severity: 'page',
    summary: 'The disk of the database is nearly full',
    action: 'Enlarge the disk. troupe compact returns the space of deleted data.',
  },
  {
    name: 'TroupeMailWaits',
    expression: 'max(troupe_mail_oldest_seconds) > 900',
    for: '5m',
    severity: 'ticket',
    summary: 'A message to a person waits for longer than 15 minutes',
    action: 'troupe doctor tries the mail server. The log says why it did not accept the message.',
  },
  {
    name: 'TroupeBackupOld',
    expression: 'time() - troupe_backup_timestamp_seconds > 36 * 3600',
    // The gauge of a new service is 0 until its first backup is complete.
    for: '1h',
    severity: 'page',
    summary: 'No backup of the last 36 hours is complete',
    action: 'Search the log for the word backup. The folder of backups may be full or read-only.',
  },
  {
    name: 'TroupeDeliveriesWait',
    expression: 'min_over_time(troupe_delivery_backlog[30m]) > 100',
    for: '10m',
    severity: 'ticket',
    summary: 'Changes for peers have waited for half an hour',
    action: 'The page of operators lists the peers that fail, with the reasons.',
  },
  {
    name: 'TroupeWorkFailed',
    expression: 'max by (kind) (troupe_job_failed) > 0',
    for: '10m',
    severity: 'ticket',
    summary: 'Background work has failed for good',
    action: 'Repair the cause in its log line, then run troupe redrive.',
  },
  {
    name: 'TroupeAuditLogLost',
    expression: 'increase(troupe_audit_log_dropped_total[15m]) > 0',
    for: '0m',
    severity: 'ticket',
    summary: 'Entries of the audit log were lost',
    action: 'Compare the time with failures of the database in the log.',
  },
  {
    name: 'TroupeQuotasReached',
    expression: 'sum by (quota) (increase(troupe_quota_refusals_total[1h])) > 0',
    for: '0m',
    severity: 'ticket',
    summary: 'Accounts have reached a quota',
    action: 'The page of operators shows the largest accounts. Raise the quota, or ask their owners to delete.',
  },
  {
    name: 'TroupeManyRefusals',
    expression: 'sum by (limit) (rate(troupe_rate_limit_refusals_total[5m])) > 1',
    for: '15m',
    severity: 'ticket',
    summary: 'A rate limit refuses more than one request each second',
    action: 'An attack, a broken client, or a proxy that the service does not trust (TROUPE_TRUSTED_PROXIES).',
  },
]

export function alertRules(note: string): string {
  const rules = alerts.map(
    ({ name, expression, for: duration, severity, summary, action }) => `      - alert: ${name}
        expr: '${expression}'
        for: ${duration}
        labels:
          severity: ${severity}
        annotations:
          summary: '${summary}'
          description: '${action}'
`,
  )
  return `${note}
groups:
  - name: troupe
    rules:
${rules.join('')}`
}

interface Panel {
  readonly title: string
  readonly description?: string
  readonly unit: 's' | 'bytes' | 'reqps' | 'ops' | 'short' | 'percentunit'
  readonly series: readonly (readonly [legend: string, expression: string])[]
}

const row = (name: string, panels: readonly Panel[]): { readonly name: string; readonly panels: readonly Panel[] } => ({
  name,
  panels,
})
const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[$__rate_interval]))`
const quantile = (part: number, metric: string, by = ''): string =>
  `histogram_quantile(${part}, sum by (le${by === '' ? '' : `, ${by}`}) (rate(${metric}_bucket[$__rate_interval])))`

const rows = [
  row('People and clients', [
    {
      title: 'Requests',
      unit: 'reqps',
      series: [['{{status}}', rate('troupe_http_request_duration_seconds_count', 'status')]],
    },
    {
      title: 'Duration of requests',
      unit: 's',
      series: [
        ['half', quantile(0.5, 'troupe_http_request_duration_seconds')],
        ['99 %', quantile(0.99, 'troupe_http_request_duration_seconds')],
      ],
    },
    {
      title: 'Slowest routes',
      description: '99 % of the requests to the route are faster.',
      unit: 's',
      series: [['{{route}}', `topk(8, ${quantile(0.99, 'troupe_http_request_duration_seconds', 'route')})`]],
    },
    {
      title: 'Failed requests',
      unit: 'reqps',
      series: [
        [
          '{{route}} {{status}}',
          'sum by (route, status) (rate(troupe_http_request_duration_seconds_count{status=~"5.."}[$__rate_interval]))',
        ],
      ],
    },
    {
      title: 'Running requests and open streams',
      unit: 'short',
      series: [
        ['requests', 'sum(troupe_http_requests_running)'],
        ['{{route}}', 'sum by (route) (troupe_streams_open)'],
      ],
    },
    {
      title: 'Sign-ins and renewals',
      unit: 'ops',
      series: [
        ['{{kind}} {{grant}}', rate('troupe_tokens_issued_total', 'kind, grant')],
        ['MCP session {{revision}}', rate('troupe_mcp_sessions_begun_total', 'revision')],
      ],
    },
    {
      title: 'Refusals of limits and quotas',
      unit: 'ops',
      series: [
        ['{{limit}}', rate('troupe_rate_limit_refusals_total', 'limit')],
        ['quota {{quota}}', rate('troupe_quota_refusals_total', 'quota')],
      ],
    },
  ]),
  row('The application', [
    {
      title: 'Calls of methods and actions',
      unit: 'ops',
      series: [['{{name}} {{outcome}}', rate('troupe_operation_duration_seconds_count', 'name, outcome')]],
    },
    {
      title: 'Duration of methods and actions',
      description: '99 % of the calls are faster.',
      unit: 's',
      series: [['{{name}}', quantile(0.99, 'troupe_operation_duration_seconds', 'name')]],
    },
    {
      title: 'Calls of AI clients',
      unit: 'ops',
      series: [
        ['{{method}} {{tool}} {{outcome}}', rate('troupe_mcp_call_duration_seconds_count', 'method, tool, outcome')],
      ],
    },
    {
      title: 'Background work',
      unit: 'ops',
      series: [['{{kind}} {{outcome}}', rate('troupe_job_runs_total', 'kind, outcome')]],
    },
    {
      title: 'Waiting and failed work',
      unit: 'short',
      series: [
        ['{{kind}} waits', 'max by (kind) (troupe_job_backlog)'],
        ['{{kind}} failed', 'max by (kind) (troupe_job_failed)'],
      ],
    },
    {
      title: 'Oldest waiting mail',
      unit: 's',
      series: [['age', 'max(troupe_mail_oldest_seconds)']],
    },
  ]),
  row('Peers', [
    {
      title: 'Deliveries',
      unit: 'ops',
      series: [['{{outcome}}', rate('troupe_delivery_attempts_total', 'outcome')]],
    },
    { title: 'Waiting deliveries', unit: 'short', series: [['subscriptions', 'max(troupe_delivery_backlog)']] },
    {
      title: 'Requests to peers',
      unit: 'reqps',
      series: [['{{host}} {{outcome}}', rate('troupe_peer_calls_total', 'host, outcome')]],
    },
    {
      title: 'Duration of requests to peers',
      description: '99 % of the requests are faster.',
      unit: 's',
      series: [['{{outcome}}', quantile(0.99, 'troupe_peer_call_duration_seconds', 'outcome')]],
    },
  ]),
  row('The machine', [
    {
      title: 'Database',
      unit: 'bytes',
      series: [
        ['size', 'max(troupe_database_bytes)'],
        ['free on its disk', 'min(troupe_database_free_bytes)'],
      ],
    },
    {
      title: 'Statements and waiting changes',
      unit: 'short',
      series: [
        ['statements per second', 'sum(rate(troupe_store_statements_total[$__rate_interval]))'],
        ['waiting {{instance}}', 'sum by (instance) (troupe_database_waiting)'],
      ],
    },
    {
      title: 'Age of the newest backup',
      unit: 's',
      series: [['age', 'time() - max(troupe_backup_timestamp_seconds)']],
    },
    {
      title: 'Memory',
      unit: 'bytes',
      series: [['{{instance}}', 'process_resident_memory_bytes{job="troupe"}']],
    },
    {
      title: 'Processor',
      unit: 'percentunit',
      series: [['{{instance}}', 'rate(process_cpu_seconds_total{job="troupe"}[$__rate_interval])']],
    },
    {
      title: 'Delay of the event loop',
      description: '99 % of the turns are faster.',
      unit: 's',
      series: [['{{instance}}', 'nodejs_eventloop_lag_p99_seconds{job="troupe"}']],
    },
  ]),
]

const panelsPerLine = 3
const [lineWidth, panelHeight] = [24, 8]

/** A dashboard that Grafana imports. Its variable `datasource` is the Prometheus server. */
export function dashboard(): string {
  const datasource = { type: 'prometheus', uid: '${datasource}' }
  let y = 0
  const panels = rows.flatMap((group) => {
    const heading = { type: 'row', title: group.name, collapsed: false, gridPos: { x: 0, y, w: lineWidth, h: 1 } }
    y += 1
    const width = lineWidth / panelsPerLine
    const drawn = group.panels.map(({ title, description, unit, series }, index) => ({
      type: 'timeseries',
      title,
      ...(description === undefined ? {} : { description }),
      datasource,
      gridPos: {
        x: (index % panelsPerLine) * width,
        y: y + Math.floor(index / panelsPerLine) * panelHeight,
        w: width,
        h: panelHeight,
      },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
      targets: series.map(([legend, expression], place) => ({
        refId: String.fromCodePoint(65 + place),
        expr: expression,
        legendFormat: legend,
        datasource,
      })),
    }))
    y += Math.ceil(group.panels.length / panelsPerLine) * panelHeight
    return [heading, ...drawn]
  })
  const variable = { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' }
  return `${JSON.stringify(
    {
      uid: 'troupe',
      title: 'Troupe',
      schemaVersion: 39,
      timezone: 'browser',
      refresh: '30s',
      time: { from: 'now-6h', to: 'now' },
      templating: { list: [variable] },
      panels: panels.map((panel, index) => ({ id: index + 1, ...panel })),
    },
    null,
    2,
  )}\n`
}
