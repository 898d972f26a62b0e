/** Views of `/admin/actors` and of one actor. */
import { quotaCard } from '../settings/quotas.ts'
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { confirmation, copyButton } from '../shared/forms.ts'
import { forgeryField, page, type PageContext } from '../shared/layout.ts'
import { exactView, momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import { operatorPage } from './operator-layout.ts'
import type { ListedActorRow, OperatorActorsValues, OperatorActorValues, OwnerLinkValues } from './values.ts'

type Words = Messages['operator']

export function operatedActorsPage(values: OperatorActorsValues, context: PageContext): Html {
  const { operator: words, forms } = context.messages
  const { actors, search, is_cut, is_counting, older_href, newest_href, root } = values
  return operatorPage(
    values,
    { ...context, title: words.actors, section: '/actors' },
    html`
<h1>${words.actors}</h1>
<p class="lead">${words.actorsText}</p>
<form class="search" method="get" action="${root}/actors">
${formField({ id: 'search', name: 'search', label: words.search, value: search, attributes: { ...verbatim, type: 'search', maxlength: '512' } })}
<button class="quiet" type="submit">${words.find}</button>${search === '' ? '' : html`<a href="${root}/actors">${words.showAll}</a>`}</form>
<nav class="chips" aria-label="${words.order}"><ul>${values.orders.map(({ name, href, is_current }) => html`<li><a href="${href}"${is_current ? html` aria-current="true"` : ''}>${words.orders[name]}</a></li>`)}</ul></nav>
${orderText(values, words)}
${actors.length === 0 ? (is_counting ? '' : html`<p class="empty">${search === '' ? words.noActors : words.noneFound(search)}</p>`) : table(actors, values.sort, words)}
${is_cut ? html`<p class="fine">${words.cut(actors.length)}</p>` : ''}
${
  older_href === null && newest_href === null
    ? ''
    : html`<nav class="pager" aria-label="${forms.pages}">${newest_href === null ? html`<span></span>` : html`<a href="${newest_href}" rel="first">${words.newest}</a>`}${older_href === null ? html`<span></span>` : html`<a href="${older_href}" rel="next">${words.older}</a>`}</nav>`
}`,
  )
}

function orderText({ sort, counted, is_counting }: OperatorActorsValues, words: Words): Html | string {
  if (sort === null) return ''
  return html`<p class="fine">${words.orderTexts[sort]}${counted === null ? '' : html` ${words.counted(momentView(counted))}`}${is_counting ? html` ${words.counting}` : ''}</p>`
}

function table(actors: readonly ListedActorRow[], sort: OperatorActorsValues['sort'], words: Words): Html {
  const columns = words.actorColumns
  return html`<div class="table operated" role="region" aria-label="${words.actors}" tabindex="0"><table><thead><tr><th scope="col">${columns.actor}</th><th scope="col">${columns.created}</th><th scope="col">${columns.lastUsed}</th><th scope="col">${columns.data}</th><th scope="col">${columns.files}</th><th scope="col">${columns.connections}</th></tr></thead>
<tbody>${actors.map((actor) => row(actor, sort, words))}</tbody></table></div>`
}

function row(actor: ListedActorRow, sort: OperatorActorsValues['sort'], words: Words): Html {
  const { creator, id, href, created, last_used, values, items, bytes, file_bytes, relationships } = actor
  const { amount } = actor
  const rank = amount === null ? '' : sort === 'size' ? words.size(amount) : words.records(amount)
  return html`<tr><th scope="row"><a href="${href}">${creator}</a><small>${id}</small>${rank === '' ? '' : html`<strong>${rank}</strong>`}</th><td>${momentView(created)}</td><td>${last_used === null ? words.never : momentView(last_used)}</td><td>${words.data({ values, items, bytes, isPartial: actor.is_partial })}</td><td class="number">${words.size(file_bytes)}</td><td class="number">${words.amount(relationships)}</td></tr>
`
}

export function operatedActorPage(values: OperatorActorValues, context: PageContext): Html {
  const { operator: words } = context.messages
  const { creator, id, is_proven, is_suspended, created, last_used, basic_used } = values
  return operatorPage(
    values,
    { ...context, title: creator, section: '/actors', isBelow: true },
    html`<h1>${creator}</h1>
<p class="lead">${is_proven ? words.proven : words.unproven}</p>
${is_suspended ? html`<p class="notice"><strong>${words.suspended}.</strong> ${words.suspendedText}</p>` : ''}
<p>${words.seen}</p>
${linkCard(values, context.messages)}
<section class="card" aria-labelledby="facts"><h2 id="facts">${words.facts}</h2><dl class="facts">
<dt>${words.id}</dt><dd><code>${id}</code></dd>
<dt>${words.actorColumns.created}</dt><dd>${exactView(created)}</dd>
<dt>${words.actorColumns.lastUsed}</dt><dd>${last_used === null ? words.never : momentView(last_used)}</dd>
<dt>${words.basicUsed}</dt><dd>${basic_used === null ? words.never : momentView(basic_used)}</dd>
<dt>${words.properties}</dt><dd>${words.sized(values.values, values.value_bytes)}</dd>
<dt>${words.lists}</dt><dd>${words.listed(values.lists, values.items, values.list_bytes)}</dd>
<dt>${words.actorColumns.connections}</dt><dd>${words.amount(values.relationships)}</dd>
<dt>${words.subscriptions}</dt><dd>${words.subscribed(values.subscribers, values.subscribed)}</dd>
<dt>${words.sessions}</dt><dd>${words.amount(values.sessions)}</dd></dl></section>
${quotaCard(values.quotas, context.messages)}
${actions(values, context.messages)}`,
  )
}

function actions(values: OperatorActorValues, messages: Messages): Html {
  const { operator: words } = messages
  const form = (action: string, summary: string, warning: string, button = summary): Html =>
    confirmation(
      values,
      { action: values.form_action, fields: { action }, summary, warning, button, isDanger: action === 'suspend' },
      messages,
    )
  return html`${form('redrive', words.redrive, words.redriveText, words.redriveButton)}
${form('sign_out', words.signOutEverywhere, words.signOutEverywhereText)}
${values.is_suspended ? form('resume', words.resume, words.resumeText) : values.is_own ? '' : form('suspend', words.suspend, words.suspendText)}
${values.is_own || values.is_suspended ? '' : form('sign_in_link', words.signInLink, words.signInLinkText)}
${typedForm(values, { action: 'reset_limits', summary: words.resetLimits, text: words.resetLimitsText, field: 'sender', label: words.sender, hint: words.senderText })}
${values.is_own ? '' : typedForm(values, { action: 'delete', summary: words.deleteAccount, text: words.deleteAccountText, field: 'confirmation', label: words.confirmation(values.id), isDanger: true })}`
}

function linkCard({ sign_in_link }: OperatorActorValues, messages: Messages): Html | string {
  if (sign_in_link === null) return ''
  const { operator: words } = messages
  return html`<section class="card urgent" role="status" tabindex="-1" autofocus aria-labelledby="made-link"><h2 id="made-link">${words.signInLinkMade}</h2>
<p>${words.signInLinkPass}</p>
<dl class="facts"><dt>${words.signInLinkMade}</dt><dd><code id="link-text">${sign_in_link}</code></dd></dl>
${copyButton('link-text', words.signInLinkMade, messages)}</section>`
}

interface TypedForm {
  readonly action: string
  readonly summary: string
  readonly text: string
  /** Name and id of the only field. */
  readonly field: string
  readonly label: string | Html
  readonly hint?: string
  readonly isDanger?: boolean
}

/** An act for which the operator types something. It unfolds, and stays open when the field was refused. */
function typedForm(
  values: OperatorActorValues,
  { action, summary, text, field, label, hint, isDanger = false }: TypedForm,
): Html {
  const error = values.error_field === field ? values.error : null
  return html`<details class="card"${error === null ? '' : html` open`}><summary>${summary}</summary>
<p>${text}</p>
<form method="post" action="${values.form_action}">${forgeryField(values)}<input type="hidden" name="action" value="${action}">
${formField({ id: field, name: field, label, value: '', error, isOnlyMessage: true, ...(hint === undefined ? {} : { hint }), attributes: { ...verbatim, required: isDanger, maxlength: '128' } })}
<button${isDanger ? html` class="danger"` : ''} type="submit">${summary}</button></form></details>`
}

export function ownerLinkPage(values: OwnerLinkValues, { messages }: PageContext): Html {
  const { operator: words } = messages
  return page(
    { ...values, title: words.ownerLinkTitle, messages },
    html`<section class="card"><h1>${words.ownerLinkTitle}</h1><p class="lead">${words.ownerLinkText(values.creator)}</p><p>${words.ownerLinkNext}</p>
<form method="post" action="${values.action}"><input type="hidden" name="code" value="${values.code}"><button type="submit">${words.ownerLinkButton}</button></form></section>`,
  )
}
