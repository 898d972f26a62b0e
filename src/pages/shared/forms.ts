/** Parts shared by forms. */
import { html } from 'hono/html'
import { icon } from './icons.ts'
import type { Params } from '../../http/edge/params.ts'
import { type Field, type FieldAttributes, formField, selectField, verbatim } from './form-field.ts'
import { forgeryField } from './layout.ts'
import type { Messages } from '../languages/language.ts'
import type { Editable, Paging } from '../properties/values.ts'
import type { ActorPageValues, Html } from './values.ts'

/**
 * Renders a choice of the type of a value, with a field for each type. The style sheet hides the fields of other types. The
 * field of the chosen type has the id.
 */
export function valueField(
  {
    id,
    name,
    label,
    error = null,
    isFocused = false,
  }: Pick<Field, 'id' | 'name' | 'error'> & { readonly label: string; readonly isFocused?: boolean },
  { text, type }: Editable,
  { forms }: Messages,
): Html {
  const isText = type === 'text' || type === 'json'
  const part = (
    kind: 'text' | 'number' | 'boolean',
    isChosen: boolean,
    attributes: FieldAttributes = {},
  ): Pick<Field, 'id' | 'name' | 'value' | 'error' | 'attributes'> => ({
    id: isChosen ? id : `${id}-${kind}`,
    name: kind === 'text' ? name : `${name}_${kind}`,
    value: isChosen ? text : '',
    error: isChosen ? error : null,
    attributes: { ...attributes, autofocus: isChosen && isFocused },
  })
  const choice = (value: Editable['type']): Html =>
    html`<label class="choice"><input type="radio" name="value_type" value="${value}"${value === type ? html` checked` : ''}> ${forms.valueTypes[value]}</label>`
  const rows = Math.min(16, Math.max(2, text.split('\n').length))
  return html`<div class="typed"><fieldset class="segments"><legend>${forms.type}</legend>${choice('text')}${choice('number')}${choice('boolean')}${choice('json')}</fieldset>
<div class="as-text">${formField({ ...part('text', isText, { spellcheck: 'false' }), label, rows })}</div>
<div class="as-number">${formField({ ...part('number', type === 'number', { ...verbatim, inputmode: 'decimal' }), label: forms.asNumber(label) })}</div>
<div class="as-boolean">${selectField({ ...part('boolean', type === 'boolean'), label: forms.asBoolean(label) }, [
    { value: 'true', label: forms.yes },
    { value: 'false', label: forms.no },
  ])}</div></div>`
}

/** Renders a button that copies the text of the element with the id. Only the live script shows it. */
export function copyButton(id: string, label: string, { forms }: Messages): Html {
  return html`<button class="quiet" type="button" data-copy="${id}" data-copied="${forms.copied}"><span aria-live="polite">${forms.copy}</span><span class="unseen"> ${label}</span></button>`
}

/** Renders the link to a sign-in, in place of what needs a recent one. */
export function signInAgain(href: string, { freshSignIn: words }: Messages): Html {
  return html`<p class="fine">${words.needed}</p>
<p><a class="button" href="${href}">${words.link}</a></p>`
}

/** Returns the submitted text of `valueField`. Own pages may send every type in the field `name`. */
export function sentValue(sent: Params, name: string): string | undefined {
  const type = sent.get('value_type')
  return (type === 'number' || type === 'boolean' ? sent.get(`${name}_${type}`) : undefined) ?? sent.get(name)
}

/** Renders a deletion: the first click explains it, the second click executes it. */
export function deletion(
  values: ActorPageValues,
  about: Pick<Confirmation, 'action' | 'fields' | 'warning' | 'button'>,
  messages: Messages,
): Html {
  return confirmation(
    values,
    { ...about, summary: html`${icon('trash')} ${messages.forms.deletion}`, isDanger: true },
    messages,
  )
}

