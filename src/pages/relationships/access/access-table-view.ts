/** View of the access table: what a person or app may do with each name, who set it, and the choices. */
import { html } from 'hono/html'
import type { Messages } from '../../languages/language.ts'
import { hiddenFields } from '../../shared/forms.ts'
import { icon, type IconName } from '../../shared/icons.ts'
import { forgeryField } from '../../shared/layout.ts'
import type { Html } from '../../shared/values.ts'
import { visible } from '../../shared/visible.ts'
import { accessChoices, type AccessCell, type AccessRow, type TrustPeerValues } from '../values.ts'

type Words = Messages['accessTable']

export function accessTableView(values: TrustPeerValues, messages: Messages): Html | string {
  const { accessTable: words } = messages
  const { access, trust, form_action, rights_version } = values
  if (access === null) return ''
  const isEditing = values.edits_access && values.fresh_href === null
  const level = trust.relationship_name
  const owner = values.is_member ? messages.membership.role : words.you
  const data = {
    label: words.data,
    columns: [words.view, words.edit, words.remove, words.subscribe],
    level,
    owner,
    isEditing,
  }
  const calls = { label: words.calls, columns: [words.use], level, owner, isEditing }
  const tables = html`${table(access.data, data, words)}
${table(access.calls, calls, words)}
${access.more === 0 ? '' : html`<p class="fine">${words.more(access.more)}</p>`}`
  const title = html`<h2 id="access-title">${words.title(trust.peer.name)}</h2>`
  if (!isEditing)
    return html`<section aria-labelledby="access-title"><div class="head">${title}
${values.fresh_href === null && !values.is_member ? html`<p class="actions"><a class="button quiet" href="${form_action}?edit=access#access-title">${icon('pencil')} ${words.change}</a></p>` : ''}</div>
${tables}</section>`
  return html`<section aria-labelledby="access-title">${title}
<p class="fine">${words.choicesText(level)}</p>
<form method="post" action="${form_action}/access">${forgeryField(values)}${hiddenFields({ version: rights_version })}
${tables}
<p class="actions"><button type="submit">${words.save}</button><a class="button quiet" href="${form_action}">${messages.peer.cancel}</a></p></form></section>`
}

interface TableForm {
  readonly label: string
  readonly columns: readonly string[]
  /** Name of the access level. */
  readonly level: string
  /** Who sets access besides the level: the owner, or the role of a member. */
  readonly owner: string
  readonly isEditing: boolean
}

function table(rows: readonly AccessRow[], form: TableForm, words: Words): Html | string {
  if (rows.length === 0) return ''
  const { label, columns, isEditing } = form
  return html`<div class="table access" role="region" aria-label="${label}" tabindex="0"><table><thead><tr><th scope="col">${label}</th>${isEditing ? html`<th scope="col">${words.choice}</th>` : ''}${columns.map((column) => html`<th scope="col">${column}</th>`)}<th scope="col">${words.setBy}</th></tr></thead>
<tbody>${rows.map((row) => rowView(row, form, words))}</tbody></table></div>
`
}

function rowView(row: AccessRow, { level, owner, isEditing }: TableForm, words: Words): Html {
  const { name, href, cells, set_by } = row
  const by = { you: owner, level, no_rule: words.noRule }[set_by]
  return html`<tr><th scope="row">${href === '' ? visible(name) : html`<a href="${href}">${visible(name)}</a>`}</th>${isEditing ? choiceView(row, words) : ''}${cells.map((cell) => cellView(cell, words))}<td>${by}</td></tr>
`
}

function choiceView({ name, field, choice, category }: AccessRow, words: Words): Html {
  if (field === '') return html`<td>${words.byPattern}</td>`
  const labels = {
    default: words.default,
    allow: category === 'properties' ? words.allowAll : words.allow,
    block: words.block,
  }
  return html`<td><select name="${field}" aria-label="${words.choose(visible(name))}">${accessChoices.map((each) => html`<option value="${each}"${each === choice ? html` selected` : ''}>${labels[each]}</option>`)}</select></td>`
}

const icons = { yes: 'check', add: 'plus', ask: 'clock', no: 'cross' } as const satisfies Record<
  AccessCell['result'],
  IconName
>

function cellView({ result }: AccessCell, words: Words): Html {
  return html`<td class="${result}">${icon(icons[result])}<span class="${result === 'yes' || result === 'no' ? 'unseen' : 'kind'}"> ${words[result]}</span></td>`
}
