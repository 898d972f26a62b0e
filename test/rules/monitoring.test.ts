/** The alert rules and the dashboard ask only for metrics and labels that exist, in valid PromQL. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parser } from '@prometheus-io/lezer-promql'
import { parse } from 'yaml'
import { documentedMetrics } from '../support/documented-metrics.ts'
import { sqliteService } from '../support/service.ts'

const start = sqliteService()
const deploy = new URL('../../examples/deploy/', import.meta.url)
const read = (file: string): string => readFileSync(new URL(file, deploy), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}
const rules = (parse(read('prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)

interface Panel {
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}
const { panels } = JSON.parse(read('grafana/dashboard.json')) as { panels: readonly Panel[] }
const drawn = panels.filter(({ type }) => type === 'timeseries')

/** Metrics by name, each with its labels. Those of the runtime and `up` have the labels of the scrape alone. */
async function knownMetrics(): Promise<ReadonlyMap<string, readonly string[]>> {
  const service = await start()
  const text = await (await service.request('/metrics')).text()
  const labels = new Map(documentedMetrics().map((metric) => [metric.name, metric.labels]))
  const known = new Map<string, readonly string[]>([['up', []]])
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    const own = labels.get(name) ?? []
    if (type !== 'histogram') known.set(name, own)
    else
      for (const part of ['_count', '_sum', '_bucket'])
        known.set(`${name}${part}`, part === '_bucket' ? [...own, 'le'] : own)
  }
  return known
}

/** The reasons why Prometheus rejects the expression or finds nothing. */
function problemsOf(expression: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const text = expression.replaceAll('$__rate_interval', '5m')
  const problems: string[] = []
  const metrics = new Set<string>()
  const labels = new Set<string>()
  parser.parse(text).iterate({
    enter({ type, from, to }) {
      const part = text.slice(from, to)
      if (type.isError) problems.push(`syntax at ${from}`)
      if (type.name === 'Identifier') metrics.add(part)
      if (type.name === 'LabelName') labels.add(part)
    },
  })
  for (const metric of metrics) if (!known.has(metric)) problems.push(`no metric ${metric}`)
  const usable = new Set(['job', 'instance', ...[...metrics].flatMap((metric) => known.get(metric) ?? [])])
  for (const label of labels) if (!usable.has(label)) problems.push(`no label ${label}`)
  return problems
}

describe('an expression', () => {
  const refused: readonly (readonly [expression: string, problem: string])[] = [
    ['sum(rate(troupe_store_statements_total[5m])', 'syntax at 43'],
    ['troupe_delivery_backlogs > 1', 'no metric troupe_delivery_backlogs'],
    ['rate(troupe_http_request_duration_seconds[5m])', 'no metric troupe_http_request_duration_seconds'],
    ['sum by (rout) (troupe_streams_open)', 'no label rout'],
    ['sum by (le) (rate(troupe_operation_duration_seconds_count[5m]))', 'no label le'],
  ]
  for (const [expression, problem] of refused)
    it(`is reported for ${problem}`, async () => {
      assert.deepEqual(problemsOf(expression, await knownMetrics()), [problem])
    })
})

describe('the alert rules', () => {
  it('ask only for metrics and labels of the service', async () => {
    const known = await knownMetrics()
    assert.deepEqual(
      rules.flatMap(({ alert, expr }) => problemsOf(expr, known).map((problem) => `${alert}: ${problem}`)),
      [],
    )
  })

  it('have each a name, a severity, a summary and a first thing to do', () => {
    assert.ok(rules.length >= 10)
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
    for (const { alert, labels, annotations } of rules) {
      assert.match(alert, /^Troupe[A-Z]/)
      assert.match(labels.severity, /^(page|ticket)$/)
      assert.ok(annotations.summary !== '' && annotations.description !== '', alert)
    }
  })
})

describe('the dashboard', () => {
  it('asks only for metrics and labels of the service', async () => {
    const known = await knownMetrics()
    const found = drawn.flatMap(({ title, targets = [] }) =>
      targets.flatMap(({ expr }) => problemsOf(expr, known).map((problem) => `${title}: ${problem}`)),
    )
    assert.deepEqual(found, [])
    assert.ok(drawn.length >= 15)
  })

  it('names only labels in a legend that its expression returns', () => {
    for (const { title, targets = [] } of drawn)
      for (const { expr, legendFormat } of targets)
        for (const [, label = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
          assert.ok(label === 'instance' || new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr), `${title}: ${label}`)
  })

  it('has no panel that covers another one', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    )
    assert.equal(new Set(cells).size, cells.length)
  })

  it('shows every metric of the service that changes', async () => {
    const asked = [
      ...drawn.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...rules.map(({ expr }) => expr),
    ]
    const missing = documentedMetrics()
      .map(({ name }) => name)
      .filter((name) => !asked.some((expression) => expression.includes(name)))
    // The release does not change while a process runs.
    assert.deepEqual(missing, ['troupe_info'])
  })
})
