/** The metrics that docs/operations.md lists. */
import { readFileSync } from 'node:fs'

export interface DocumentedMetric {
  readonly name: string
  readonly type: string
  readonly labels: readonly string[]
}

export function documentedMetrics(): readonly DocumentedMetric[] {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const section = page.split('## Metrics')[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| `(troupe_\w+)` \|([^|]*)\|([^|]*)\|/gm)].map(
    ([, name = '', type = '', labels = '']) => ({
      name,
      type: type.trim(),
      labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label),
    }),
  )
}