interface Confirmation {
  readonly action: string
  /** Hidden fields. Without `version` and `redirect_to`, they differ from those of other confirmations of the page. */
  readonly fields: Readonly<Record<string, string>>
  readonly summary: Html | string
  readonly warning: Html | string
  readonly button: string
  readonly isDanger?: boolean
}

/**
 * Renders an action: the first click explains it, the second click executes it. The explanation is a popover, which needs no
 * script. In a browser without popovers, it unfolds.
 */
export function confirmation(
  values: Pick<ActorPageValues, 'csrf_token'>,
  { action, fields, summary, warning, button, isDanger = false }: Confirmation,
  { forms }: Messages,
): Html {
  const { version: _version, redirect_to: _place, ...own } = fields
  const id = ['confirm', ...Object.values(own).map(encodeURIComponent)].join('-')
  return html`<button class="quiet opens" type="button" popovertarget="${id}">${summary}</button><details class="card confirm" id="${id}" popover><summary>${summary}</summary>
<p>${warning}</p>
<form method="post" action="${action}" class="actions">${forgeryField(values)}${hiddenFields(fields)}
<button${isDanger ? html` class="danger"` : ''} type="submit">${button}</button><button class="quiet opens" type="button" popovertarget="${id}" popovertargetaction="hide">${forms.cancel}</button></form></details>`
}

export function hiddenFields(fields: Readonly<Record<string, string>>): Html {
  return html`${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`
}

/** Number of rows beyond which the form below them is off screen. */
const manyRows = 10

/** Renders a link past the rows to the form below them. */
export function pastRows(shown: number, id: string, label: string): Html | string {
  return shown > manyRows ? html` <a href="#${id}">${label}</a>` : ''
}

/** Renders links to the first, the last and the neighboring pages of a list; nothing for a single page. */
export function pager({ page, pages }: Paging, path: string, { forms }: Messages): Html | string {
  if (pages <= 1) return ''
  const href = (to: number): string => `${path}${path.includes('?') ? '&' : '?'}page=${to}`
  const step = (to: number, text: string, rel: string): Html =>
    to < 1 || to > pages ? html`<span></span>` : html`<a href="${href(to)}" rel="${rel}">${text}</a>`
  const numbered = (to: number | null): Html =>
    to === null
      ? html`<li aria-hidden="true">…</li>`
      : to === page
        ? html`<li aria-current="page">${forms.pageNumber(to)}</li>`
        : html`<li><a href="${href(to)}">${forms.pageNumber(to)}</a></li>`
  return html`<nav class="pager" aria-label="${forms.pages}">${step(page - 1, forms.previous, 'prev')}<ol class="numbers">${pagesNear(page, pages).map(numbered)}</ol><span>${forms.pageOf(page, pages)}</span>${step(page + 1, forms.next, 'next')}</nav>`
}

/** Renders links to the newest and the next older entries; nothing when all are on the page. */
export function olderPager(
  shown: { readonly is_first: boolean; readonly newest_href: string; readonly older_href: string | null },
  words: { readonly newest: string; readonly older: string },
  { forms }: Messages,
): Html | string {
  const { is_first, newest_href, older_href } = shown
  if (older_href === null && is_first) return ''
  const newest = is_first ? html`<span></span>` : html`<a href="${newest_href}" rel="first">${words.newest}</a>`
  const older = older_href === null ? html`<span></span>` : html`<a href="${older_href}" rel="next">${words.older}</a>`
  return html`<nav class="pager" aria-label="${forms.pages}">${newest}${older}</nav>`
}

/** The pages to link, with null for a gap: `1 … 6 7 8 … 40`. */
function pagesNear(page: number, pages: number): readonly (number | null)[] {
  const near = [...new Set([1, page - 1, page, page + 1, pages])].filter((each) => each >= 1 && each <= pages)
  return near.flatMap((each, at) => (each - (near[at - 1] ?? 0) > 1 ? [null, each] : [each]))
}
