/** View of `/<actor>/www/properties/<name>`: one value or list, and the forms to change it. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { conflictField, conflictView, editableOf } from './edit-conflict.ts'
import { developerView } from './developer-view.ts'
import { fieldId, fieldsView, type WrongField } from './fields-view.ts'
import { isTypedItem } from './form-fields.ts'
import { formField, verbatim } from '../shared/form-field.ts'
import { deletion, hiddenFields, pager, pastRows, valueField } from '../shared/forms.ts'
import { actorPage, following, forgeryField, type PageContext } from '../shared/layout.ts'
import type { Editable, FilledField, ListItemValues, PropertyValues, TypedItem } from './values.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'

export function propertyPage(values: PropertyValues, context: PageContext): Html {
  const { property, actor_root, actor_www } = values
  const { messages } = context
  const address = `${actor_root}/properties/${encodeURIComponent(property)}`
  return actorPage(
    values,
    {
      ...context,
      title: property,
      section: '/properties',
      trail: [{ text: messages.properties.title, href: `${actor_www}/properties` }],
      wrongField: wrongFieldOf(values),
    },
    html`
<h1>${property}</h1>
${conflictView(values, messages)}
${values.qual === 'a' ? stored(values, address, messages) : values.conflict === null ? unset(values, messages) : ''}`,
  )
}

function stored(values: PropertyValues, address: string, messages: Messages): Html {
  const { property, kind } = values
  const { properties, list: words } = messages
  return following(
    'value-of',
    ['properties'],
    html`<p class="lead">${kind} · <a href="${address}">${properties.viewJson}</a>${values.is_list_property ? pastRows(values.items.length, 'add', words.add) : ''}</p>
${values.is_list_property ? list(values, messages) : simple(values, messages)}`,
    property,
  )
}

/** A declared value that is not set, with its form. */
function unset(values: PropertyValues, messages: Messages): Html {
  const words = messages.properties
  const { typed, form_action, editable, property } = values
  return html`${following('value-of', ['properties'], html`<p class="lead">${values.kind}</p>`, property)}
${described(values)}
<section class="card" aria-label="${words.setIt}">
${editors(values, messages, {
  id: 'value',
  name: 'value',
  label: words.value,
  action: form_action,
  hidden: { redirect_to: form_action, version: values.version },
  fields: values.fields,
  editable: editable ?? { text: '', type: 'text' },
  typed: typed?.form === 'value' ? typed : null,
  button: words.save,
})}</section>`
}

function described({ description }: PropertyValues): Html | string {
  return description === '' ? '' : html`<p>${description}</p>`
}

/** Returns the id of the refused field. In a conflict, the typed value is in the form that resolves the conflict. */
function wrongFieldOf(values: PropertyValues): string | null {
  const { error_field: field, typed, conflict, items } = values
  if (field === null || typed === null) return null
  if (conflict !== null) return conflictField(conflict, typed)
  const shown = (id: string, root: FilledField | null): string | null => {
    if (typed.value_type !== 'fields') return id
    // The outermost group is the form itself.
    return root === null || (root.kind === 'group' && field === root.name) ? null : fieldId(`${id}-fields`, field)
  }
  switch (typed.form) {
    case 'value':
      return shown('value', values.fields)
    case 'add':
      return shown('new-item', values.new_fields)
    case 'add_several':
      return 'new-items'
    case 'metadata':
      return 'description'
    case 'update': {
      const item = items.find((each) => isTypedItem(typed, each))
      return item === undefined ? null : shown(`item-value-${item.index}`, item.fields)
    }
    default:
      return null
  }
}

/** Returns the error for the field of this form, if the field caused the refusal. */
function errorIn({ error, error_field, typed, conflict }: PropertyValues, form: TypedItem['form']): string | null {
  return conflict === null && error_field !== null && typed?.form === form ? error : null
}

