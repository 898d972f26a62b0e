/** `/<actor>/www/properties`: everything that the actor holds, and the form for something new. */
import { html } from 'hono/html'
import { pager, pastRows, valueField } from './forms.ts'
import { actorPage, following, forgeryField } from './layout.ts'
import type { PropertiesValues, PropertyRow } from './property-values.ts'
import type { Html } from './values.ts'
import { count } from './words.ts'

export function propertiesPage(values: PropertiesValues): Html {
  const { rows, paging, actor_www } = values
  return actorPage(
    values,
    { title: 'Properties', section: '/properties' },
    html`
<h1>Properties</h1>
${following(
  'listing',
  ['properties'],
  html`<p class="lead">${paging.total === 0 ? 'Named values that belong to you.' : `${count(paging.total, 'property', 'properties')} that belong${paging.total === 1 ? 's' : ''} to you.`}${pastRows(rows.length, 'new')}</p>
${rows.length === 0 ? html`<p class="empty">There is nothing here yet.</p>` : html`<ul class="rows">${rows.map(row)}</ul>`}`,
)}
${pager(paging, 'Parts of the listing', `${actor_www}/properties`)}
${creation(values)}`,
  )
}

function row({ name, href, kind, preview, is_read_only }: PropertyRow): Html {
  return html`<li><div class="row-head"><a href="${href}">${name}</a><span class="kind">${kind}${is_read_only ? ', cannot be changed' : ''}</span></div>${
    preview === '' ? '' : html`<p class="preview">${preview}</p>`
  }</li>
`
}

function creation(values: PropertiesValues): Html {
  const { typed, actor_www } = values
  const isList = typed?.property_type === 'list'
  const action = `${actor_www}/properties`
  return html`
<section aria-labelledby="new">
<h2 id="new">Something new</h2>
<details class="card"${typed !== null && !isList ? html` open` : ''}><summary>A value</summary>
<form method="post" action="${action}">${forgeryField(values)}<input type="hidden" name="create_only" value="1"><input type="hidden" name="property_type" value="simple">
<label for="new-name">Name</label>
<input id="new-name" name="property_name" required maxlength="1024" autocomplete="off" autocapitalize="none" spellcheck="false" value="${isList ? '' : (typed?.property_name ?? '')}">
${valueField('new-value', 'property_value', 'Value', {
  text: isList ? '' : (typed?.property_value ?? ''),
  type: !isList && typed?.value_type === 'json' ? 'json' : 'text',
})}
<button type="submit">Create the value</button></form></details>
<details class="card"${isList ? html` open` : ''}><summary>A list</summary>
<form method="post" action="${action}">${forgeryField(values)}<input type="hidden" name="property_type" value="list">
<label for="new-list">Name</label>
<input id="new-list" name="property_name" required maxlength="1024" autocomplete="off" autocapitalize="none" spellcheck="false" value="${isList ? typed.property_name : ''}">
<label for="new-description">What it is <span class="kind">(optional)</span></label>
<input id="new-description" name="description" value="${isList ? typed.description : ''}">
<label for="new-explanation">How its items are to be understood <span class="kind">(optional)</span></label>
<input id="new-explanation" name="explanation" value="${isList ? typed.explanation : ''}">
<button type="submit">Create the list</button></form></details>
</section>`
}
