/** View of `/<actor>/www/activity`: the accesses to the actor. */
import { html } from 'hono/html'
import { icon } from '../shared/icons.ts'
import type { ActivityRow, ActivityValues } from './values.ts'
import type { Messages } from '../languages/language.ts'
import { activityKinds, activityOutcomes } from '../../audit-log/filter.ts'
import { formField, selectField, verbatim } from '../shared/form-field.ts'
import { olderPager } from '../shared/forms.ts'
import { actorPage, type PageContext } from '../shared/layout.ts'
import { restoredView } from './restored-data.ts'
import { exactView, momentView } from '../shared/time.ts'
import type { Html } from '../shared/values.ts'

type Words = Messages['activity']

export function activityPage(values: ActivityValues, context: PageContext): Html {
  const { activity: words } = context.messages
  const { days, export_links, is_first, is_off, is_filtered, restored } = values
  return actorPage(
    values,
    { ...context, title: words.title, section: '/activity' },
    html`
<div class="head"><h1>${words.title}</h1>${
      is_off || (days.length === 0 && !is_filtered)
        ? ''
        : html`<p class="actions"><a class="button quiet" href="${export_links.csv}" download>${icon('download')} ${words.exportAs('CSV')}</a><a class="button quiet" href="${export_links.json}" download>${icon('download')} ${words.exportAs('JSON')}</a></p>`
    }</div>
<p class="lead">${words.text}</p>
${restored === null ? '' : html`<p class="notice">${restoredView(restored, context.messages)}</p>`}
${is_off ? html`<p class="empty">${words.off}</p>` : days.length === 0 && is_first && !is_filtered ? '' : filterForm(values, words)}
${days.length === 0 && !is_off ? html`<p class="empty">${emptyOf(values, words)}</p>` : ''}
${days.map(({ day, entries }) => html`<h2 class="day">${day}</h2><ul class="rows">${entries.map((entry) => row(entry, words))}</ul>`)}
${olderPager(values, words, context.messages)}`,
  )
}

function emptyOf({ is_first, is_filtered }: ActivityValues, words: Words): string {
  if (!is_first) return words.noOlder
  return is_filtered ? words.noMatch : words.empty
}

function filterForm({ callers, filter, is_filtered, actor_www }: ActivityValues, words: Words): Html {
  const { caller, outcome, kind, property, from, to } = filter
  const isKnown = caller === 'owner' || callers.some(({ peerid }) => peerid === caller)
  const people = callers.map(({ peerid, name, host }) => ({
    value: peerid,
    label: `${name}${host === '' ? '' : ` (${host})`}`,
  }))
  const select = (name: string, label: string, value: string, choices: readonly Choice[]): Html =>
    selectField({ id: `by-${name}`, name, label, value }, choices)
  const day = (name: string, label: string, value: string): Html =>
    formField({ id: `by-${name}`, name, label, value, attributes: { type: 'date' } })
  return html`<details class="card"${is_filtered ? html` open` : ''}><summary>${words.filterTitle}</summary><form class="filter" method="get" action="${actor_www}/activity">
${select('caller', words.filter, caller, [{ value: '', label: words.everyone }, { value: 'owner', label: words.you }, ...people, ...(caller === '' || isKnown ? [] : [{ value: caller, label: caller }])])}
${select('outcome', words.outcome, outcome, [{ value: '', label: words.anyOutcome }, ...activityOutcomes.map((value) => ({ value, label: words.outcomes[value] }))])}
${select('kind', words.about, kind, [{ value: '', label: words.everything }, ...activityKinds.map((value) => ({ value, label: words.kinds[value] }))])}
${formField({ id: 'by-property', name: 'property', label: words.property, value: property, attributes: { ...verbatim, maxlength: '1024' } })}
${day('from', words.from, from)}
${day('to', words.to, to)}
<p class="actions"><button class="quiet" type="submit">${words.apply}</button>${is_filtered ? html`<a href="${actor_www}/activity">${words.showAll}</a>` : ''}</p></form></details>`
}

interface Choice {
  readonly value: string
  readonly label: string
}

function row({ at, peer, who, what, is_refused, reason, times, only_href, request }: ActivityRow, words: Words): Html {
  const name =
    peer === null || peer.href === '' ? html`<strong>${who}</strong>` : html`<a href="${peer.href}">${who}</a>`
  return html`<li><p class="said">${is_refused ? words.denied(name, what) : words.did(name, what)}${times > 1 ? html` <span class="badge">${words.times(times)}</span>` : ''}</p>
<p class="kind">${momentView(at)} · ${reason}${only_href === '' ? '' : html` · <a href="${only_href}">${words.filterBy(who)}</a>`}</p>
<details class="kind"><summary>${words.details}</summary>${exactView(at)} · <code>${request}</code></details></li>
`
}
