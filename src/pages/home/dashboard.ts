/** View of `/<actor>/www`: the overview of an actor. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { openRequests } from '../shared/counts.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import type { DashboardValues, Html } from '../shared/values.ts'

export function dashboardPage(values: DashboardValues, context: PageContext): Html {
  const { actor_www, actor_root } = values
  const { home, navigation } = context.messages
  const address = values.url.slice(0, -'/www'.length)
  return actorPage(
    values,
    {
      ...context,
      title: navigation.overview,
      section: '',
      wrongField: values.error_field === 'confirmation' ? 'confirmation' : null,
    },
    html`
<h1>${navigation.overview}</h1>
${following('glance', ['properties', 'trust', 'approvals', 'sessions'], glance(values, context.messages))}
<section class="card" aria-labelledby="address">
<h2 id="address">${home.address}</h2>
<dl class="facts">
<dt>${home.accountUrl}</dt><dd><code>${address}</code></dd>
<dt>${home.owner}</dt><dd><code>${values.creator}</code></dd>
</dl>
<p><a href="${values.base_path}/openapi.json">${home.apiReference}</a> · <a href="${actor_root}/meta">${home.publicProfile}</a></p>
<p><a href="${actor_www}/init">${home.getStarted}</a></p>
</section>
${leaving(values, context.messages)}`,
  )
}

/** The form that deletes the actor. It stays open after a refused attempt. */
function leaving(values: DashboardValues, { home }: Messages): Html {
  return html`<details class="fold"${values.error === null ? '' : html` open`}><summary>${home.deletion}</summary>
<p>${home.deletionText}</p>
<form method="post" action="${values.actor_www}">${forgeryField(values)}<input type="hidden" name="action" value="delete">
${formField({
  id: 'confirmation',
  name: 'confirmation',
  label: home.confirm(values.creator),
  value: values.typed_confirmation,
  error: values.error_field === 'confirmation' ? values.error : null,
  attributes: { ...verbatim, required: true },
})}
<button class="danger" type="submit">${home.deleteButton}</button></form></details>`
}

function glance(values: DashboardValues, { home, navigation }: Messages): Html {
  const { actor_www, property_count, list_count, relationship_count, app_count, waiting } = values
  const open = openRequests(values)
  return html`
${
  open === 0
    ? ''
    : html`<section class="card urgent" aria-labelledby="waits"><h2 id="waits">${home.attention(open)}</h2>
<ul class="plain short">${waiting.map(({ text, href }) => html`<li><a href="${href}">${text}</a></li>`)}</ul>
${open > waiting.length ? html`<p class="fine">${home.more(open - waiting.length)}</p>` : ''}</section>`
}
<ul class="tiles">
<li><a class="tile" href="${actor_www}/properties"><strong>${property_count + list_count}</strong> <span>${navigation.properties}</span> <small>${home.lists(list_count)}</small></a></li>
<li><a class="tile" href="${actor_www}/trust"><strong>${relationship_count}</strong> <span>${navigation.connections}</span> <small>${values.waiting_count === 0 ? home.noRequests : html`<b>${home.requests(values.waiting_count)}</b>`}</small></a></li>
<li><a class="tile" href="${actor_www}/apps"><strong>${app_count}</strong> <span>${navigation.apps}</span> <small>${values.approval_count === 0 ? home.noApprovals : html`<b>${home.approvals(values.approval_count)}</b>`}</small></a></li>
</ul>`
}
