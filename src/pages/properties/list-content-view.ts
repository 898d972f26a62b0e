/** The items of a list, with the forms that change them. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { developerView } from './developer-view.ts'
import { editors, errorIn } from './editors.ts'
import { isTypedItem } from './form-fields.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { deletion, hiddenFields, pager } from '../shared/forms.ts'
import { icon } from '../shared/icons.ts'
import { forgeryField } from '../shared/layout.ts'
import { valueView } from '../shared/value-view.ts'
import { visible } from '../shared/visible.ts'
import type { Html } from '../shared/values.ts'
import type { ListItemValues, PropertyValues, TypedItem } from './values.ts'

export function listContent(values: PropertyValues, messages: Messages): Html {
  const words = messages.list
  const { items, paging, form_action, property, actor_www } = values
  const first = items[0]
  return html`
${about(values, messages)}
<h2>${words.items}</h2>
${paging.total === 0 ? html`<p class="empty">${words.empty}</p>` : ''}
${
  first === undefined
    ? paging.total === 0
      ? ''
      : html`<p class="empty">${words.hidden(values.name)}</p>`
    : values.columns === null
      ? html`<ol class="rows" start="${first.index + 1}">${items.map((item) => itemView(values, item, messages))}</ol>`
      : itemTable(values, values.columns, messages)
}
${pager(paging, form_action, messages)}
${addition(values, messages)}
${additions(values, messages)}
${developerView(values, messages)}
${deletion(
  values,
  {
    action: form_action,
    fields: { _method: 'DELETE', redirect_to: `${actor_www}/properties`, version: values.version },
    warning:
      values.undo_days === 0
        ? words.deleteListText(visible(property), paging.total)
        : words.deleteKeptListText(visible(property), paging.total, values.undo_days),
    button: words.deleteList,
  },
  messages,
)}`
}

function about(values: PropertyValues, { list: words, properties }: Messages): Html {
  const { list_description, list_explanation, typed, form_action, conflict } = values
  const isTyped = typed?.form === 'metadata' && conflict === null
  return html`<section class="card" aria-label="${words.about}">
${list_description === '' ? '' : html`<p>${list_description}</p>`}
${list_explanation === '' ? '' : html`<p class="fine">${list_explanation}</p>`}
<details${isTyped ? html` open` : ''}><summary>${list_description === '' && list_explanation === '' ? words.describe : words.redescribe}</summary>
<form method="post" action="${form_action}/metadata">${forgeryField(values)}${hiddenFields({ action: 'update', redirect_to: form_action, version: values.texts_version })}
${textFields(
  isTyped ? typed : { description: list_description, explanation: list_explanation },
  errorIn(values, 'metadata'),
  properties,
)}
<button type="submit">${properties.save}</button></form></details>
</section>`
}

function textFields(
  texts: Pick<TypedItem, 'description' | 'explanation'>,
  error: string | null,
  words: Messages['properties'],
): Html {
  return html`${formField({ id: 'description', name: 'description', label: words.description, value: texts.description, error })}
${formField({ id: 'explanation', name: 'explanation', label: words.explanation, value: texts.explanation })}`
}

function itemView(values: PropertyValues, item: ListItemValues, messages: Messages): Html {
  const number = item.index + 1
  const content =
    item.form === null
      ? html`${valueView(item.tree, messages)}
<div class="item-tools">${itemLinks(values, item, messages)}</div>`
      : openItem(values, item, messages)
  return html`<li class="item" id="item-${item.index}"><span class="kind">${messages.list.item(number)}</span>${content}</li>
`
}

/** Renders items that share their keys as a table. */
function itemTable(values: PropertyValues, columns: readonly string[], messages: Messages): Html {
  const words = messages.list
  return html`<div class="table items" role="region" aria-label="${words.items}" tabindex="0"><table><thead><tr><th scope="col">${words.newItem}</th>${columns.map((name) => html`<th scope="col">${name}</th>`)}<th scope="col"><span class="unseen">${words.tools}</span></th></tr></thead>
<tbody>${values.items.map((item) => itemRow(values, item, columns, messages))}</tbody></table></div>`
}

function itemRow(values: PropertyValues, item: ListItemValues, columns: readonly string[], messages: Messages): Html {
  const { index, tree, form } = item
  const number = html`<th scope="row"><span class="unseen">${messages.list.item(index + 1)}</span><span aria-hidden="true">${messages.forms.pageNumber(index + 1)}</span></th>`
  if (form !== null)
    return html`<tr id="item-${index}">${number}<td class="opened" colspan="${columns.length + 1}"><div class="item">${openItem(values, item, messages)}</div></td></tr>
`
  const members = new Map(tree.kind === 'object' ? tree.members.map(({ name, value }) => [name, value]) : [])
  const cell = (name: string): Html => {
    const value = members.get(name)
    return html`<td>${value === undefined ? '' : valueView(value, messages)}</td>`
  }
  return html`<tr id="item-${index}">${number}${columns.map(cell)}<td class="item-tools">${itemLinks(values, item, messages)}</td></tr>
`
}