function simple(values: PropertyValues, messages: Messages): Html {
  const words = messages.properties
  const { tree, property, form_action, actor_www } = values
  return html`${described(values)}
<section class="card" aria-label="${words.value}">${tree === null ? '' : valueView(tree, messages)}</section>
${values.is_read_only ? html`<p class="fine">${words.managed(values.name)}</p>` : change(values, messages)}
${developerView(values, messages)}
${deletion(
  values,
  {
    action: form_action,
    fields: { _method: 'DELETE', redirect_to: `${actor_www}/properties`, version: values.version },
    warning: words.deleteValueText(property),
    button: words.deleteValue(property),
  },
  messages,
)}`
}

function change(values: PropertyValues, messages: Messages): Html {
  const words = messages.properties
  const { typed, form_action, conflict } = values
  if (conflict?.about === 'value') return html``
  const form = typed?.form === 'value' ? typed : null
  if (values.editable === null) return html`<p class="fine">${words.tooLarge}</p>`
  return html`<details class="card"${form === null ? '' : html` open`}><summary>${words.edit}</summary>
${editors(values, messages, {
  id: 'value',
  name: 'value',
  label: words.value,
  action: form_action,
  hidden: { redirect_to: form_action, version: values.version },
  fields: values.fields,
  editable: values.editable,
  typed: form,
  button: words.save,
})}</details>`
}

interface Editing {
  readonly id: string
  /** Name of the form field with the JSON. */
  readonly name: string
  readonly label: string
  readonly action: string
  readonly hidden: Readonly<Record<string, string>>
  readonly fields: FilledField | null
  readonly editable: Editable
  /** The input of this form, if it was refused. */
  readonly typed: TypedItem | null
  readonly button: string
}

/** Renders the form of declared data with the editor of its JSON below, or the editor alone. */
function editors(values: PropertyValues, messages: Messages, editing: Editing): Html {
  const { id, name, label, action, hidden, fields, typed, button } = editing
  const form = (content: Html): Html =>
    html`<form method="post" action="${action}">${forgeryField(values)}${hiddenFields(hidden)}
${content}
<button type="submit">${button}</button></form>`
  const isTyped = typed !== null && (typed.value_type !== 'fields' || fields === null)
  const error = typed === null ? null : errorIn(values, typed.form)
  const editor = form(
    valueField(
      { id, name, label, error: isTyped ? error : null },
      isTyped ? editableOf(typed) : editing.editable,
      messages,
    ),
  )
  if (fields === null) return editor
  const wrong: WrongField | null =
    isTyped || error === null || values.error_field === null ? null : { name: values.error_field, error }
  return html`${form(fieldsView({ id: `${id}-fields`, label, wrong }, fields, messages))}
<details class="fold other"${isTyped ? html` open` : ''}><summary>${messages.properties.editJson}</summary>
${editor}</details>`
}

function list(values: PropertyValues, messages: Messages): Html {
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
    : html`<ol class="rows" start="${first.index + 1}">${items.map((item) => itemView(values, item, messages))}</ol>`
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
    warning: words.deleteListText(property, paging.total),
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
  const words = messages.list
  const { form_action, typed, paging, conflict } = values
  const { index, handle, tree, editable } = item
  const number = index + 1
  const isTyped = conflict === null && isTypedItem(typed, item)
  const place = {
    item_index: String(index),
    item_handle: handle,
    redirect_to: `${form_action}?page=${paging.page}`,
  }
  return html`<li class="item" id="item-${index}"><span class="kind">${words.item(number)}</span>${valueView(tree, messages)}
<div class="item-tools">
<details${isTyped ? html` open` : ''}><summary>${words.edit(number)}</summary>
${editors(values, messages, {
  id: `item-value-${index}`,
  name: 'item_value',
  label: words.item(number),
  action: `${form_action}/items`,
  hidden: { action: 'update', ...place },
  fields: item.fields,
  editable,
  typed: isTyped ? typed : null,
  button: messages.properties.save,
})}</details>
${deletion(
  values,
  {
    action: `${form_action}/items`,
    fields: { action: 'delete', ...place },
    warning: words.deleteItemText(number),
    button: words.deleteItem(number),
  },
  messages,
)}
</div></li>
`
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
