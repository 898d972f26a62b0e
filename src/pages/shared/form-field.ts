/** One labelled form field with its hint and its error, for every form of every page. */
import { html } from 'hono/html'
import type { Html } from './values.ts'

/** Attributes by name. `true` sets an attribute without a value, `false` omits it. */
export type FieldAttributes = Readonly<Record<string, string | boolean>>

export interface Field {
  /** Id, unique on the page. */
  readonly id: string
  /** Name of the form field. */
  readonly name: string
  readonly label: Html | string
  readonly value: string
  readonly hint?: Html | string
  /** Error that this field caused; null or absent without one. */
  readonly error?: string | null | undefined
  /** True when the page shows the error nowhere else, so that a screen reader announces it immediately. */
  readonly isOnlyMessage?: boolean
  readonly attributes?: FieldAttributes
  /** Number of lines of a multi-line field. Default: a single-line field. */
  readonly rows?: number
}

/** Attributes for names, URLs and values, which keyboards must not autocorrect. */
export const verbatim: FieldAttributes = { autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false' }

/** Attributes for an email address. */
export const emailAddress: FieldAttributes = {
  ...verbatim,
  autocomplete: 'email',
  required: true,
  placeholder: 'you@example.com',
}

/**
 * Renders a labelled field. The error is part of the field's description, so that a screen reader reads it with the field.
 * A refused field has `autofocus`, so the browser scrolls to it without a script.
 */
export function formField(field: Field): Html {
  const { id, name, label, value, rows } = field
  const attributes = attributesView({ ...field.attributes, ...errorAttributes(field) })
  return html`<div class="field"><label for="${id}">${label}</label>
${
  rows === undefined
    ? html`<input id="${id}" name="${name}" value="${value}"${attributes}>`
    : // The parser drops one line break after the tag.
      html`<textarea id="${id}" name="${name}" rows="${rows}"${attributes}>
${value}</textarea>`
}${belowField(field)}</div>`
}

/** Renders a labelled choice of one among several values. */
export function selectField(
  field: Field,
  choices: readonly { readonly label: string; readonly value: string }[],
): Html {
  const { id, name, label, value } = field
  return html`<div class="field"><label for="${id}">${label}</label>
<select id="${id}" name="${name}"${attributesView({ ...field.attributes, ...errorAttributes(field) })}>${choices.map(
    (choice) =>
      html`<option value="${choice.value}"${choice.value === value ? html` selected` : ''}>${choice.label}</option>`,
  )}</select>${belowField(field)}</div>`
}

/** Renders a labelled checkbox, which sends the value of the field. */
export function checkField(field: Field, isChecked: boolean): Html {
  const { id, name, label, value } = field
  const attributes = attributesView({ checked: isChecked, ...field.attributes, ...errorAttributes(field) })
  return html`<div class="field"><label class="choice" for="${id}"><input type="checkbox" id="${id}" name="${name}" value="${value}"${attributes}> <span>${label}</span></label>${belowField(field)}</div>`
}

function belowField({ id, hint, error, isOnlyMessage }: Field): Html {
  return html`${hint === undefined ? '' : html`<p class="hint" id="${id}-hint">${hint}</p>`}${fieldError(id, error, isOnlyMessage)}`
}

/** Renders the error below a refused field or group of radio buttons. */
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

/** Renders attributes. Values are escaped; names come from code. */
function attributesView(attributes: FieldAttributes): Html {
  return html`${Object.entries(attributes).map(([name, value]) =>
    value === false ? '' : value === true ? html` ${name}` : html` ${name}="${value}"`,
  )}`
}
