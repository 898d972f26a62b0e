/** View of `/<actor>/www`: the overview of an actor. */
import { html } from 'hono/html'
import { formField, verbatim } from '../shared/form-field.ts'
import { actorPage, following, forgeryField, type Navigation } from '../shared/layout.ts'
import type { DashboardValues, Html } from '../shared/values.ts'
import { count } from '../shared/plural.ts'

export function dashboardPage(values: DashboardValues, navigation: Navigation): Html {
  const { actor_www, actor_root } = values
  const address = values.url.slice(0, -'/www'.length)
  return actorPage(
    values,
    {
      title: 'Overview',
      section: '',
      navigation,
      wrongField: values.error_field === 'confirmation' ? 'confirmation' : null,
    },
    html`
<h1>Your actor</h1>
<p class="lead">Your own corner of ${values.name}: only you, and those you allow, can read or change it.</p>
${following('glance', ['properties', 'trust', 'approvals', 'sessions'], glance(values))}
<section class="card" aria-labelledby="address">
<h2 id="address">Where it lives</h2>
<dl class="facts">
<dt>Address, for other actors and programs</dt><dd><code>${address}</code></dd>
<dt>Owner</dt><dd><code>${values.creator}</code></dd>
</dl>
<p>Programs read and write here as you do: begin with the <a href="${values.base_path}/openapi.json">description of the API</a>, or look at <a href="${actor_root}/meta">what it tells everybody</a>.</p>
<p><a href="${actor_www}/init">First steps</a></p>
</section>
${leaving(values)}`,
  )
}

/** The form that deletes the actor. It stays open after a refused attempt. */
function leaving(values: DashboardValues): Html {
  return html`<details class="fold"${values.error === null ? '' : html` open`}><summary>Delete your actor…</summary>
<p>Everything in it will be gone for good: properties, relationships, sessions and connected apps. Other actors are notified that your relationship has ended.</p>
<form method="post" action="${values.actor_www}">${forgeryField(values)}<input type="hidden" name="action" value="delete">
${formField({
  id: 'confirmation',
  name: 'confirmation',
  label: html`To be sure, type <strong>${values.creator}</strong>`,
  value: values.typed_confirmation,
  error: values.error_field === 'confirmation' ? values.error : null,
  attributes: { ...verbatim, required: true },
})}
<button class="danger" type="submit">Delete your actor for good</button></form></details>`
}

function glance(values: DashboardValues): Html {
  const { actor_www, property_count, list_count, relationship_count, app_count, waiting } = values
  const all = property_count + list_count
  const open = values.waiting_count + values.approval_count + values.password_count
  return html`
${
  open === 0
    ? ''
    : html`<section class="card urgent" aria-labelledby="waits"><h2 id="waits">${open === 1 ? 'One thing waits for you' : `${open} things wait for you`}</h2>
<ul class="plain short">${waiting.map(({ text, href }) => html`<li><a href="${href}">${text}</a></li>`)}</ul>
${open > waiting.length ? html`<p class="fine">And ${open - waiting.length} more.</p>` : ''}</section>`
}
<ul class="tiles">
<li><a class="tile" href="${actor_www}/properties"><strong>${all}</strong> <span>${all === 1 ? 'property' : 'properties'}</span> <small>${count(list_count, 'list')} among them</small></a></li>
<li><a class="tile" href="${actor_www}/trust"><strong>${relationship_count}</strong> <span>${relationship_count === 1 ? 'relationship' : 'relationships'}</span> <small>${values.waiting_count === 0 ? 'nothing waits for you' : html`<b>${values.waiting_count} for you to decide</b>`}</small></a></li>
<li><a class="tile" href="${actor_www}/apps"><strong>${app_count}</strong> <span>${app_count === 1 ? 'connected app' : 'connected apps'}</span> <small>${values.approval_count === 0 ? 'and where you are signed in' : html`<b>${values.approval_count} for you to allow</b>`}</small></a></li>
</ul>`
}
