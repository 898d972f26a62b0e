/** One labelled form field with its hint and its error, for every form of every page. */
import { html } from 'hono/html'
import type { Html } from './values.ts'

/** Attributes of the field by name. `true` stands for an attribute without a value, `false` leaves it out. */
export type FieldAttributes = Readonly<Record<string, string | boolean>>

export interface Field {
  /** Unique on the page. */
  readonly id: string
  /** Of the field in the form. */
  readonly name: string
  readonly label: Html | string
  readonly value: string
  readonly hint?: Html | string
  /** Why the form was refused because of this field; null or absent otherwise. */
  readonly error?: string | null | undefined
  /** The page has no message about the error elsewhere: a screen reader reads the sentence under the field at once. */
  readonly isOnlyMessage?: boolean
  readonly attributes?: FieldAttributes
  /** Height of a field for several lines; one line unless given. */
  readonly rows?: number
}

/** For names, addresses and values: text that no keyboard should change. */
export const verbatim: FieldAttributes = { autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' }

/** For the address of a person. */
export const emailAddress: FieldAttributes = {
  ...verbatim,
  autocomplete: 'email',
  required: true,
  placeholder: 'you@example.com',
}

/**
 * The error stands under the field and belongs to its description, so that a screen reader reads it with the field. A
 * refused field takes the focus without any script, and the browser scrolls to it.
 */
export function formField(field: Field): Html {
  const { id, name, label, value, hint, error, rows } = field
  const attributes = attributesView({ ...field.attributes, ...errorAttributes(field) })
  return html`<div class="field"><label for="${id}">${label}</label>
${
  rows === undefined
    ? html`<input id="${id}" name="${name}" value="${value}"${attributes}>`
    : // The parser drops a line break right after the tag, so that one is given to it.
      html`<textarea id="${id}" name="${name}" rows="${rows}"${attributes}>
${value}</textarea>`
}${hint === undefined ? '' : html`<p class="hint" id="${id}-hint">${hint}</p>`}${fieldError(id, error, field.isOnlyMessage)}</div>`
}

/** The sentence under a refused field, or under a group of radio buttons. */
export function fieldError(id: string, error: string | null | undefined, isAlert = false): Html | string {
  return isWrong(error)
    ? html`<p class="field-error"${isAlert ? html` role="alert"` : ''} id="${id}-error">${error}</p>`
    : ''
}

function errorAttributes({ id, hint, error }: Field): FieldAttributes {
  const described = [...(hint === undefined ? [] : [`${id}-hint`]), ...(isWrong(error) ? [`${id}-error`] : [])]
  return {
    ...(described.length === 0 ? {} : { 'aria-describedby': described.join(' ') }),
    ...(isWrong(error) ? { 'aria-invalid': 'true', autofocus: true } : {}),
  }
}

function isWrong(error: string | null | undefined): error is string {
  return error !== null && error !== undefined
}

/** Values are escaped; names are our own. */
function attributesView(attributes: FieldAttributes): Html {
  return html`${Object.entries(attributes).map(([name, value]) =>
    value === false ? '' : value === true ? html` ${name}` : html` ${name}="${value}"`,
  )}`
}
