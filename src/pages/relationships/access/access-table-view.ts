/** View of the access table: what a person or app may do with each name, who set it, and the choices. */
import { html } from 'hono/html'
import type { Messages } from '../../languages/language.ts'
import { hiddenFields } from '../../shared/forms.ts'
import { icon, type IconName } from '../../shared/icons.ts'
import { forgeryField } from '../../shared/layout.ts'
import type { Html } from '../../shared/values.ts'
import { accessChoices, type AccessCell, type AccessRow, type TrustPeerValues } from '../values.ts'

type Words = Messages['accessTable']

export function accessTableView(values: TrustPeerValues, { accessTable: words }: Messages): Html | string {
  const { access, trust, form_action, rights_version } = values
  if (access === null) return ''
  const level = trust.relationship_name
  return html`<section aria-labelledby="access-title"><h2 id="access-title">${words.title(trust.peer.name)}</h2>
<form method="post" action="${form_action}/access">${forgeryField(values)}${hiddenFields({ version: rights_version })}
${table(access.data, { label: words.data, columns: [words.view, words.edit, words.remove, words.subscribe], level }, words)}
${table(access.calls, { label: words.calls, columns: [words.use], level }, words)}
${access.more === 0 ? '' : html`<p class="fine">${words.more(access.more)}</p>`}
<p class="fine">${words.choicesText(level)}</p>
<p><button type="submit">${words.save}</button></p></form></section>`
}

function table(
  rows: readonly AccessRow[],
  { label, columns, level }: { readonly label: string; readonly columns: readonly string[]; readonly level: string },
  words: Words,
): Html | string {
  if (rows.length === 0) return ''
  return html`<div class="table access" role="region" aria-label="${label}" tabindex="0"><table><thead><tr><th scope="col">${label}</th>${columns.map((column) => html`<th scope="col">${column}</th>`)}<th scope="col">${words.setBy}</th><th scope="col">${words.choice}</th></tr></thead>
<tbody>${rows.map((row) => rowView(row, level, words))}</tbody></table></div>
`
}

function rowView({ name, href, cells, set_by, field, choice, category }: AccessRow, level: string, words: Words): Html {
  const by = { you: words.you, level, no_rule: words.noRule }[set_by]
  const labels = {
    default: words.default,
    allow: category === 'properties' ? words.allowAll : words.allow,
    block: words.block,
  }
  return html`<tr><th scope="row">${href === '' ? name : html`<a href="${href}">${name}</a>`}</th>${cells.map((cell) => cellView(cell, words))}<td>${by}</td><td>${
    field === ''
      ? words.byPattern
      : html`<select name="${field}" aria-label="${words.choose(name)}">${accessChoices.map((each) => html`<option value="${each}"${each === choice ? html` selected` : ''}>${labels[each]}</option>`)}</select>`
  }</td></tr>
`
}

const icons = { yes: 'check', add: 'plus', ask: 'clock', no: 'cross' } as const satisfies Record<
  AccessCell['result'],
  IconName
>

function cellView({ result }: AccessCell, words: Words): Html {
  return html`<td class="${result}">${icon(icons[result])}<span class="${result === 'yes' || result === 'no' ? 'unseen' : 'kind'}"> ${words[result]}</span></td>`
}
