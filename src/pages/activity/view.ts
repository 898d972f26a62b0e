/** View of `/<actor>/www/activity`: the accesses to the actor. */
import { html } from 'hono/html'
import type { ActivityRow, ActivityValues } from './values.ts'
import { actorPage, type Navigation } from '../shared/layout.ts'
import { clockView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'

export function activityPage(values: ActivityValues, navigation: Navigation): Html {
  const { days, caller, caller_name, older_href, is_first, is_off, actor_www } = values
  return actorPage(
    values,
    { title: 'Activity', section: '/activity', navigation },
    html`
<h1>Activity</h1>
<p class="lead">What others did with your actor, what they were refused, and what you decided about their calls. Nothing else that you do is kept, and no value ever is.</p>
${is_off ? html`<p class="empty">This service keeps no activity.</p>` : values.callers.length === 0 && caller === '' ? '' : filter(values)}
${caller === '' ? '' : html`<p>Only what <strong>${caller_name}</strong> did. <a href="${actor_www}/activity">Show everybody</a></p>`}
${days.length === 0 && !is_off ? html`<p class="empty">No activity${is_first ? ' yet' : ' before that'}.</p>` : ''}
${days.map(({ day, entries }) => html`<h2 class="day">${day}</h2><ul class="rows">${entries.map(row)}</ul>`)}
${
  older_href === null && is_first
    ? ''
    : html`<nav class="pager" aria-label="Parts of the activity">${is_first ? html`<span></span>` : html`<a href="${actor_www}/activity${caller === '' ? '' : `?caller=${encodeURIComponent(caller)}`}" rel="first">The latest</a>`}${older_href === null ? html`<span></span>` : html`<a href="${older_href}" rel="next">Older</a>`}</nav>`
}`,
  )
}

function filter({ callers, caller, actor_www }: ActivityValues): Html {
  const isKnown = callers.some(({ peerid }) => peerid === caller)
  return html`<form class="line" method="get" action="${actor_www}/activity"><div><label for="caller">What was done by</label>
<select id="caller" name="caller"><option value="">Everybody</option>${callers.map(
    ({ peerid, name, host }) =>
      html`<option value="${peerid}"${peerid === caller ? html` selected` : ''}>${name}${host === '' ? '' : ` (${host})`}</option>`,
  )}${caller === '' || isKnown ? '' : html`<option value="${caller}" selected>${caller}</option>`}</select></div>
<button class="quiet" type="submit">Show</button></form>`
}

function row({ at, peer, who, what, is_refused, reason, times, only_href, request }: ActivityRow): Html {
  const name =
    peer === null || peer.href === '' ? html`<strong>${who}</strong>` : html`<a href="${peer.href}">${who}</a>`
  return html`<li><p class="said">${name} ${is_refused ? html`wanted to ${what}: <strong class="no">refused</strong>` : what}${times > 1 ? html` <span class="badge">${times} times</span>` : ''}</p>
<p class="kind">${clockView(at)} UTC · ${reason}${only_href === '' ? '' : html` · <a href="${only_href}">only this one<span class="unseen">: ${who}</span></a>`} · <code>${request}</code></p></li>
`
}
