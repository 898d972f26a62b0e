/** View of `/<actor>/www/activity`: the accesses to the actor. */
import { html } from 'hono/html'
import type { ActivityRow, ActivityValues } from './values.ts'
import type { Messages } from '../languages/language.ts'
import { actorPage, type PageContext } from '../shared/layout.ts'
import { clockView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['activity']

export function activityPage(values: ActivityValues, context: PageContext): Html {
  const { activity: words, forms } = context.messages
  const { days, caller, caller_name, older_href, is_first, is_off, actor_www } = values
  return actorPage(
    values,
    { ...context, title: words.title, section: '/activity' },
    html`
<h1>${words.title}</h1>
<p class="lead">${words.text}</p>
${is_off ? html`<p class="empty">${words.off}</p>` : values.callers.length === 0 && caller === '' ? '' : filter(values, words)}
${caller === '' ? '' : html`<p>${words.filteredBy(caller_name, `${actor_www}/activity`)}</p>`}
${days.length === 0 && !is_off ? html`<p class="empty">${is_first ? words.empty : words.noOlder}</p>` : ''}
${days.map(({ day, entries }) => html`<h2 class="day">${day}</h2><ul class="rows">${entries.map((entry) => row(entry, words))}</ul>`)}
${
  older_href === null && is_first
    ? ''
    : html`<nav class="pager" aria-label="${forms.pages}">${is_first ? html`<span></span>` : html`<a href="${actor_www}/activity${caller === '' ? '' : `?caller=${encodeURIComponent(caller)}`}" rel="first">${words.newest}</a>`}${older_href === null ? html`<span></span>` : html`<a href="${older_href}" rel="next">${words.older}</a>`}</nav>`
}`,
  )
}

function filter({ callers, caller, actor_www }: ActivityValues, words: Words): Html {
  const isKnown = callers.some(({ peerid }) => peerid === caller)
  return html`<form class="line" method="get" action="${actor_www}/activity"><div><label for="caller">${words.filter}</label>
<select id="caller" name="caller"><option value="">${words.everyone}</option>${callers.map(
    ({ peerid, name, host }) =>
      html`<option value="${peerid}"${peerid === caller ? html` selected` : ''}>${name}${host === '' ? '' : ` (${host})`}</option>`,
  )}${caller === '' || isKnown ? '' : html`<option value="${caller}" selected>${caller}</option>`}</select></div>
<button class="quiet" type="submit">${words.apply}</button></form>`
}

function row({ at, peer, who, what, is_refused, reason, times, only_href, request }: ActivityRow, words: Words): Html {
  const name =
    peer === null || peer.href === '' ? html`<strong>${who}</strong>` : html`<a href="${peer.href}">${who}</a>`
  return html`<li><p class="said">${is_refused ? words.denied(name, what) : words.did(name, what)}${times > 1 ? html` <span class="badge">${words.times(times)}</span>` : ''}</p>
<p class="kind">${clockView(at)} UTC · ${reason}${only_href === '' ? '' : html` · <a href="${only_href}">${words.filterBy(who)}</a>`} · <code>${request}</code></p></li>
`
}
