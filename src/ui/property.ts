/** `/<actor>/www/properties/<name>`: one value or one list, and the forms to change it. */
import { html } from 'hono/html'
import { deletion, hiddenFields, pager, pastRows, valueField } from './forms.ts'
import { actorPage, following, forgeryField } from './layout.ts'
import type { Editable, ListItemValues, PropertyValues } from './property-values.ts'
import { valueView } from './value-view.ts'
import type { Html } from './values.ts'

export function propertyPage(values: PropertyValues): Html {
  const { property, actor_root, actor_www, kind } = values
  const address = `${actor_root}/properties/${encodeURIComponent(property)}`
  return actorPage(
    values,
    {
      title: property,
      section: '/properties',
      trail: [{ text: 'Properties', href: `${actor_www}/properties` }],
    },
    html`
<h1>${property}</h1>
${following(
  'value-of',
  ['properties'],
  html`<p class="lead">${kind}. <a href="${address}">As programs read it</a>${values.is_list_property ? pastRows(values.items.length, 'add') : ''}</p>
${values.is_list_property ? list(values) : simple(values)}`,
  property,
)}`,
  )
}

function simple(values: PropertyValues): Html {
  const { tree, property, form_action, actor_www } = values
  return html`
<section class="card" aria-label="Value">${tree === null ? '' : valueView(tree)}</section>
${values.is_read_only ? html`<p class="fine">${values.name} does not let this be changed here.</p>` : change(values)}
${deletion(values, {
  action: form_action,
  fields: { _method: 'DELETE', redirect_to: `${actor_www}/properties` },
  what: `“${property}”`,
  warning: `“${property}” and what is in it will be gone. Those who follow it are told.`,
})}`
}

function change(values: PropertyValues): Html {
  const { typed, form_action } = values
  const isTyped = typed?.form === 'value'
  const editable: Editable | null = isTyped ? editableOf(typed) : values.editable
  if (editable === null) return html`<p class="fine">It is too long to be changed on this page. Programs can.</p>`
  return html`<details class="card"${isTyped ? html` open` : ''}><summary>Change it</summary>
<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ redirect_to: form_action })}
${valueField('value', 'value', 'Value', editable)}
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
  fields: { _method: 'DELETE', redirect_to: `${actor_www}/properties` },
  what: 'the list',
  warning: `The list “${property}” and all of its items will be gone. Those who follow it are told.`,
})}`
}

function about(values: PropertyValues): Html {
  const { list_description, list_explanation, typed, form_action } = values
  const isTyped = typed?.form === 'metadata'
  return html`<section class="card" aria-label="About the list">
${list_description === '' ? '' : html`<p>${list_description}</p>`}
${list_explanation === '' ? '' : html`<p class="fine">${list_explanation}</p>`}
<details${isTyped ? html` open` : ''}><summary>${list_description === '' && list_explanation === '' ? 'Say what it is' : 'Change what it says about itself'}</summary>
<form method="post" action="${form_action}/metadata">${forgeryField(values)}${hiddenFields({ action: 'update', redirect_to: form_action })}
<label for="description">What it is</label>
<input id="description" name="description" value="${isTyped ? typed.description : list_description}">
<label for="explanation">How its items are to be understood</label>
<input id="explanation" name="explanation" value="${isTyped ? typed.explanation : list_explanation}">
<button type="submit">Save</button></form></details>
</section>`
}

function itemView(values: PropertyValues, { index, handle, tree, editable }: ListItemValues): Html {
  const { form_action, typed, paging } = values
  const number = index + 1
  const isTyped = typed?.form === 'update' && typed.item_index === String(index)
  const fields = {
    item_index: String(index),
    item_handle: handle,
    redirect_to: `${form_action}?page=${paging.page}`,
  }
  return html`<li class="item" id="item-${index}"><span class="kind">Item ${number}</span>${valueView(tree)}
<div class="item-tools">
<details${isTyped ? html` open` : ''}><summary>Change <span class="unseen">item ${number}</span></summary>
<form method="post" action="${form_action}/items">${forgeryField(values)}${hiddenFields({ action: 'update', ...fields })}
${valueField(`item-value-${index}`, 'item_value', `Item ${number}`, isTyped ? editableOf(typed) : editable)}
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
  const { typed, form_action } = values
  const isTyped = typed?.form === 'add'
  return html`<details class="card" id="add"${isTyped ? html` open` : ''}><summary>Add an item</summary>
<form method="post" action="${form_action}/items">${forgeryField(values)}${hiddenFields({ action: 'add' })}
${valueField('new-item', 'item_value', 'New item', isTyped ? editableOf(typed) : { text: '', type: 'text' })}
<button type="submit">Add</button></form></details>`
}

function editableOf(typed: { readonly value: string; readonly value_type: string }): Editable {
  return { text: typed.value, type: typed.value_type === 'json' ? 'json' : 'text' }
}
