/** The conflict between a form and a newer stored value. It shows both, so that the owner can choose without losing either. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { formField } from '../shared/form-field.ts'
import { hiddenFields, valueField } from '../shared/forms.ts'
import { forgeryField } from '../shared/layout.ts'
import type { EditConflict, Editable, PropertyValues, TypedItem } from './values.ts'
import { valueView } from '../shared/value-view.ts'
import type { Html } from '../shared/values.ts'

export function editableOf({
  value: text,
  value_type: type,
}: {
  readonly value: string
  readonly value_type: string
}): Editable {
  if (type === 'number' || type === 'boolean' || type === 'json') return { text, type }
  return { text, type: type === 'fields' ? 'json' : 'text' }
}

/** Returns the id of the field with the typed value; null without one. */
export function conflictField({ about, can_save }: EditConflict, { form }: TypedItem): string | null {
  if (about === 'deletion' || form === 'delete') return null
  if (about === 'texts' && can_save) return 'conflict-description'
  return 'conflict-value'
}

export function conflictView(values: PropertyValues, messages: Messages): Html | string {
  const { conflict, typed, form_action, paging } = values
  if (conflict === null || typed === null) return ''
  const { conflict: words, properties } = messages
  const isDeletion = conflict.about === 'deletion' || typed.form === 'delete'
  return html`<section class="card urgent" id="conflict" aria-labelledby="conflict-title">
<h2 id="conflict-title">${isDeletion ? words.deletionTitle : words.title}</h2>
<div class="pair"><div><h3>${properties.stored}</h3>${storedNow(values, conflict, messages)}</div>
${isDeletion ? deletionForm(values, conflict, typed, messages) : html`<div><h3>${properties.yours}</h3>${yours(values, conflict, typed, messages)}</div>`}</div>
<p class="actions"><a class="button quiet" href="${conflict.is_gone && conflict.about === 'value' ? `${values.actor_www}/properties` : `${form_action}?page=${paging.page}`}">${
    isDeletion ? words.keep : words.useStored
  }</a></p>
</section>`
}

function storedNow(
  values: PropertyValues,
  { about, is_gone: isGone, tree, index }: EditConflict,
  messages: Messages,
): Html {
  const { conflict: words, list } = messages
  const { list_description: description, list_explanation: explanation, kind } = values
  if (about === 'texts' && values.is_list_property)
    return description === '' && explanation === ''
      ? html`<p>${words.noDescription}</p>`
      : html`<p>${description}</p><p class="fine">${explanation}</p>`
  if (isGone) return html`<p>${about === 'item' ? words.itemRemoved : words.deleted}</p>`
  const position = about === 'item' ? html`<p class="kind">${list.item(index + 1)}</p>` : ''
  return html`${position}${tree === null ? html`<p>${kind}</p>` : valueView(tree, messages)}`
}

function yours(values: PropertyValues, conflict: EditConflict, typed: TypedItem, messages: Messages): Html {
  const { conflict: words, properties, list } = messages
  const { form_action, version, texts_version } = values
  const { about, is_gone: isGone, index, handle, can_save: canSave } = conflict
  if (!canSave) return kept(typed, words)
  switch (about) {
    case 'texts':
      return html`<form method="post" action="${form_action}/metadata">${forgeryField(values)}${hiddenFields({ action: 'update', redirect_to: form_action, version: texts_version })}
${formField({ id: 'conflict-description', name: 'description', label: properties.description, value: typed.description, attributes: { autofocus: true } })}
${formField({ id: 'conflict-explanation', name: 'explanation', label: properties.explanation, value: typed.explanation })}
<button type="submit">${properties.saveMine}</button></form>`
    case 'item': {
      const fields: Record<string, string> = isGone
        ? { action: 'add', version }
        : { action: 'update', item_index: String(index), item_handle: handle, redirect_to: form_action }
      return html`<form method="post" action="${form_action}/items">${forgeryField(values)}${hiddenFields(fields)}
${valueField(
  {
    id: 'conflict-value',
    name: 'item_value',
    label: isGone ? list.newItem : list.item(index + 1),
    error: values.error,
  },
  editableOf(typed),
  messages,
)}
<button type="submit">${isGone ? words.addMine : properties.saveMine}</button></form>`
    }
    default:
      return html`<form method="post" action="${form_action}">${forgeryField(values)}${hiddenFields({ redirect_to: form_action, version })}
${valueField(
  { id: 'conflict-value', name: 'value', label: properties.value, error: values.error },
  editableOf(typed),
  messages,
)}
<button type="submit">${isGone ? words.createAgain : properties.saveMine}</button></form>`
  }
}

/** Shows the typed value for copying when it can no longer be saved. */
function kept({ form, value, description, explanation }: TypedItem, words: Messages['conflict']): Html {
  const text = form === 'metadata' ? [description, explanation].join('\n') : value
  return html`${formField({ id: 'conflict-value', name: 'kept', label: words.typed, value: text, rows: 4, attributes: { readonly: true, autofocus: true } })}
<p class="fine">${words.cannotSave}</p>`
}

function deletionForm(
  values: PropertyValues,
  { about, is_gone: isGone, handle }: EditConflict,
  typed: TypedItem,
  { conflict: words }: Messages,
): Html {
  const { form_action, version, actor_www } = values
  if (isGone) return html``
  const isItem = about === 'item'
  const fields: Record<string, string> = isItem
    ? { action: 'delete', item_handle: handle, item_index: typed.item_index, redirect_to: form_action }
    : { _method: 'DELETE', redirect_to: `${actor_www}/properties`, version }
  return html`<form method="post" action="${form_action}${isItem ? '/items' : ''}">${forgeryField(values)}${hiddenFields(fields)}
<button class="danger" type="submit">${words.deleteAnyway}</button></form>`
}
