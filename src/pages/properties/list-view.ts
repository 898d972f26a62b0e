/** View of `/<actor>/www/properties`: all properties, and the form for a new one. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { editableOf } from './edit-conflict.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { hiddenFields, pager, valueField } from '../shared/forms.ts'
import { listingStyle } from '../listing/style.ts'
import { filterView, searchForm, sortedHeading } from '../listing/view.ts'
import { icon } from '../shared/icons.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import { selectedField } from './selection-field.ts'
import { propertyStyle } from './style.ts'
import type { ExistingProperty, PropertiesValues, PropertyRow, TypedProperty } from './values.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'
import { visible } from '../shared/visible.ts'

type Words = Messages['properties']

export function propertiesPage(values: PropertiesValues, context: PageContext): Html {
  const { actor_root, paging } = values
  const { messages } = context
  const words = messages.properties
  return actorPage(
    values,
    {
      ...context,
      title: words.title,
      section: '/properties',
      wrongField: wrongFieldOf(values),
      styles: [listingStyle, propertyStyle],
    },
    html`
<div class="head"><h1>${words.title}</h1>
${values.property_count === 0 ? '' : html`${searchForm(`${values.actor_www}/properties`, values.search, words.searchLabel, messages)}<a class="button quiet" href="${values.actor_www}/history">${icon('history')} ${messages.history.link}</a><a class="button quiet" href="${actor_root}/properties?format=full" download="properties.json">${icon('download')} ${words.exportAll}</a>`}</div>
${existingView(values, messages)}
${creation(values, messages)}
${following('listing', ['properties', 'trust'], listing(values, messages))}
${pager(paging, values.address, messages)}
${unsetView(values, words)}`,
  )
}

function listing(values: PropertiesValues, messages: Messages): Html {
  const { rows, types, property_count, actor_www } = values
  const words = messages.properties
  if (property_count === 0) return html`<p class="empty">${words.empty}</p>`
  return html`${filterView(words.types, types, messages)}
${
  rows.length === 0
    ? html`<p class="empty">${words.noMatch} <a href="${actor_www}/properties">${words.showAll}</a></p>`
    : html`<form method="post" action="${actor_www}/selection">${forgeryField(values)}
<div class="table properties" role="region" aria-label="${words.title}" tabindex="0"><table><thead><tr><th scope="col"><span class="unseen">${words.selection}</span></th>${values.columns.map((column) => sortedHeading(column, words.columns))}<th scope="col" class="preview">${words.value}</th><th scope="col">${words.visibleColumn}</th></tr></thead>
<tbody>${rows.map((each) => row(each, words))}</tbody></table></div>
<p class="actions"><button class="quiet" type="submit" name="action" value="export">${icon('download')} ${words.exportSelected}</button><button class="quiet danger" type="submit" name="action" value="delete">${icon('trash')} ${words.deleteSelected}</button></p></form>`
}`
}

function row(each: PropertyRow, words: Words): Html {
  const { name, href, kind, preview, visible_to, is_private, is_read_only } = each
  return html`<tr><td><input type="checkbox" name="${selectedField}${name}" value="1" aria-label="${words.select(visible(name))}"></td><th scope="row"><a href="${href}">${visible(name)}</a></th><td><span class="badge">${is_read_only ? words.readOnly(kind) : kind}</span></td><td class="preview">${visible(preview)}</td><td>${is_private ? html`<span class="badge">${icon('lock')} ${visible_to}</span>` : visible_to}</td></tr>
`
}

function unsetView({ unset }: PropertiesValues, words: Words): Html | string {
  if (unset.length === 0) return ''
  return html`<section aria-labelledby="unset"><h2 id="unset">${words.notSet}</h2>
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
function existingView(values: PropertiesValues, messages: Messages): Html | string {
  const { existing, typed } = values
  if (existing === null || typed === null) return ''
  const { name, href, kind, tree, version } = existing
  const words = messages.properties
  return html`<section class="card urgent" id="conflict" aria-labelledby="conflict-title">
<h2 id="conflict-title">${words.exists(visible(name))}</h2>
<div class="pair"><div><h3>${words.stored}</h3>${tree === null ? html`<p>${kind}</p>` : valueView(tree, messages)}</div>
${
  canSaveOver(existing, typed)
    ? html`<div><h3>${words.yours}</h3><form method="post" action="${href}">${forgeryField(values)}${hiddenFields({ redirect_to: href, version })}
${valueField(
  { id: 'existing-value', name: 'value', label: words.value, error: values.error },
  editableOf({ value: typed.property_value, value_type: typed.value_type }),
  messages,
)}
<button type="submit">${words.saveMine}</button></form></div>`
    : ''
}</div>
<p class="actions"><a class="button quiet" href="${href}">${words.open(visible(name))}</a></p>
</section>`
}

function creation(values: PropertiesValues, messages: Messages): Html {
  const { typed } = values
  const isList = typed?.property_type === 'list'
  return html`
<section class="new" aria-labelledby="new">
<h2 id="new">${messages.properties.newTitle}</h2>
${valueForm(values, isList ? null : typed, messages)}
${listForm(values, isList ? typed : null, messages)}
</section>`
}

function valueForm(values: PropertiesValues, typed: TypedProperty | null, messages: Messages): Html {
  const words = messages.properties
  const { existing, actor_www } = values
  // The card of the existing property contains its own field with the typed value.
  const isSettled = existing !== null && typed !== null && canSaveOver(existing, typed)
  const isRefused = values.typed === typed && !isSettled
  return html`<details class="card"${typed !== null && !isSettled ? html` open` : ''}><summary>${icon('plus')} ${words.value}</summary>
<form method="post" action="${actor_www}/properties">${forgeryField(values)}${hiddenFields({ create_only: '1', property_type: 'simple' })}
${nameField('new-name', typed, isRefused ? errorOf(values, 'property_name') : null, words)}
${valueField(
  {
    id: 'new-value',
    name: 'property_value',
    label: words.value,
    error: isRefused ? errorOf(values, 'property_value') : null,
  },
  editableOf({ value: typed?.property_value ?? '', value_type: typed?.value_type ?? 'text' }),
  messages,
)}
<button type="submit">${words.createValue}</button></form></details>`
}

function listForm(values: PropertiesValues, typed: TypedProperty | null, { properties: words, forms }: Messages): Html {
  return html`<details class="card"${typed === null ? '' : html` open`}><summary>${icon('plus')} ${words.list}</summary>
<form method="post" action="${values.actor_www}/properties">${forgeryField(values)}${hiddenFields({ property_type: 'list' })}
${nameField('new-list', typed, typed === null ? null : errorOf(values, 'property_name'), words)}
${formField({
  id: 'new-description',
  name: 'description',
  label: forms.optional(words.description),
  value: typed?.description ?? '',
})}
${formField({
  id: 'new-explanation',
  name: 'explanation',
  label: forms.optional(words.explanation),
  value: typed?.explanation ?? '',
})}
<button type="submit">${words.createList}</button></form></details>`
}

function nameField(id: string, typed: TypedProperty | null, error: string | null, words: Words): Html {
  return formField({
    id,
    name: 'property_name',
    label: words.name,
    value: typed?.property_name ?? '',
    error,
    attributes: { ...verbatim, required: true, maxlength: '1024' },
  })
}

function errorOf({ error, error_field: wrong }: PropertiesValues, field: string): string | null {
  return wrong === field ? error : null
}
