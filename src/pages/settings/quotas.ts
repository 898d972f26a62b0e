/** The quotas of an actor on a page: how much is used, and the limit. */
import { html } from 'hono/html'
import type { QuotaUse } from '../../quota/quota.ts'
import type { Messages } from '../languages/language.ts'
import type { Html } from '../shared/values.ts'

export interface QuotaRow {
  /** The name of the quota, such as `bytes`. */
  readonly name: string
  readonly used: number
  readonly limit: number
  /** Whether the numbers are bytes. */
  readonly is_size: boolean
}

export function quotaRows(uses: readonly QuotaUse[]): QuotaRow[] {
  return uses.map(({ quota, used, limit }) => ({
    name: quota.name,
    used,
    limit,
    is_size: quota.unit.startsWith('bytes'),
  }))
}

export function quotaCard(rows: readonly QuotaRow[], { quotas: words }: Messages): Html {
  const names: Readonly<Record<string, string>> = words.names
  const amount = ({ is_size: isSize }: QuotaRow, value: number): string =>
    isSize ? words.size(value) : words.amount(value)
  return html`<section class="card" aria-labelledby="quotas"><h2 id="quotas">${words.title}</h2>
<p class="fine">${words.text}</p>
<dl class="facts">${rows.map(
    (row) =>
      html`<dt>${names[row.name] ?? row.name}</dt><dd>${words.used(amount(row, row.used), amount(row, row.limit))}</dd>`,
  )}</dl></section>`
}
