/** View of `/<actor>/www/properties`: all properties, and the form for a new one. */
import { html } from 'hono/html'
import { editableOf } from './edit-conflict.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { hiddenFields, pager, pastRows, valueField } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type Navigation } from '../shared/layout.ts'
import type { ExistingProperty, PropertiesValues, PropertyRow, TypedProperty } from './values.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'
import { count } from '../shared/plural.ts'

export function propertiesPage(values: PropertiesValues, navigation: Navigation): Html {
  const { rows, paging, actor_www } = values
  return actorPage(
    values,
    { title: 'Properties', section: '/properties', navigation, wrongField: wrongFieldOf(values) },
    html`
<h1>Properties</h1>
${existingView(values)}
${following(
  'listing',
  ['properties'],
  html`<p class="lead">${paging.total === 0 ? 'Named values that belong to you.' : `${count(paging.total, 'property', 'properties')} that belong${paging.total === 1 ? 's' : ''} to you.`}${pastRows(rows.length, 'new')}</p>
${rows.length === 0 ? html`<p class="empty">There is nothing here yet.</p>` : html`<ul class="rows">${rows.map(row)}</ul>`}`,
)}
${pager(paging, 'Parts of the listing', `${actor_www}/properties`)}
${unsetView(values)}
${creation(values)}`,
  )
}

function row({ name, href, kind, preview, is_read_only }: PropertyRow): Html {
  return html`<li><div class="row-head"><a href="${href}">${name}</a><span class="kind">${kind}${is_read_only ? ', cannot be changed' : ''}</span></div>${
    preview === '' ? '' : html`<p class="preview">${preview}</p>`
  }</li>
`
}

function unsetView({ unset }: PropertiesValues): Html | string {
  if (unset.length === 0) return ''
  return html`<section aria-labelledby="unset"><h2 id="unset">Not set yet</h2>
<ul class="rows">${unset.map(
    ({ name, href, description }) =>
      html`<li><div class="row-head"><a href="${href}">${name}</a></div>${description === '' ? '' : html`<p class="preview">${description}</p>`}</li>
`,
  )}</ul></section>`
}

/** Returns the id of the refused field. */
function wrongFieldOf({ error_field: field, typed, existing }: PropertiesValues): string | null {
  if (field === null || typed === null) return null
  if (existing !== null && canSaveOver(existing, typed)) return 'existing-value'
  if (field === 'property_value') return 'new-value'
  return typed.property_type === 'list' ? 'new-list' : 'new-name'
}

function canSaveOver({ tree }: ExistingProperty, typed: TypedProperty): boolean {
  return tree !== null && typed.property_type !== 'list'
}

/** Shows the stored property when the typed name already exists. The typed value may be saved over it. */
function existingView(values: PropertiesValues): Html | string {
  const { existing, typed } = values
  if (existing === null || typed === null) return ''
  const { name, href, kind, tree, version } = existing
  return html`<section class="card urgent" id="conflict" aria-labelledby="conflict-title">
<h2 id="conflict-title">“${name}” already exists</h2>
<div class="pair"><div><h3>Stored now</h3>${tree === null ? html`<p>${kind}</p>` : valueView(tree)}</div>
${
  canSaveOver(existing, typed)
    ? html`<div><h3>Yours</h3><form method="post" action="${href}">${forgeryField(values)}${hiddenFields({ redirect_to: href, version })}
${valueField('existing-value', 'value', 'Value', editableOf({ value: typed.property_value, value_type: typed.value_type }), values.error)}
<button type="submit">Save mine</button></form></div>`
    : ''
}</div>
<p class="actions"><a class="button quiet" href="${href}">Open “${name}”</a></p>
</section>`
}

function creation(values: PropertiesValues): Html {
  const { typed } = values
  const isList = typed?.property_type === 'list'
  return html`
<section aria-labelledby="new">
<h2 id="new">Something new</h2>
${valueForm(values, isList ? null : typed)}
${listForm(values, isList ? typed : null)}
</section>`
}

function valueForm(values: PropertiesValues, typed: TypedProperty | null): Html {
  const { existing, actor_www } = values
  // The card of the existing property contains its own field with the typed value.
  const isSettled = existing !== null && typed !== null && canSaveOver(existing, typed)
  const isRefused = values.typed === typed && !isSettled
  return html`<details class="card"${typed !== null && !isSettled ? html` open` : ''}><summary>A value</summary>
<form method="post" action="${actor_www}/properties">${forgeryField(values)}${hiddenFields({ create_only: '1', property_type: 'simple' })}
${nameField('new-name', typed, isRefused ? errorOf(values, 'property_name') : null)}
${valueField(
  'new-value',
  'property_value',
  'Value',
  { text: typed?.property_value ?? '', type: typed?.value_type === 'json' ? 'json' : 'text' },
  isRefused ? errorOf(values, 'property_value') : null,
)}
<button type="submit">Create the value</button></form></details>`
}

function listForm(values: PropertiesValues, typed: TypedProperty | null): Html {
  return html`<details class="card"${typed === null ? '' : html` open`}><summary>A list</summary>
<form method="post" action="${values.actor_www}/properties">${forgeryField(values)}${hiddenFields({ property_type: 'list' })}
${nameField('new-list', typed, typed === null ? null : errorOf(values, 'property_name'))}
${formField({
  id: 'new-description',
  name: 'description',
  label: html`What it is <span class="kind">(optional)</span>`,
  value: typed?.description ?? '',
})}
${formField({
  id: 'new-explanation',
  name: 'explanation',
  label: html`How its items are to be understood <span class="kind">(optional)</span>`,
  value: typed?.explanation ?? '',
})}
<button type="submit">Create the list</button></form></details>`
}

function nameField(id: string, typed: TypedProperty | null, error: string | null): Html {
  return formField({
    id,
    name: 'property_name',
    label: 'Name',
    value: typed?.property_name ?? '',
    error,
    attributes: { ...verbatim, required: true, maxlength: '1024' },
  })
}

function errorOf({ error, error_field: wrong }: PropertiesValues, field: string): string | null {
  return wrong === field ? error : null
}
