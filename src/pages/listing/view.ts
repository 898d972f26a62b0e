/** Views of the parts of a listing: its search, its filter and the headings of its columns. */
import { html } from 'hono/html'
import { icon } from '../shared/icons.ts'
import type { Messages } from '../languages/language.ts'
import type { Html } from '../shared/values.ts'
import type { ListingColumn, ListingFilter } from './choices.ts'

/** @param action Path of the page. @param label Says what is searched. */
export function searchForm(action: string, search: string, label: string, { listing: words }: Messages): Html {
  return html`<form class="search" role="search" action="${action}"><label class="unseen" for="search">${label}</label>
<input id="search" type="search" name="q" value="${search}" placeholder="${label}" maxlength="200"><button class="quiet" type="submit">${icon('search')} ${words.search}</button></form>
`
}

export function filterView(label: string, filters: readonly ListingFilter[], { forms }: Messages): Html {
  return html`<nav class="chips" aria-label="${label}"><ul>${filters.map(
    ({ name, count, href, is_current }) =>
      html`<li><a href="${href}"${is_current ? html` aria-current="true"` : ''}>${name} <span class="number">${forms.pageNumber(count)}</span></a></li>`,
  )}</ul></nav>`
}

export function sortedHeading<Name extends string>(
  { name, order, href }: ListingColumn<Name>,
  labels: Readonly<Record<Name, string>>,
): Html {
  return html`<th scope="col"${order === null ? '' : html` aria-sort="${order}"`}><a href="${href}">${labels[name]}</a>${order === null ? '' : icon(order)}</th>`
}
