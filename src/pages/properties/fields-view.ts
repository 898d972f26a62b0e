/** Renders the form of declared data: one labelled field for each scalar, and a group for each object. */
import { html } from 'hono/html'
import type { Messages } from '../languages/language.ts'
import { checkField, type Field, fieldError, formField, selectField } from '../shared/form-field.ts'
import { hiddenFields } from '../shared/forms.ts'
import type { Html } from '../shared/values.ts'
import type { FilledField } from './values.ts'

type Words = Messages['forms']

/** The field that caused the refusal of the form. */
export interface WrongField {
  readonly name: string
  readonly error: string
}

/**
 * Renders all fields of a form.
 *
 * @param given `id` is the id of the outermost field, unique on the page. `label` is the label of a field that is the entire form.
 */
export function fieldsView(
  {
    id,
    label,
    wrong,
    isFocused = false,
  }: {
    readonly id: string
    readonly label: string
    readonly wrong: WrongField | null
    /** True when the first field takes the focus. */
    readonly isFocused?: boolean
  },
  root: FilledField,
  { forms }: Messages,
): Html {
  const type = hiddenFields({ value_type: 'fields' })
  const given = isFocused ? withFocus(root) : root
  if (given.kind !== 'group')
    return html`${type}${fieldView({ ...given, label: given.label || label }, id, wrong, forms)}`
  return html`${type}${hintView(given, id)}${given.members.map((member) => fieldView(member, id, wrong, forms))}`
}

/** The field whose first input takes the focus. */
function withFocus(field: FilledField): FilledField {
  const [first, ...others] = field.members
  return first === undefined
    ? { ...field, attributes: { ...field.attributes, autofocus: true } }
    : { ...field, members: [withFocus(first), ...others] }
}

/** Id of the field with this name. */
export function fieldId(id: string, name: string): string {
  return `${id}${name.replace(/^[^/]*/, '')}`
}

function fieldView(field: FilledField, rootId: string, wrong: WrongField | null, words: Words): Html {
  const id = fieldId(rootId, field.name)
  const error = wrong?.name === field.name ? wrong.error : null
  if (field.kind === 'group')
    return html`<fieldset class="group" id="${id}"${error === null ? '' : html` tabindex="-1" autofocus aria-describedby="${id}-error"`}><legend>${labelView(field, words)}</legend>
${hintView(field, id)}${fieldError(id, error)}${field.members.map((member) => fieldView(member, rootId, wrong, words))}</fieldset>`
  const common: Field = {
    id,
    name: field.name,
    label: labelView(field, words),
    value: field.value,
    error,
    attributes: { autocomplete: 'off', ...field.attributes },
    ...(field.hint === '' ? {} : { hint: field.hint }),
    ...(field.rows === null ? {} : { rows: field.rows }),
  }
  if (field.kind === 'boolean') return checkField({ ...common, value: 'true' }, field.value === 'true')
  if (field.kind !== 'choice') return formField(common)
  const nothing = { label: field.may_be_empty ? words.notSet : words.choose, value: '' }
  return selectField(common, field.may_be_empty || field.value === '' ? [nothing, ...field.choices] : field.choices)
}

function labelView({ label, may_be_empty, attributes }: FilledField, words: Words): Html {
  if (may_be_empty) return words.optional(label)
  return attributes['required'] === true ? words.required(label) : html`${label}`
}

function hintView({ hint }: FilledField, id: string): Html | string {
  return hint === '' ? '' : html`<p class="fine" id="${id}-hint">${hint}</p>`
}
