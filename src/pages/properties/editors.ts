/** The form that edits a value or an item. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { editableOf } from './edit-conflict.ts'
import { fieldsView, type WrongField } from './fields-view.ts'
import { hiddenFields, valueField } from '../shared/forms.ts'
import { forgeryField } from '../shared/layout.ts'
import type { Html } from '../shared/values.ts'
import type { Editable, FilledField, PropertyValues, TypedItem } from './values.ts'

/** Returns the error for the field of this form, if the field caused the refusal. */
export function errorIn(
  { error, error_field, typed, conflict }: PropertyValues,
  form: TypedItem['form'],
): string | null {
  return conflict === null && error_field !== null && typed?.form === form ? error : null
}

export interface Editing {
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
  /** True when the first field takes the focus. */
  readonly isFocused?: boolean
  /** Address of the page without this form. */
  readonly cancel?: string
}

/** Renders the form of declared data with the editor of its JSON below, or the editor alone. */
export function editors(values: PropertyValues, messages: Messages, editing: Editing): Html {
  const { id, name, label, action, hidden, fields, typed, button, cancel } = editing
  const form = (content: Html): Html =>
    html`<form method="post" action="${action}">${forgeryField(values)}${hiddenFields(hidden)}
${content}
${submit(button, cancel, messages)}</form>`
  const isTyped = typed !== null && (typed.value_type !== 'fields' || fields === null)
  const error = typed === null ? null : errorIn(values, typed.form)
  const isFocused = editing.isFocused === true && error === null
  const editor = form(
    valueField(
      { id, name, label, error: isTyped ? error : null, isFocused: isFocused && fields === null },
      isTyped ? editableOf(typed) : editing.editable,
      messages,
    ),
  )
  if (fields === null) return editor
  const wrong: WrongField | null =
    isTyped || error === null || values.error_field === null ? null : { name: values.error_field, error }
  return html`${form(fieldsView({ id: `${id}-fields`, label, wrong, isFocused }, fields, messages))}
<details class="fold other"${isTyped ? html` open` : ''}><summary>${messages.properties.editJson}</summary>
${editor}</details>`
}

function submit(button: string, cancel: string | undefined, { forms }: Messages): Html {
  const send = html`<button type="submit">${button}</button>`
  return cancel === undefined
    ? send
    : html`<p class="actions">${send}<a class="button quiet" href="${cancel}">${forms.cancel}</a></p>`
}
