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

/** The use of a quota in one line: `Data: 9 MB of 10 MB`. */
export function quotaText(row: QuotaRow, messages: Messages): string {
  const { name, used } = quotaWords(row, messages)
  return `${name}: ${used}`
}

function quotaWords({ name, used, limit, is_size: isSize }: QuotaRow, { quotas: words }: Messages) {
  const names: Readonly<Record<string, string>> = words.names
  const amount = isSize ? words.size : words.amount
  return { name: names[name] ?? name, used: words.used(amount(used), amount(limit)) }
}

export function quotaCard(rows: readonly QuotaRow[], messages: Messages): Html {
  const { quotas: words } = messages
  return html`<section class="card" aria-labelledby="quotas"><h2 id="quotas">${words.title}</h2>
<p class="fine">${words.text}</p>
<dl class="facts">${rows.map((row) => {
    const { name, used } = quotaWords(row, messages)
    return html`<dt>${name}</dt><dd>${used}</dd>`
  })}</dl></section>`
}