/** The links have no fragment, because browsers do not set the focus in a page whose address has one. */
function itemLinks(
  { form_action: address, paging }: PropertyValues,
  { index, handle }: ListItemValues,
  { list: words }: Messages,
): Html {
  const place = `${address}?page=${paging.page}`
  return html`<a href="${place}&edit=${handle}">${words.edit(index + 1)}</a> <a href="${place}&remove=${handle}">${words.remove(index + 1)}</a>`
}

/** Renders an item with the form that the owner chose. */
function openItem(values: PropertyValues, item: ListItemValues, messages: Messages): Html {
  return item.form === 'remove' ? removal(values, item, messages) : editing(values, item, messages)
}

function removal(values: PropertyValues, item: ListItemValues, messages: Messages): Html {
  const words = messages.list
  const { form_action: address, paging } = values
  const { index, handle, tree } = item
  const place = `${address}?page=${paging.page}`
  return html`${valueView(tree, messages)}
<form method="post" action="${address}/items">${forgeryField(values)}${hiddenFields({ action: 'delete', item_index: String(index), item_handle: handle, redirect_to: place })}
<p>${words.deleteItemText(index + 1)}</p>
<p class="actions"><button class="danger" type="submit" autofocus>${words.deleteItem(index + 1)}</button><a class="button quiet" href="${place}#item-${index}">${messages.forms.cancel}</a></p></form>`
}

function editing(values: PropertyValues, item: ListItemValues, messages: Messages): Html {
  const { form_action: address, typed, paging } = values
  const { index, handle, tree, editable } = item
  const number = index + 1
  const place = `${address}?page=${paging.page}`
  const hidden = { item_index: String(index), item_handle: handle, redirect_to: place }
  const shown =
    editable === null
      ? html`${valueView(tree, messages)}<p class="fine">${messages.properties.tooLarge}</p>`
      : editors(values, messages, {
          id: `item-value-${index}`,
          name: 'item_value',
          label: messages.list.item(number),
          action: `${address}/items`,
          hidden: { action: 'update', ...hidden },
          fields: item.fields,
          editable,
          typed: isTypedItem(typed, item) ? typed : null,
          button: messages.properties.save,
          isFocused: typed === null,
          cancel: `${place}#item-${index}`,
        })
  return html`${shown}
${paging.total > 1 ? moving(values, item, messages) : ''}`
}

/** The form that moves an item. Return in its field moves to the typed position, because that button is the first. */
function moving(values: PropertyValues, { index, handle }: ListItemValues, { list: words }: Messages): Html {
  const { form_action: address, paging, typed } = values
  const sent = typed?.form === 'move' ? typed : null
  return html`<form class="line" method="post" action="${address}/items">${forgeryField(values)}${hiddenFields({ action: 'move', item_index: String(index), item_handle: handle })}
<div>${formField({
    id: 'position',
    name: 'position',
    label: words.position(paging.total),
    value: sent?.position ?? String(index + 1),
    error: errorIn(values, 'move'),
    attributes: { ...verbatim, inputmode: 'numeric', required: true },
  })}</div>
<p class="actions"><button class="quiet" type="submit">${words.move}</button>${
    index === 0
      ? ''
      : html`<button class="quiet" type="submit" name="to" value="${index}">${icon('ascending')} ${words.moveUp}</button>`
  }${
    index + 1 === paging.total
      ? ''
      : html`<button class="quiet" type="submit" name="to" value="${index + 2}">${icon('descending')} ${words.moveDown}</button>`
  }</p></form>`
}

function addition(values: PropertyValues, messages: Messages): Html {
  const words = messages.list
  const { typed, form_action, conflict } = values
  const isTyped = typed?.form === 'add' && conflict === null
  return html`<details class="card" id="add"${isTyped ? html` open` : ''}><summary>${words.add}</summary>
${editors(values, messages, {
  id: 'new-item',
  name: 'item_value',
  label: words.newItem,
  action: `${form_action}/items`,
  hidden: { action: 'add', version: values.version },
  fields: values.new_fields,
  editable: { text: '', type: 'text' },
  typed: isTyped ? typed : null,
  button: words.addButton,
})}</details>`
}

/** The form that adds several items. For a declared list with fields, JSON is chosen at first. */
function additions(values: PropertyValues, messages: Messages): Html {
  const words = messages.list
  const { typed, form_action, conflict, new_fields } = values
  const sent = typed?.form === 'add_several' && conflict === null ? typed : null
  const chosen = sent?.value_type === 'json' || (sent === null && new_fields !== null) ? 'json' : 'lines'
  const choice = (type: 'lines' | 'json', label: string): Html =>
    html`<label class="choice"><input type="radio" name="value_type" value="${type}"${type === chosen ? html` checked` : ''}> ${label}</label>`
  return html`<details class="card"${sent === null ? '' : html` open`}><summary>${words.addSeveral}</summary>
<form method="post" action="${form_action}/items">${forgeryField(values)}${hiddenFields({ action: 'add_several', version: values.version })}
<fieldset class="segments"><legend>${messages.forms.type}</legend>${choice('lines', words.lines)}${choice('json', words.jsonArray)}</fieldset>
${formField({
  id: 'new-items',
  name: 'items',
  label: words.items,
  value: sent?.value ?? '',
  rows: 6,
  error: errorIn(values, 'add_several'),
  attributes: { ...verbatim, required: true },
})}
<button type="submit">${words.addSeveralButton}</button></form></details>`
}
