/** View of `/<actor>/www/history`. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { confirmation, olderPager } from '../shared/forms.ts'
import { actorPage, forgeryField, type PageContext } from '../shared/layout.ts'
import { momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'
import type { ChangeRow, Difference, HistoryValues } from './values.ts'

type Words = Messages['history']

export function historyPage(values: HistoryValues, context: PageContext): Html {
  const { history: words, properties } = context.messages
  const { rows, property, who, days, all_href, actor_www } = values
  const title = property === null ? words.title : words.titleOf(property.text)
  return actorPage(
    values,
    {
      ...context,
      title,
      section: '/properties',
      trail: [{ text: properties.title, href: `${actor_www}/properties` }, ...(property === null ? [] : [property])],
    },
    html`
<div class="head"><h1>${title}</h1>${all_href === null ? '' : html`<p class="actions"><a class="button quiet" href="${all_href}">${words.undoAll}</a></p>`}</div>
${days === 0 ? html`<p class="empty">${words.off}</p>` : html`<p class="lead">${words.text(days)}</p>`}
${who === null ? '' : html`<p>${words.only(who)} <a href="${actor_www}/history">${words.showAll}</a></p>`}
${list(values, words)}
${olderPager(values, words, context.messages)}
${rows.length === 0 || who !== null ? '' : removal(values, context.messages)}`,
  )
}

function list(values: HistoryValues, words: Words): Html | string {
  const { rows, days, is_first } = values
  if (rows.length > 0) return html`<ul class="rows">${rows.map((row) => change(row, values, words))}</ul>`
  return days === 0 ? '' : html`<p class="empty">${is_first ? words.empty : words.noOlder}</p>`
}

function removal(values: HistoryValues, messages: Messages): Html {
  const { property, actor_www } = values
  const { history: words } = messages
  return confirmation(
    values,
    {
      action: `${actor_www}/history`,
      fields: { action: 'delete', ...(property === null ? {} : { name: property.text }) },
      summary: words.remove,
      warning: property === null ? words.removeText : words.removeOneText(property.text),
      button: words.removeButton,
      isDanger: true,
    },
    messages,
  )
}

function change(row: ChangeRow, values: HistoryValues, words: Words): Html {
  const { id, at, peer, who, what, href, before, differences, items, can_undo, since_href } = row
  const name =
    peer === null || peer.href === '' ? html`<strong>${who}</strong>` : html`<a href="${peer.href}">${who}</a>`
  return html`<li><div class="row-head"><p class="said">${words.did(name, html`<a href="${href}">${what}</a>`)}</p>${
    can_undo
      ? html`<form method="post" action="${values.actor_www}/history/undo">${forgeryField(values)}<input type="hidden" name="id" value="${id}"><button class="quiet" type="submit">${words.undo}<span class="unseen">: ${what}</span></button></form>`
      : ''
  }</div>
${before === null ? '' : html`<p class="kind">${words.was(before)}</p>`}
${items.length === 0 ? '' : html`<ul class="plain short">${items.map((item) => html`<li>${item}</li>`)}</ul>`}
${differences.map((one) => differenceView(one, words))}
<p class="kind">${momentView(at)}${can_undo ? '' : html` · ${words.tooLong}`}${since_href === null ? '' : html` · <a href="${since_href}">${words.undoSince(who)}</a>`}</p></li>
`
}

function differenceView({ key, before, after }: Difference, words: Words): Html {
  const shown = (text: string | null): Html =>
    text === null ? html`<span class="kind">${words.nothing}</span>` : html`${text}`
  return html`<p class="difference">${key === '' ? '' : html`<span class="key">${key}:</span> `}<del>${shown(before)}</del> <span aria-hidden="true">→</span> <ins>${shown(after)}</ins></p>`
}
