/** `/<actor>/www/properties`: everything that the actor holds, and the form for something new. */
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
${creation(values)}`,
  )
}

function row({ name, href, kind, preview, is_read_only }: PropertyRow): Html {
  return html`<li><div class="row-head"><a href="${href}">${name}</a><span class="kind">${kind}${is_read_only ? ', cannot be changed' : ''}</span></div>${
    preview === '' ? '' : html`<p class="preview">${preview}</p>`
  }</li>
`
}

/** Id of the field that was refused. */
function wrongFieldOf({ error_field: field, typed, existing }: PropertiesValues): string | null {
  if (field === null || typed === null) return null
  if (existing !== null && canSaveOver(existing, typed)) return 'existing-value'
  if (field === 'property_value') return 'new-value'
  return typed.property_type === 'list' ? 'new-list' : 'new-name'
}

function canSaveOver({ tree }: ExistingProperty, typed: TypedProperty): boolean {
  return tree !== null && typed.property_type !== 'list'
}

/** The name is taken: what is stored beside what was typed, which may be saved over it. */
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
  const { typed, actor_www, existing, error, error_field: wrong } = values
  const isList = typed?.property_type === 'list'
  const action = `${actor_www}/properties`
  // Beside what is stored, the value that was typed has a field of its own.
  const isSettled = existing !== null && typed !== null && canSaveOver(existing, typed)
  const errorOf = (field: string, inList: boolean): string | null =>
    wrong === field && isList === inList && !isSettled ? error : null
  const name = (id: string, inList: boolean): Html =>
    formField({
      id,
      name: 'property_name',
      label: 'Name',
      value: isList === inList ? (typed?.property_name ?? '') : '',
      error: errorOf('property_name', inList),
      attributes: { ...verbatim, required: true, maxlength: '1024' },
    })
  return html`
<section aria-labelledby="new">
<h2 id="new">Something new</h2>
<details class="card"${typed !== null && !isList && !isSettled ? html` open` : ''}><summary>A value</summary>
<form method="post" action="${action}">${forgeryField(values)}${hiddenFields({ create_only: '1', property_type: 'simple' })}
${name('new-name', false)}
${valueField(
  'new-value',
  'property_value',
  'Value',
  {
    text: isList ? '' : (typed?.property_value ?? ''),
    type: !isList && typed?.value_type === 'json' ? 'json' : 'text',
  },
  errorOf('property_value', false),
)}
<button type="submit">Create the value</button></form></details>
<details class="card"${isList ? html` open` : ''}><summary>A list</summary>
<form method="post" action="${action}">${forgeryField(values)}${hiddenFields({ property_type: 'list' })}
${name('new-list', true)}
${formField({
  id: 'new-description',
  name: 'description',
  label: html`What it is <span class="kind">(optional)</span>`,
  value: isList ? typed.description : '',
})}
${formField({
  id: 'new-explanation',
  name: 'explanation',
  label: html`How its items are to be understood <span class="kind">(optional)</span>`,
  value: isList ? typed.explanation : '',
})}
<button type="submit">Create the list</button></form></details>
</section>`
}
