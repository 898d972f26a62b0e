/** View of `/<actor>/www/properties/<name>`: one value or list, and the forms to change it. */
import { html } from 'hono/html'
import { conflictField, conflictView, editableOf } from './edit-conflict.ts'
import { formField } from '../shared/form-field.ts'
import { deletion, hiddenFields, pager, pastRows, valueField } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type Navigation } from '../shared/layout.ts'
import type { Editable, ListItemValues, PropertyValues, TypedItem } from './values.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'

export function propertyPage(values: PropertyValues, navigation: Navigation): Html {
  const { property, actor_root, actor_www } = values
  const address = `${actor_root}/properties/${encodeURIComponent(property)}`
  return actorPage(
    values,
    {
      title: property,
      section: '/properties',
      navigation,
      trail: [{ text: 'Properties', href: `${actor_www}/properties` }],
      wrongField: wrongFieldOf(values),
    },
    html`
<h1>${property}</h1>
${conflictView(values)}
${values.qual === 'n' ? '' : stored(values, address)}`,
  )
}

function stored(values: PropertyValues, address: string): Html {
  const { property, kind } = values
  return following(
    'value-of',
    ['properties'],
    html`<p class="lead">${kind}. <a href="${address}">As programs read it</a>${values.is_list_property ? pastRows(values.items.length, 'add') : ''}</p>
${values.is_list_property ? list(values) : simple(values)}`,
    property,
  )
}

/** Returns the id of the refused field. In a conflict, the typed value is in the form that resolves the conflict. */
function wrongFieldOf({ error_field: field, typed, conflict, items }: PropertyValues): string | null {
  if (field === null || typed === null) return null
  if (conflict !== null) return conflictField(conflict, typed)
  switch (typed.form) {
    case 'value':
      return 'value'
    case 'add':
      return 'new-item'
    case 'metadata':
      return 'description'
    case 'update': {
      const item = items.find((each) => isTypedItem(typed, each))
      return item === undefined ? null : `item-value-${item.index}`
    }
    default:
      return null
  }
}

/** Whether the refused form edited this item. The built-in forms use the handle, because the position may have changed. */
function isTypedItem(typed: TypedItem | null, { handle, index }: ListItemValues): boolean {
  if (typed?.form !== 'update') return false
  return typed.item_handle === '' ? typed.item_index === String(index) : typed.item_handle === handle
}

/** Returns the error for the field of this form, if the field caused the refusal. */
function errorIn({ error, error_field, typed, conflict }: PropertyValues, form: TypedItem['form']): string | null {
  return conflict === null && error_field !== null && typed?.form === form ? error : null
}

function simple(values: PropertyValues): Html {
  const { tree, property, form_action, actor_www } = values
  return html`
<section class="card" aria-label="Value">${tree === null ? '' : valueView(tree)}</section>
${values.is_read_only ? html`<p class="fine">${values.name} does not let this be changed here.</p>` : change(values)}
${deletion(values, {
  action: form_action,
  fields: { _method: 'DELETE', redirect_to: `${actor_www}/properties`, version: values.version },
  what: `“${property}”`,
  warning: `“${property}” and what is in it will be gone. Its followers are notified.`,
})}`
}

function change(values: PropertyValues): Html {
  const { typed, form_action, conflict } = values
  if (conflict?.about === 'value') return html``
  const isTyped = typed?.form === 'value'
  const editable: Editable | null = isTyped ? editableOf(typed) : values.editable
  if (editable === null) return html`<p class="fine">It is too long to be changed on this page. Programs can.</p>`
  return html`<details class="card"${isTyped ? html` open` : ''}><summary>Change it</summary>
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ redirect_to: form_action, version: values.version })}
${valueField('value', 'value', 'Value', editable, errorIn(values, 'value'))}
<button type="submit">Save</button></form></details>`
}

function list(values: PropertyValues): Html {
  const { items, paging, form_action, property, actor_www } = values
  const first = items[0]
  return html`
${about(values)}
<h2>Items</h2>
${paging.total === 0 ? html`<p class="empty">The list is empty.</p>` : ''}
${
  first === undefined
    ? paging.total === 0
      ? ''
      : html`<p class="empty">Nothing of this part of the list is shown.</p>`
    : html`<ol class="rows" start="${first.index + 1}">${items.map((item) => itemView(values, item))}</ol>`
}
${pager(paging, 'Parts of the list', form_action)}
${addition(values)}
${deletion(values, {
  action: form_action,
  fields: { _method: 'DELETE', redirect_to: `${actor_www}/properties`, version: values.version },
  what: 'the list',
  warning: `The list “${property}” and all of its items will be gone. Its followers are notified.`,
})}`
}

function about(values: PropertyValues): Html {
  const { list_description, list_explanation, typed, form_action, conflict } = values
  const isTyped = typed?.form === 'metadata' && conflict === null
  return html`<section class="card" aria-label="About the list">
${list_description === '' ? '' : html`<p>${list_description}</p>`}
${list_explanation === '' ? '' : html`<p class="fine">${list_explanation}</p>`}
<details${isTyped ? html` open` : ''}><summary>${list_description === '' && list_explanation === '' ? 'Say what it is' : 'Change what it says about itself'}</summary>
<form method="post" action="${form_action}/metadata">${forgeryField(values)}${hiddenFields({ action: 'update', redirect_to: form_action, version: values.texts_version })}
${textFields(
  isTyped ? typed : { description: list_description, explanation: list_explanation },
  errorIn(values, 'metadata'),
)}
<button type="submit">Save</button></form></details>
</section>`
}

function textFields(texts: Pick<TypedItem, 'description' | 'explanation'>, error: string | null): Html {
  return html`${formField({ id: 'description', name: 'description', label: 'What it is', value: texts.description, error })}
${formField({ id: 'explanation', name: 'explanation', label: 'How its items are to be understood', value: texts.explanation })}`
}

function itemView(values: PropertyValues, item: ListItemValues): Html {
  const { form_action, typed, paging, conflict } = values
  const { index, handle, tree, editable } = item
  const number = index + 1
  const isTyped = conflict === null && isTypedItem(typed, item)
  const fields = {
    item_index: String(index),
    item_handle: handle,
    redirect_to: `${form_action}?page=${paging.page}`,
  }
  return html`<li class="item" id="item-${index}"><span class="kind">Item ${number}</span>${valueView(tree)}
<div class="item-tools">
<details${isTyped ? html` open` : ''}><summary>Change <span class="unseen">item ${number}</span></summary>
<form method="post" action="${form_action}/items">${forgeryField(values)}${hiddenFields({ action: 'update', ...fields })}
${valueField(
  `item-value-${index}`,
  'item_value',
  `Item ${number}`,
  isTyped && typed !== null ? editableOf(typed) : editable,
  isTyped ? errorIn(values, 'update') : null,
)}
<button type="submit">Save</button></form></details>
${deletion(values, {
  action: `${form_action}/items`,
  fields: { action: 'delete', ...fields },
  what: `item ${number}`,
  warning: `Item ${number} will be gone, and the ones behind it move up.`,
})}
</div></li>
`
}

function addition(values: PropertyValues): Html {
  const { typed, form_action, conflict } = values
  const isTyped = typed?.form === 'add' && conflict === null
  return html`<details class="card" id="add"${isTyped ? html` open` : ''}><summary>Add an item</summary>
<form method="post" action="${form_action}/items">${forgeryField(values)}${hiddenFields({ action: 'add', version: values.version })}
${valueField(
  'new-item',
  'item_value',
  'New item',
  isTyped ? editableOf(typed) : { text: '', type: 'text' },
  errorIn(values, 'add'),
)}
<button type="submit">Add</button></form></details>`
}
